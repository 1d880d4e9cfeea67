"""The section `notify` in the files, and `system.slack` of the Go version: checked like the other sections, and applied as written."""

from datetime import time, timedelta

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.redaction import redacted
from tarsy.domain.access_role import AccessRole
from tarsy.domain.notification import AfterQuietHours, EventKind
from tarsy.notify.policy import SlackApp, notification_policy
from tarsy.notify.senders.apprise import AppriseSender
from tarsy.notify.senders.slack import SlackSender
from tarsy.notify.senders.webhook import WebhookSender

ENV = {"SLACK_BOT_TOKEN": "xoxb-1", "HOOK_SECRET": "hush", "HOOK_HOST": "hooks.example", "MAIL_URL": "mailto://u:p@example.com"}
WRITTEN = """
system: {dashboard_url: https://tarsy.example}
notify:
  targets:
    chat: {slack: {channel: C1}}
    program: {webhook: {url: 'https://{{.HOOK_HOST}}/tarsy', secret_env: HOOK_SECRET}}
    mail: {apprise: {url_env: MAIL_URL}}
  rules:
    - name: nights
      on: [verdict, failed]
      match: ['severity =~ "critical|high"', 'confidence != "low"']
      to: [chat, program]
      quiet_hours: {from: 22:00, to: "07:00", time_zone: Europe/Prague, then: drop}
      max_age: 2h
      only_if_changed: true
      template: "{{ severity }}: {{ title }}"
    - {on: [resolved], to: [mail]}
"""


def test_what_is_written_is_in_force(directory: ConfigDirectory) -> None:
    directory.env |= ENV
    loaded = directory.load(WRITTEN)
    policy = notification_policy(loaded.config, loaded.env)
    assert policy.dashboard_url == "https://tarsy.example"
    chat, program, mail = policy.targets.values()
    assert (chat, program) == (
        SlackSender(token="xoxb-1", channel="C1", api_url="https://slack.com/api/"),
        WebhookSender(url="https://hooks.example/tarsy", secret="hush"),
    )
    assert isinstance(mail, AppriseSender)
    nights, other = policy.rules
    assert (nights.name, nights.on, nights.to) == ("nights", {EventKind.VERDICT, EventKind.FAILED}, ("chat", "program"))
    assert [str(matcher) for matcher in nights.match] == ['severity =~ "critical|high"', 'confidence != "low"']
    assert nights.quiet_hours
    assert (nights.quiet_hours.start, nights.quiet_hours.end, str(nights.quiet_hours.zone)) == (time(22), time(7), "Europe/Prague")
    assert nights.quiet_hours.afterwards is AfterQuietHours.DROP
    assert (nights.max_age, nights.only_if_changed, nights.template) == (timedelta(hours=2), True, "{{ severity }}: {{ title }}")
    assert (other.name, other.max_age, other.only_if_changed, other.template) == ("rule 2", timedelta(hours=24), False, None)


def test_no_secret_is_shown_with_a_target(directory: ConfigDirectory) -> None:
    directory.env |= ENV
    loaded = directory.load(WRITTEN)
    shown = f"{notification_policy(loaded.config, loaded.env)!r} {redacted(loaded.config)}"
    assert not any(secret in shown for secret in ("xoxb-1", "hush", "hooks.example", "u:p"))


@pytest.mark.parametrize(
    ("notify", "path", "problem", "cure"),
    [
        (
            "{targets: {a: {}}}",
            "notify.targets.a",
            "a target is one of slack, webhook, apprise, pagerduty, opsgenie, grafana, jira, github",
            "keep one of them",
        ),
        (
            "{targets: {a: {slack: {channel: C}, apprise: {url_env: MAIL_URL}}}}",
            "notify.targets.a",
            "a target is one of slack, webhook, apprise, pagerduty, opsgenie, grafana, jira, github",
            "keep one of them",
        ),
        ("{targets: {a: {webhook: {url: ftp://x}}}}", "notify.targets.a.webhook.url", "this is not a web address", "write http"),
        (
            "{targets: {a: {apprise: {url_env: NOPE}}}}",
            "notify.targets.a",
            'notification target "a" needs the environment variable NOPE, which is not set',
            "set NOPE",
        ),
        (
            "{targets: {a: {webhook: {url: 'https://{{.NOPE}}/x'}}}}",
            "notify.targets.a",
            'notification target "a" needs the environment variable NOPE, which is not set',
            "set NOPE",
        ),
        ("{rules: [{on: [verdict], to: [chatt]}]}", "notify.rules[0].to[0]", 'there is no notification target "chatt"', "chat"),
        ("{rules: [{on: [verdikt], to: [chat]}]}", "notify.rules[0].on[0]", "is not one of", ""),
        ("{rules: [{on: [verdict], to: [chat], match: ['severity']}]}", "notify.rules[0].match[0]", "write name", ""),
        (
            "{rules: [{on: [verdict], to: [chat], quiet_hours: {from: '22:00', to: '7:00', time_zone: Mars/Base}}]}",
            "notify.rules[0].quiet_hours.time_zone",
            'there is no time zone "Mars/Base"',
            "write UTC",
        ),
        (
            "{rules: [{on: [verdict], to: [chat], quiet_hours: {from: '25:00', to: '07:00'}}]}",
            "notify.rules[0].quiet_hours.from",
            '"25:00" is not a time of day',
            "write 22:00",
        ),
        (
            "{rules: [{on: [verdict], to: [chat], quiet_hours: {from: 22, to: '07:00'}}]}",
            "notify.rules[0].quiet_hours.from",
            '"22" is not a time of day',
            "write 22:00",
        ),
        (
            "{rules: [{on: [verdict], to: [chat], quiet_hours: {from: '07:00', to: '07:00'}}]}",
            "notify.rules[0].quiet_hours",
            "have no length",
            "two different times",
        ),
        (
            "{rules: [{on: [verdict], to: [chat], template: '{{ titel }}'}]}",
            "notify.rules[0].template",
            "'titel' is undefined",
            "see the list of values",
        ),
    ],
)
def test_a_mistake_is_named_with_its_cure(directory: ConfigDirectory, notify: str, path: str, problem: str, cure: str) -> None:
    directory.env |= ENV
    targets = "" if "targets" in notify else "targets: {chat: {slack: {channel: C1}}}, "
    found = [one for one in directory.problems(f"notify: {{{targets}{notify[1:]}") if one.path == path]
    assert [problem in one.message and cure in one.remedy for one in found] == [True]


