"""Which route an alert takes, what it is grouped by, and when it is muted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.sender_examples import load_examples
from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.incident import Mute, muted_by
from tarsy.domain.route import Matcher, MatcherError, Operator, RouteAction, all_accept, parse_matchers
from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.policy import Route, route_for

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)


def _alert(severity: Severity = Severity.WARNING, /, **labels: str) -> Alert:
    return Alert(
        source="alertmanager", fingerprint="f1", title="Pod crashes", severity=severity, status=AlertStatus.FIRING, labels=labels, body=""
    )


def _grouped(group: str, source: str = "alertmanager", **labels: str) -> Alert:
    return replace(_alert(**labels), group_key=group, source=source)


@pytest.mark.parametrize(
    ("text", "matchers"),
    [
        ('a="b"', [("a", "=", "b")]),
        ("a = b", [("a", "=", "b")]),
        ('severity =~ "critical|high"', [("severity", "=~", "critical|high")]),
        ('{a!="b", c!~"d.*",}', [("a", "!=", "b"), ("c", "!~", "d.*")]),
        ('a="b",c="d, e"', [("a", "=", "b"), ("c", "=", "d, e")]),
        (r'a="say \"hi\" \\ \n"', [("a", "=", 'say "hi" \\ \n')]),
        (r'path=~"\\d+\.x"', [("path", "=~", r"\d+\.x")]),
        ('"label with spaces" = "größe"', [("label with spaces", "=", "größe")]),
        ('a=""', [("a", "=", "")]),
        ("{}", []),
        ("", []),
    ],
)
def test_matchers_are_read_as_alertmanager_reads_them(text: str, matchers: list[tuple[str, str, str]]) -> None:
    assert parse_matchers(text) == tuple(Matcher(name, Operator(operator), value) for name, operator, value in matchers)


@pytest.mark.parametrize(
    "text", ["a", "a=", "=b", 'a="b" c="d"', '{a="b"', 'a="b"}', 'a=="b"', 'a="b', "a=b c", 'a=~"("', 'a=~"(?=x)"', "{", 'a="b",,c="d"']
)
def test_a_matcher_that_cannot_be_read_is_refused_in_words(text: str) -> None:
    with pytest.raises(MatcherError, match=r"\w+"):
        parse_matchers(text)


@given(st.text(min_size=1).filter(lambda text: not text.isspace()), st.text())
def test_a_matcher_is_read_as_it_is_written(name: str, value: str) -> None:
    written = Matcher('"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"', Operator.EQUAL, value)
    assert parse_matchers(str(written)) == (Matcher(name, Operator.EQUAL, value),)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('namespace = "shop"', True),
        ('namespace = "sho"', False),
        ('namespace =~ "sho"', False),
        ('namespace =~ "sho.*"', True),
        ('namespace !~ "sho.*"', False),
        ('absent = ""', True),
        ('absent != "x"', True),
        ('absent =~ ".*"', True),
        ('absent =~ ".+"', False),
        ('source = "alertmanager"', True),
        # The sender's own word, and ours.
        ('severity = "page"', True),
        ('severity = "critical"', True),
        ('severity != "critical"', False),
        ('severity != "page"', False),
        ('severity =~ "critical|high", namespace = "shop"', True),
        ('title =~ ".*crashes"', True),
    ],
)
def test_a_matcher_looks_at_labels_and_at_what_we_made_of_them(text: str, *, fits: bool) -> None:
    alert = _alert(Severity.CRITICAL, namespace="shop", severity="page", source="pagerduty")
    assert all_accept(parse_matchers(text), alert) is fits


@pytest.mark.parametrize("expression", ["(a+)+b", "a*a*a*a*a*a*b"])
def test_a_label_from_outside_cannot_make_an_expression_slow(expression: str) -> None:
    # Trying every way to read them, a thousand characters would take longer than the world is old.
    assert not Matcher("a", Operator.LIKE, expression).accepts(["a" * 1024])


def test_the_first_route_that_fits_counts() -> None:
    shop = Route(name="shop", match=parse_matchers('namespace = "shop"'))
    bad = Route(name="bad", match=parse_matchers('severity =~ "critical|high"'))
    assert route_for(_alert(Severity.CRITICAL, namespace="shop"), [shop, bad]) is shop
    assert route_for(_alert(Severity.CRITICAL, namespace="pay"), [shop, bad]) is bad
    assert route_for(_alert(namespace="pay"), [shop, bad]).action is RouteAction.INVESTIGATE


def test_signs_of_life_are_recorded_only_unless_a_route_says_otherwise() -> None:
    watchdog = next(example for example in load_examples() if example.name == "watchdog")
    [alert] = parse_delivery(watchdog.received).alerts
    assert route_for(alert, []).action is RouteAction.RECORD
    assert route_for(_alert(Severity.INFO, severity="none"), []).action is RouteAction.RECORD
    assert route_for(_alert(Severity.INFO, severity="info"), []).action is RouteAction.INVESTIGATE
    assert route_for(alert, [Route(name="all")]).action is RouteAction.INVESTIGATE


def test_alerts_are_grouped_by_the_labels_that_the_route_names() -> None:
    route = Route(name="r", group_by=("namespace", "cluster"))
    key = route.incident_key(_alert(namespace="shop", cluster="eu1", pod="a"))
    assert key == route.incident_key(_grouped("g1", "grafana", namespace="shop", cluster="eu1", pod="b"))
    assert key != route.incident_key(_alert(namespace="shop", cluster="us1"))
    assert key != Route(name="other", group_by=("namespace", "cluster")).incident_key(_alert(namespace="shop", cluster="eu1"))


def test_without_labels_to_group_by_the_senders_own_groups_count() -> None:
    route = Route(name="r")
    assert route.incident_key(_grouped("g1", pod="a")) == route.incident_key(_grouped("g1", pod="b"))
    assert route.incident_key(_grouped("g1")) != route.incident_key(_grouped("g2"))
    assert route.incident_key(_grouped("g1")) != route.incident_key(_grouped("g1", source="grafana"))
    assert route.incident_key(_alert()) == route.incident_key(_alert(pod="changes nothing"))


def test_each_alert_can_stand_for_itself() -> None:
    route = Route(name="r", group_by=("...",))
    assert route.incident_key(_grouped("g1")) == route.incident_key(_grouped("g2"))


def test_grouped_alerts_wait_for_their_companions_and_single_ones_do_not() -> None:
    assert Route(name="r").wait_for(_grouped("g1")) == timedelta(seconds=15)
    assert Route(name="r").wait_for(_alert()) == timedelta()
    assert Route(name="r", group_by=("namespace",)).wait_for(_alert()) == timedelta(seconds=15)
    assert Route(name="r", group_by=()).wait_for(_alert()) == timedelta(seconds=15), "all alerts of the route are one group"
    assert Route(name="r", group_by=("...",)).wait_for(_grouped("g1")) == timedelta()
    assert Route(name="r", group_wait=timedelta(minutes=1)).wait_for(_alert()) == timedelta(minutes=1)


def test_the_worse_is_the_more_urgent() -> None:
    priorities = [Route(name="r").priority_of(severity) for severity in Severity]
    assert priorities == [4, 3, 2, 1, 0]
    assert Route(name="r", priority=9).priority_of(Severity.INFO) == 9
    assert Severity.WARNING.worst(Severity.HIGH) is Severity.HIGH


@pytest.mark.parametrize(("minutes", "muted"), [(-1, False), (0, True), (59, True), (60, False)])
def test_a_mute_holds_from_its_beginning_to_before_its_end(minutes: int, *, muted: bool) -> None:
    mute = Mute(starts=NOW, ends=NOW + timedelta(hours=1), match=parse_matchers('namespace = "shop"'), reason="node upgrade")
    at = NOW + timedelta(minutes=minutes)
    assert (muted_by(_alert(namespace="shop"), [mute], at) is mute) is muted
    assert muted_by(_alert(namespace="pay"), [mute], at) is None


@given(st.dictionaries(st.text(min_size=1), st.text()), st.text())
def test_no_labels_fail_a_route(labels: dict[str, Any], group: str) -> None:
    alert = Alert(
        source="s", fingerprint="f", title="t", severity=Severity.INFO, status=AlertStatus.FIRING, labels=labels, group_key=group, body=""
    )
    assert route_for(alert, [Route(name="r", match=parse_matchers('a =~ "x.*"'))]).incident_key(alert)
