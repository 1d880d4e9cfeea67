"""The `notify` section: who is notified of what, and how."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import time
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from tarsy.config.schema.routes import Matchers
from tarsy.config.schema.values import Duration, Name, Section, Switch, TargetName, Text, WebAddress, refuse
from tarsy.config.schema.write_back import (
    GitHubTargetConfig,
    GrafanaTargetConfig,
    JiraTargetConfig,
    OpsgenieTargetConfig,
    PagerDutyTargetConfig,
    WriteBackConfig,
)
from tarsy.config.templates import variables
from tarsy.domain.access_role import AccessRole
from tarsy.domain.notification import MAX_AGE, AfterQuietHours, EventKind
from tarsy.domain.notification_text import TemplateRejectedError, check_template

# The target of `system.slack`.
SLACK_TARGET = "slack"


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise refuse(f'there is no time zone "{name}"', "write UTC, Europe/Prague or another name of the IANA database") from error
    return name


def _time_of_day(value: object) -> time:
    if isinstance(value, str) and ":" in value:
        with suppress(ValueError):
            return time.fromisoformat(value)
    # Pydantic would read a number as seconds since midnight.
    raise refuse(f'"{value}" is not a time of day', "write 22:00")


def _template(text: str) -> str:
    try:
        check_template(text)
    except TemplateRejectedError as error:
        raise refuse(f"this template does not work: {error}", "see the list of values and filters in the manual: Notifications") from error
    return text


TimeZone = Annotated[str, AfterValidator(_time_zone)]
TimeOfDay = Annotated[time, BeforeValidator(_time_of_day), WithJsonSchema({"type": "string", "pattern": r"^\d\d:\d\d$"})]
MessageTemplate = Annotated[Text, Field(max_length=4_000), AfterValidator(_template)]


class SlackTargetConfig(Section):
    channel: Name = Field(description="Id of the channel, such as `C0123456789`.")
    token_env: Name = Field(default="SLACK_BOT_TOKEN", description="Variable that holds the bot token.")
    reply_to_alerts: Switch = Field(
        default=False,
        description="Reply in the thread of the alert's own message, if one of the last day in the channel contains the fingerprint of an alert; needs the scope `channels:history`.",
    )
    api_url: WebAddress = Field(default="https://slack.com/api/", description="Address of Slack's Web API.")


class WebhookTargetConfig(Section):
    url: WebAddress = Field(description="Address that TARSy posts to; `{{.NAME}}` stands for an environment variable.")
    secret_env: Name | None = Field(
        default=None, description="Variable that holds the secret of the signature (`X-TARSy-Signature`); unset: unsigned."
    )


class AppriseTargetConfig(Section):
    url_env: Name = Field(description="Variable that holds the [Apprise URL](https://appriseit.com/services/) of the service.")


class TargetConfig(Section):
    slack: SlackTargetConfig | None = Field(default=None, description="A channel of Slack.")
    webhook: WebhookTargetConfig | None = Field(default=None, description="A program of your own.")
    apprise: AppriseTargetConfig | None = Field(
        default=None, description="Any other service: Teams, e-mail, Telegram, PagerDuty, Opsgenie, Discord and many more."
    )
    pagerduty: PagerDutyTargetConfig | None = Field(default=None, description="Notes on the PagerDuty incidents that alerts came from.")
    opsgenie: OpsgenieTargetConfig | None = Field(default=None, description="Notes on the Opsgenie alerts that alerts came from.")
    grafana: GrafanaTargetConfig | None = Field(default=None, description="Annotations in Grafana, with the tag `tarsy`.")
    jira: JiraTargetConfig | None = Field(default=None, description="Comments on the Jira issues that a label of the alerts names.")
    github: GitHubTargetConfig | None = Field(default=None, description="Comments on the GitHub issues that a label of the alerts names.")

    @model_validator(mode="after")
    def _one_service(self) -> "TargetConfig":
        services = type(self).model_fields
        if sum(getattr(self, service) is not None for service in services) != 1:
            raise refuse(
                f"a target is one of {', '.join(services)}",
                "keep one of them, and name another target for each of the others",
            )
        return self

    @property
    def write_back(self) -> WriteBackConfig | None:
        return self.pagerduty or self.opsgenie or self.grafana or self.jira or self.github

    def variables(self) -> frozenset[str]:
        """Return the environment variables that it needs."""
        named = {
            self.slack.token_env if self.slack else None,
            self.webhook.secret_env if self.webhook else None,
            self.apprise.url_env if self.apprise else None,
            self.write_back.token_env if self.write_back else None,
        }
        return frozenset(name for name in named if name) | variables(self.webhook.url if self.webhook else "")


class QuietHoursConfig(Section):
    start: TimeOfDay = Field(alias="from", description="When they begin, such as `22:00`.")
    end: TimeOfDay = Field(alias="to", description="When they end; a time before `from` is on the next day.")
    time_zone: TimeZone = Field(default="UTC", description="Time zone of both.")
    afterwards: AfterQuietHours = Field(
        default=AfterQuietHours.SEND,
        alias="then",
        description="`send`: notifications of these hours are sent when the hours end, unless they are older than `max_age`. `drop`: never.",
    )

    @model_validator(mode="after")
    def _has_length(self) -> "QuietHoursConfig":
        if self.start == self.end:
            raise refuse("quiet hours that begin when they end have no length", "write two different times")
        return self


class NotifyRuleConfig(Section):
    name: Name | None = Field(default=None, description="For people; unset: the number of the rule.")
    on: tuple[EventKind, ...] = Field(
        min_length=1,
        description="Events: a session `started`, reached a `verdict`, `failed` (or timed out), is `waiting` (also for an approval, which is then `decided`), waits for a `budget`; a question about it was `answered`; an incident is `resolved`.",
    )
    match: tuple[Matchers, ...] = Field(
        default=(),
        description='Matchers as in routes, all of which must match; besides labels they know `severity`, `source`, `title`, `alert_type`, `outcome`, `confidence` and `object`, such as `confidence != "low"`.',
    )
    to: tuple[TargetName, ...] = Field(
        min_length=1, description="Targets. If several rules select an event for one target, the first applies."
    )
    quiet_hours: QuietHoursConfig | None = Field(default=None, description="Hours of every day in which nothing is sent.")
    max_age: Duration = Field(
        default=MAX_AGE.total_seconds(), description="TARSy never delivers a notification longer than this after its event."
    )
    only_if_changed: Switch = Field(
        default=False,
        description="Skip a notification if the previous one of its kind about the same incident had the same outcome, object and confidence.",
    )
    template: MessageTemplate | None = Field(default=None, description="Text of the message (Jinja2); unset: a short default.")


class SlackAppConfig(Section):
    signing_secret_env: Name | None = Field(
        default=None, description="Variable that holds the signing secret, for requests to `/api/v1/slack` (a public address is needed)."
    )
    app_token_env: Name | None = Field(
        default=None, description="Variable that holds the app-level token, for Socket Mode (no public address)."
    )
    token_env: Name = Field(default="SLACK_BOT_TOKEN", description="Variable that holds the bot token.")
    users: Mapping[Name, AccessRole] = Field(
        default={}, description="Roles of Slack users by their ids, such as `U0123456789: responder`; others may only read."
    )
    api_url: WebAddress = Field(default="https://slack.com/api/", description="Address of Slack's Web API.")

    @model_validator(mode="after")
    def _one_way_in(self) -> "SlackAppConfig":
        if not (self.signing_secret_env or self.app_token_env):
            raise refuse("nothing can come from Slack", "write app_token_env for Socket Mode, or signing_secret_env for HTTP")
        return self

    def variables(self) -> frozenset[str]:
        """Return the environment variables that it needs."""
        return frozenset(name for name in (self.signing_secret_env, self.app_token_env, self.token_env) if name)


class NotifyConfig(Section):
    targets: Mapping[Name, TargetConfig] = Field(default={}, description="Where notifications are sent, by name.")
    rules: tuple[NotifyRuleConfig, ...] = Field(default=(), description="Which events are sent where.")
    slack: SlackAppConfig | None = Field(
        default=None,
        description="Buttons in messages to Slack, mentions of the bot, and the command `/tarsy`; unset: messages have no buttons.",
    )