def test_the_app_of_slack_has_its_secrets_from_the_environment_and_maps_users_to_roles(directory: ConfigDirectory) -> None:
    directory.env |= {**ENV, "SIGN": "s1", "APP": "xapp-1"}
    loaded = directory.load("notify: {slack: {signing_secret_env: SIGN, app_token_env: APP, users: {U1: responder}}}")
    policy = notification_policy(loaded.config, loaded.env)
    users = {"U1": AccessRole.RESPONDER}
    expected = SlackApp(token="xoxb-1", signing_secret="s1", app_token="xapp-1", users=users, api_url="https://slack.com/api/")
    assert policy.slack_app == expected
    assert not any(secret in repr(policy) for secret in ("xoxb-1", "s1", "xapp-1"))


@pytest.mark.parametrize(
    ("slack", "path", "problem"),
    [
        ("{users: {U1: responder}}", "notify.slack", "nothing can come from Slack"),
        ("{app_token_env: NOPE}", "notify.slack", "buttons and commands in Slack need the environment variable NOPE, which is not set"),
        ("{app_token_env: MAIL_URL, users: {U1: boss}}", "notify.slack.users.U1", "is not one of"),
    ],
)
def test_a_mistake_in_the_app_of_slack_is_named(directory: ConfigDirectory, slack: str, path: str, problem: str) -> None:
    directory.env |= ENV
    assert [(one.path, problem in one.message) for one in directory.problems(f"notify: {{slack: {slack}}}")] == [(path, True)]


def test_a_target_that_no_rule_names_is_remarked_on(directory: ConfigDirectory) -> None:
    directory.env |= ENV
    loaded = directory.load("notify: {targets: {chat: {slack: {channel: C1}}}}")
    assert [(one.path, one.message) for one in loaded.warnings] == [("notify.targets.chat", "no rule sends anything to this target")]


def test_the_section_of_the_go_version_sends_verdicts_and_failures_to_its_channel(directory: ConfigDirectory) -> None:
    directory.env |= {"BOT": "xoxb-2"}
    loaded = directory.load("system: {slack: {enabled: true, token_env: BOT, channel: C9}}")
    policy = notification_policy(loaded.config, loaded.env)
    assert policy.targets == {"slack": SlackSender(token="xoxb-2", channel="C9", api_url="https://slack.com/api/")}
    assert [(rule.on, rule.to) for rule in policy.rules] == [({EventKind.VERDICT, EventKind.FAILED}, ("slack",))]
    assert not loaded.warnings


@pytest.mark.parametrize(
    ("slack", "remark"),
    [
        ("{enabled: true, channel: C9}", "nothing is sent to Slack: the environment variable SLACK_BOT_TOKEN is not set"),
        ("{enabled: true}", "nothing is sent to Slack: there is no channel"),
    ],
)
def test_that_section_says_why_it_has_no_effect_and_still_loads(directory: ConfigDirectory, slack: str, remark: str) -> None:
    loaded = directory.load(f"system: {{slack: {slack}}}")
    assert notification_policy(loaded.config, loaded.env).targets == {}
    assert [(one.path, one.message) for one in loaded.warnings] == [("system.slack", remark)]


def test_that_section_is_silent_while_it_is_switched_off(directory: ConfigDirectory) -> None:
    loaded = directory.load("system: {slack: {enabled: false, channel: C9}}")
    assert (notification_policy(loaded.config, loaded.env).targets, loaded.warnings) == ({}, ())
