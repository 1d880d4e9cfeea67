"""Which notifications an event makes: rules, quiet hours, ages, and keys."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tarsy.domain.alert import Severity
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.notification import (
    AfterQuietHours,
    EventKind,
    NotificationEvent,
    NotificationRule,
    QuietHours,
    notifications_of,
)
from tarsy.domain.route import parse_matchers
from tarsy.domain.verdict import Confidence, VerdictOutcome

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
EVENT = NotificationEvent(
    kind=EventKind.VERDICT,
    at=NOON,
    title="Cart crashes",
    severity=Severity.HIGH,
    source="alertmanager",
    labels={"namespace": ("shop", "cart"), "severity": ("page",)},
    session_id="s1",
    incident_id="i1",
    outcome=VerdictOutcome.FAULT,
    confidence=Confidence.HIGH,
    object="Deployment/shop/cart",
)
RULE = NotificationRule(name="all", on=frozenset(EventKind), to=("chat",))
NIGHT = QuietHours(start=time(22), end=time(7), zone=ZoneInfo("Europe/Prague"))


@pytest.mark.parametrize(
    ("line", "selected"),
    [
        ('severity =~ "critical|high"', True),
        ('severity = "page"', True),
        ('namespace = "cart"', True),
        ('namespace != "cart"', False),
        ('outcome = "fault", confidence != "low"', True),
        ('confidence = "low"', False),
        ('object =~ "Deployment/.*"', True),
        ('source = "grafana"', False),
        ('team = "payments"', False),
    ],
)
def test_a_rule_matches_labels_and_what_was_found(line: str, selected: bool) -> None:  # noqa: FBT001 - a table
    assert bool(notifications_of(EVENT, [replace(RULE, match=parse_matchers(line))], {})) is selected


def test_for_each_target_the_first_rule_that_selects_the_event_decides() -> None:
    first = replace(RULE, name="first", to=("chat", "mail"), on=frozenset({EventKind.VERDICT}))
    other = replace(RULE, name="other", on=frozenset({EventKind.RESOLVED}), to=("pager",))
    found = notifications_of(EVENT, [other, first, replace(RULE, to=("chat", "hook"))], {})
    assert [(one.target, one.rule.name) for one in found] == [("chat", "first"), ("mail", "first"), ("hook", "all")]


def test_a_request_for_an_approval_is_never_withheld_for_another_and_expires_with_its_call() -> None:
    call = Approval(
        id="p1",
        session_id="s1",
        execution_id="x",
        call_id="c1",
        evidence_id="A1",
        server="shell",
        tool="run",
        arguments="{}",
        call_hash="h",
        state=ApprovalState.PENDING,
        requested_at=NOON,
        expires_at=NOON + timedelta(minutes=30),
    )
    first = replace(EVENT, kind=EventKind.WAITING, approval=call)
    second, rule = replace(first, approval=replace(call, id="p2")), replace(RULE, only_if_changed=True)
    assert notifications_of(first, [rule], {"chat": first}) == []
    [sent] = notifications_of(second, [rule], {"chat": first})
    assert sent.expires_at == call.expires_at
    night = replace(RULE, quiet_hours=QuietHours(start=time(11), end=time(13), zone=ZoneInfo("UTC")))
    assert notifications_of(first, [night], {}) == []


def test_an_event_that_is_read_again_has_the_same_keys_and_another_event_or_target_has_others() -> None:
    rules = [replace(RULE, to=("chat", "mail"))]
    keys = [one.id for one in notifications_of(EVENT, rules, {})]
    assert keys == [one.id for one in notifications_of(replace(EVENT, title="changed"), rules, {})]
    waits = [replace(EVENT, kind=EventKind.WAITING, at=NOON + timedelta(hours=hours)) for hours in (0, 1)]
    others = [one.id for event in (*waits, replace(EVENT, session_id="s2")) for one in notifications_of(event, rules, {})]
    assert len({*keys, *others}) == 8


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        # 21:59, 22:00, 03:00 and 07:00 in Prague, in summer.
        (datetime(2026, 7, 1, 19, 59, tzinfo=UTC), datetime(2026, 7, 1, 19, 59, tzinfo=UTC)),
        (datetime(2026, 7, 1, 20, 0, tzinfo=UTC), datetime(2026, 7, 2, 5, 0, tzinfo=UTC)),
        (datetime(2026, 7, 2, 1, 0, tzinfo=UTC), datetime(2026, 7, 2, 5, 0, tzinfo=UTC)),
        (datetime(2026, 7, 2, 5, 0, tzinfo=UTC), datetime(2026, 7, 2, 5, 0, tzinfo=UTC)),
        # The night in which summer time ends has an hour more.
        (datetime(2026, 10, 24, 20, 0, tzinfo=UTC), datetime(2026, 10, 25, 6, 0, tzinfo=UTC)),
        (datetime(2026, 10, 25, 5, 59, tzinfo=UTC), datetime(2026, 10, 25, 6, 0, tzinfo=UTC)),
    ],
)
def test_a_notification_of_the_quiet_hours_is_sent_when_they_end(at: datetime, sent: datetime) -> None:
    (one,) = notifications_of(replace(EVENT, at=at), [replace(RULE, quiet_hours=NIGHT)], {})
    assert one.not_before == sent


def test_quiet_hours_of_a_day_may_drop_what_falls_into_them() -> None:
    lunch = QuietHours(start=time(12), end=time(13), zone=ZoneInfo("UTC"), afterwards=AfterQuietHours.DROP)
    assert notifications_of(EVENT, [replace(RULE, quiet_hours=lunch)], {}) == []
    assert notifications_of(replace(EVENT, at=NOON + timedelta(hours=1)), [replace(RULE, quiet_hours=lunch)], {})


def test_nothing_is_made_that_would_be_too_old_at_the_end_of_the_quiet_hours() -> None:
    late = replace(EVENT, at=datetime(2026, 7, 1, 20, 0, tzinfo=UTC))
    assert notifications_of(late, [replace(RULE, quiet_hours=NIGHT, max_age=timedelta(hours=9))], {}) == []
    (one,) = notifications_of(late, [replace(RULE, quiet_hours=NIGHT, max_age=timedelta(hours=10))], {})
    assert one.expires_at == late.at + timedelta(hours=10)


def test_only_if_changed_compares_outcome_object_and_confidence_with_what_the_target_got_last() -> None:
    rules = [replace(RULE, to=("chat", "mail"), only_if_changed=True)]
    again = replace(EVENT, session_id="s2", mechanism="the same in other words")
    assert [one.target for one in notifications_of(again, rules, {"chat": EVENT})] == ["mail"]
    surer = replace(again, confidence=Confidence.MEDIUM)
    assert [one.target for one in notifications_of(surer, rules, {"chat": EVENT})] == ["chat", "mail"]
