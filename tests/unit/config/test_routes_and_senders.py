"""Routes, senders and mutes in the files: checked like the other sections, and applied as written."""

from datetime import UTC, datetime, timedelta

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.load.loader import load_config
from tarsy.config.problems import ConfigError
from tarsy.config.schema.routes import Scheme
from tarsy.domain.route import OnResolved, RouteAction
from tarsy.intake.authentication import Basic, Signature, Token
from tarsy.intake.policy import policy_of

ENV = {"PD_NEW": "new", "PD_OLD": "old", "SPLUNK": "s3", "GRAFANA": "g"}
WRITTEN = """
routes:
  - name: shop
    match: ['severity =~ "critical|high"', 'namespace = "shop"']
    alert_type: kubernetes
    group_by: [cluster, namespace]
    group_wait: 30s
    repeat_interval: 2h
    on_resolved: note
    priority: 5
    tool_servers:
      kubernetes-server: {label: cluster, variants: {eu1: kubernetes-server}}
  - {name: batch, match: ['namespace =~ "batch-.*"'], action: record}
senders:
  pagerduty: {signature: {scheme: pagerduty, secret_env: [PD_NEW, PD_OLD]}}
  splunk: {token_env: SPLUNK}
  grafana: {basic: {username: grafana, password_env: GRAFANA}}
  cloudwatch: {topics: ['arn:aws:sns:eu-west-1:1:alarms']}
  checks: {mapping: {each: 'items', title: 'name', status: 'state', labels: 'tags'}}
mute:
  - {from: 2026-11-20T22:00:00Z, to: 2026-11-21T02:00:00Z, match: ['cluster = "eu1"']}
"""


def test_what_is_written_is_in_force(directory: ConfigDirectory) -> None:
    directory.write(WRITTEN)
    loaded = load_config(directory.path, ENV)
    policy = policy_of(loaded.config, loaded.env)
    shop, batch = policy.routes
    assert (shop.group_by, shop.group_wait, shop.repeat_interval) == (("cluster", "namespace"), timedelta(seconds=30), timedelta(hours=2))
    assert (shop.on_resolved, shop.priority, shop.alert_type) == (OnResolved.NOTE, 5, "kubernetes")
    assert (shop.reopen_after, shop.auto_resolve_after) == (timedelta(minutes=30), None)
    assert [variants.by_value for variants in shop.tool_servers] == [{"eu1": "kubernetes-server"}]
    assert (batch.action, batch.group_by, batch.group_wait) == (RouteAction.RECORD, None, None)
    assert policy.credentials == {
        "pagerduty": Signature(Scheme.PAGERDUTY, ("new", "old")),
        "splunk": Token(("s3",)),
        "grafana": Basic("grafana", ("g",)),
    }
    assert policy.topics == {"cloudwatch": ("arn:aws:sns:eu-west-1:1:alarms",)}
    assert policy.mappings["checks"].parts == {"title": "name", "status": "state", "labels": "tags"}
    [mute] = policy.mutes
    assert (mute.starts, [str(matcher) for matcher in mute.match]) == (datetime(2026, 11, 20, 22, tzinfo=UTC), ['cluster = "eu1"'])


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("routes: [{name: a, same_as: {route: b}}]", 'routes[0].same_as: there is no route "b"'),
        ("routes: [{name: a, same_as: {route: b}}, {name: b}]", 'route "b" does not group by labels'),
        (
            "routes: [{name: a, same_as: {route: b, labels: {clster: c}}}, {name: b, group_by: [cluster]}]",
            'routes[0].same_as.labels.clster: route "b" does not group by "clster"',
        ),
        ("routes: [{name: a, match: ['severity ~ x']}]", 'routes[0].match[0]: severity ~ x: write name = "value"'),
        ("routes: [{name: a, match: ['a =~ \"(\"']}]", "this is not a regular expression"),
        ("routes: [{name: a, alert_type: nope}]", 'there is no chain for alert type "nope"'),
        ("routes: [{name: a, action: ignore}]", "is not one of 'investigate', 'record' or 'drop'"),
        ("routes: [{name: a, group_weight: 3s}]", 'unknown key "group_weight"; did you mean "group_wait"?'),
        ("routes: [{name: a, tool_servers: {kubernetes-server: {label: c, variants: {x: nope}}}}]", 'there is no MCP server "nope"'),
        ("senders: {a: {mapping: {title: 'x['}}}", "this is not JMESPath"),
        ("senders: {a: {mapping: {title: 'nope(x)'}}}", "JMESPath has no function nope"),
        (
            "senders: {pagerduty: {signature: {scheme: pagerduty, secret_env: NOWHERE}}}",
            "the environment variable NOWHERE, which is not set",
        ),
        ("senders: {a: {token_env: SPLUNK, basic: {username: u, password_env: SPLUNK}}}", "a sender can authenticate in one way only"),
        ("mute: [{from: 2026-11-21T02:00:00Z, to: 2026-11-20T02:00:00Z}]", "this mute ends before it begins"),
        (
            "mute: [{from: 20260301, to: 2026-03-02}]",
            'mute[0].from: "20260301" is not a time; write 2026-03-01 or 2026-03-01T12:00:00Z',
        ),
        ("mute: [{from: '0001-01-01T00:00:00+01:00', to: 2026-03-02}]", '"0001-01-01T00:00:00+01:00" is not a time'),
    ],
)
def test_mistakes_are_reported_with_their_place_and_cure(directory: ConfigDirectory, text: str, reported: str) -> None:
    directory.write(text)
    with pytest.raises(ConfigError) as refused:
        load_config(directory.path, ENV)
    assert reported in str(refused.value)


def test_no_secret_of_a_sender_is_in_what_is_shown(directory: ConfigDirectory) -> None:
    directory.write(WRITTEN)
    loaded = load_config(directory.path, {**ENV, "PD_NEW": "hunter2"})
    policy = policy_of(loaded.config, loaded.env)
    assert "hunter2" not in repr(policy)
    assert "hunter2" not in repr(loaded.config)
