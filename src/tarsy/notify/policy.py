"""The operator's targets and rules of notifications, as read from the configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from tarsy.config.schema.configuration import Config
from tarsy.config.schema.notify import NotifyRuleConfig, SlackAppConfig, TargetConfig
from tarsy.config.templates import expand
from tarsy.domain.access_role import AccessRole
from tarsy.domain.notification import NotificationRule, QuietHours
from tarsy.domain.route import parse_matchers
from tarsy.notify.senders.apprise import AppriseSender
from tarsy.notify.senders.sender import Sender
from tarsy.notify.senders.slack import SlackSender
from tarsy.notify.senders.webhook import WebhookSender
from tarsy.notify.senders.write_back import WriteBackSender, write_back_sender

# The target of answers to what people ask for in Slack: the thread in which they asked.
SLACK_REPLIES = "slack replies"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackApp:
    """The app by which requests come from Slack, with the roles of its users."""

    token: str = field(repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    users: Mapping[str, AccessRole] = field(default_factory=dict[str, AccessRole])
    api_url: str

    def sender(self) -> SlackSender:
        """Return the sender of replies in the threads where people ask."""
        return SlackSender(token=self.token, channel=None, api_url=self.api_url, has_buttons=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationPolicy:
    targets: Mapping[str, Sender] = field(default_factory=dict[str, Sender])
    rules: Sequence[NotificationRule] = ()
    dashboard_url: str | None = None
    slack_app: SlackApp | None = None


def notification_policy(config: Config, env: Mapping[str, str]) -> NotificationPolicy:
    """Return the policy with the secrets of `env`, which `config check` has found to be complete."""
    app = _slack_app(config.notify.slack, env) if config.notify.slack else None
    targets = {name: _sender(target, env, has_buttons=app is not None) for name, target in config.notify.targets.items()}
    return NotificationPolicy(
        targets={**targets, SLACK_REPLIES: app.sender()} if app else targets,
        rules=[one for number, rule in enumerate(config.notify.rules, 1) for one in _rules(rule, number, targets)],
        dashboard_url=config.system.dashboard_url,
        slack_app=app,
    )


def _slack_app(slack: SlackAppConfig, env: Mapping[str, str]) -> SlackApp:
    return SlackApp(
        token=env[slack.token_env].strip(),
        signing_secret=env[slack.signing_secret_env].strip() if slack.signing_secret_env else None,
        app_token=env[slack.app_token_env].strip() if slack.app_token_env else None,
        users=slack.users,
        api_url=slack.api_url,
    )


def _sender(target: TargetConfig, env: Mapping[str, str], *, has_buttons: bool) -> Sender:
    if target.slack:
        slack = target.slack
        token = env[slack.token_env].strip()
        return SlackSender(
            token=token,
            channel=slack.channel,
            api_url=slack.api_url,
            reply_to_alerts=slack.reply_to_alerts,
            has_buttons=has_buttons,
        )
    if target.webhook:
        secret = env[target.webhook.secret_env].strip() if target.webhook.secret_env else None
        return WebhookSender(url=expand(target.webhook.url, env), secret=secret)
    if target.apprise:
        return AppriseSender(url=env[target.apprise.url_env].strip())
    if target.write_back:
        return write_back_sender(target.write_back, env)
    raise AssertionError("a target without a service does not load")


def _rules(rule: NotifyRuleConfig, number: int, targets: Mapping[str, Sender]) -> Iterator[NotificationRule]:
    """Yield the rule, and one more for each target that can be written to only about some events."""
    quiet = rule.quiet_hours
    whole = NotificationRule(
        name=rule.name or f"rule {number}",
        on=frozenset(rule.on),
        # Skips the target made from `system.slack` when its token is unset.
        to=tuple(target for target in rule.to if target in targets),
        match=tuple(matcher for line in rule.match for matcher in parse_matchers(line)),
        quiet_hours=QuietHours(start=quiet.start, end=quiet.end, zone=ZoneInfo(quiet.time_zone), afterwards=quiet.afterwards)
        if quiet
        else None,
        max_age=timedelta(seconds=rule.max_age),
        only_if_changed=rule.only_if_changed,
        template=rule.template,
    )
    limited = {name: sender.only for name in whole.to if isinstance(sender := targets[name], WriteBackSender) and sender.only}
    yield replace(whole, to=tuple(target for target in whole.to if target not in limited))
    for target, matcher in limited.items():
        yield replace(whole, to=(target,), match=(*whole.match, matcher))
