"""What follows from an alert that comes in: one incident for a problem, one investigation for an incident, and nothing undone by what is older."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.incident import Incident, InvestigationState, KnownAlert, Mute
from tarsy.domain.route import OnResolved, RouteAction
from tarsy.domain.status import SessionStatus
from tarsy.intake.adapters.registry import sends_resolved
from tarsy.intake.answer import Outcome
from tarsy.intake.decision import (
    Action,
    Continue,
    CountRepeat,
    Decision,
    Drop,
    OpenIncident,
    Record,
    Resolve,
    Schedule,
    auto_resolved,
    decide,
)
from tarsy.intake.policy import Route

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ROUTE = Route(name="r", group_by=("problem",))
FIRING, RESOLVED = AlertStatus.FIRING, AlertStatus.RESOLVED


def _at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def _event(status: AlertStatus = FIRING, start: float | None = -60, end: float | None = None, **more: object) -> Alert:
    alert = Alert(
        source="s",
        fingerprint="f1",
        title="Disk full",
        severity=Severity.WARNING,
        status=status,
        labels={"problem": "p1"},
        starts_at=None if start is None else _at(start),
        ends_at=None if end is None else _at(end),
        body="",
    )
    return replace(alert, **more)  # pyright: ignore[reportArgumentType] - a test names the fields it means


def _incident(incident_id: str, severity: Severity) -> Incident:
    return Incident(
        id=incident_id, key="p1", route="r", title="t", severity=severity, source="s", alert_type="kubernetes", opened_at=NOW, heard_at=NOW
    )


def _investigated(incident: Incident, investigation: InvestigationState) -> Incident:
    if investigation is InvestigationState.NONE:
        return replace(incident, session_id=None)
    statuses = {InvestigationState.PENDING: SessionStatus.PENDING, InvestigationState.RUNNING: SessionStatus.IN_PROGRESS}
    started = investigation is not InvestigationState.PENDING
    return replace(incident, session_id="s1", session_status=statuses.get(investigation, SessionStatus.COMPLETED), session_started=started)


@dataclass
class Ledger:
    """Applies decisions as the unit of work does, in memory."""

    route: Route = ROUTE
    now: datetime = NOW
    mute: Mute | None = None
    alerts: dict[str, KnownAlert] = field(default_factory=dict[str, KnownAlert])
    incidents: dict[str, Incident] = field(default_factory=dict[str, Incident])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    schedules: list[tuple[str, Schedule]] = field(default_factory=list[tuple[str, Schedule]])
    notes: Counter[str] = field(default_factory=Counter[str])
    cancelled: Counter[str] = field(default_factory=Counter[str])

    def take(self, event: Alert) -> Decision:
        known = self.alerts.get(event.fingerprint)
        incident = self._incident(event, known)
        decision = decide(event, route=self.route, incident=incident, known=known, now=self.now, mute=self.mute)
        self._apply(event, decision)
        return decision

    def take_all(self, events: Sequence[Alert]) -> "Ledger":
        for event in events:
            self.take(event)
        return self

    def _incident(self, event: Alert, known: KnownAlert | None) -> Incident | None:
        own = self.incidents.get(known.incident_id) if known and known.incident_id else None
        return own if own and own.resolved_at is None else self.incidents.get(self.keys.get(self.route.incident_key(event), ""))

    def _apply(self, event: Alert, decision: Decision) -> None:
        action, known = decision.action, decision.alert
        match action:
            case Drop():
                return
            case Record() | CountRepeat():
                incident_id = known.incident_id
            case OpenIncident(schedule):
                incident_id = f"i{len(self.incidents)}"
                self.keys[self.route.incident_key(event)] = incident_id
                self.incidents[incident_id] = _incident(incident_id, event.severity)
                self._schedule(incident_id, schedule)
            case Continue(outcome, incident_id, new, note, schedule):
                self._changed(incident_id, new=new or outcome is Outcome.ESCALATED, note=note, schedule=schedule)
            case Resolve(incident_id, last, cancel, note):
                incident = self.incidents[incident_id]
                self.notes[incident_id] += note
                self.cancelled[incident_id] += cancel
                investigation = InvestigationState.NONE if cancel else incident.investigation
                self.incidents[incident_id] = replace(_investigated(incident, investigation), resolved_at=self.now if last else None)
            case _:
                assert_never(action)
        self.alerts[event.fingerprint] = replace(known, incident_id=incident_id)
        self._recount()

    def _changed(self, incident_id: str, *, new: bool, note: bool, schedule: Schedule | None) -> None:
        incident = self.incidents[incident_id]
        self.incidents[incident_id] = replace(incident, resolved_at=None, reinvestigations=0 if new else incident.reinvestigations)
        self.notes[incident_id] += note
        self._schedule(incident_id, schedule)

    def _schedule(self, incident_id: str, schedule: Schedule | None) -> None:
        if schedule:
            self.schedules.append((incident_id, schedule))
            pending = _investigated(self.incidents[incident_id], InvestigationState.PENDING)
            self.incidents[incident_id] = replace(pending, reinvestigations=schedule.repeats)

    def _recount(self) -> None:
        for incident in list(self.incidents.values()):
            members = [alert for alert in self.alerts.values() if alert.incident_id == incident.id]
            firing = sum(alert.status is FIRING for alert in members)
            worst = max((alert.severity for alert in members), key=lambda severity: severity.priority, default=incident.severity)
            self.incidents[incident.id] = replace(incident, firing=firing, severity=worst)

    def proceed(self, investigation: InvestigationState, incident_id: str = "i0") -> None:
        finished = self.now if investigation is InvestigationState.FINISHED else None
        self.incidents[incident_id] = replace(_investigated(self.incidents[incident_id], investigation), finished_at=finished)

    @property
    def statuses(self) -> dict[str, AlertStatus]:
        return {fingerprint: alert.status for fingerprint, alert in self.alerts.items()}


# ---- any order, any duplication ---------------------------------------------------------------------------------------------

MINUTES = st.integers(-300, 60)


@st.composite
def timed_events(draw: st.DrawFn) -> list[Alert]:
    """Events of a few alerts; also with times in the future, and such as contradict each other."""
    found: list[Alert] = []
    for _ in range(draw(st.integers(1, 8))):
        start, status = draw(MINUTES), draw(st.sampled_from(AlertStatus))
        end = start + draw(st.integers(0, 120)) if status is RESOLVED else None
        found.append(
            _event(status, start, end, fingerprint=draw(st.sampled_from(["f1", "f2", "f3"])), severity=draw(st.sampled_from(Severity)))
        )
    return found


@given(timed_events(), st.data())
def test_any_order_and_duplication_of_timed_events_ends_in_the_same_statuses(events: list[Alert], data: st.DataObject) -> None:
    repeated = events + data.draw(st.lists(st.sampled_from(events), max_size=8))
    shuffled = data.draw(st.permutations(repeated))
    assert Ledger().take_all(shuffled).statuses == Ledger().take_all(events).statuses


@given(timed_events())
def test_counts_equal_deliveries(events: list[Alert]) -> None:
    ledger = Ledger().take_all(events)
    assert {name: alert.count for name, alert in ledger.alerts.items()} == Counter(event.fingerprint for event in events)


@given(timed_events(), st.data())
def test_an_older_event_never_reopens_nor_investigates(events: list[Alert], data: st.DataObject) -> None:
    ledger = Ledger().take_all(events)
    newest = {name: alert.reported_at for name, alert in ledger.alerts.items()}
    before = (ledger.statuses, ledger.schedules[:], {name: one.resolved_at for name, one in ledger.incidents.items()})
    for event in data.draw(st.permutations(events)):
        at = event.starts_at if event.status is FIRING else event.ends_at
        last_time = newest[event.fingerprint]
        if at and last_time and min(at, NOW) < last_time:
            assert isinstance(ledger.take(event).action, CountRepeat)
    assert (ledger.statuses, ledger.schedules, {name: one.resolved_at for name, one in ledger.incidents.items()}) == before


@given(timed_events())
def test_an_incident_is_open_exactly_while_one_of_its_alerts_fires(events: list[Alert]) -> None:
    ledger = Ledger()
    for event in events:
        ledger.take(event)
        for incident in ledger.incidents.values():
            assert (incident.resolved_at is None) == (incident.firing > 0)
        assert sum(one.resolved_at is None for one in ledger.incidents.values()) <= 1
        firing = [alert for alert in ledger.alerts.values() if alert.status is FIRING]
        assert all(alert.incident_id and ledger.incidents[alert.incident_id].resolved_at is None for alert in firing)


@given(st.integers(1, 40), st.integers(1, 5))
def test_a_storm_is_one_incident_and_one_investigation_for_each_problem(alerts: int, problems: int) -> None:
    ledger = Ledger()
    events = [_event(fingerprint=f"f{number}", labels={"problem": str(number % problems)}) for number in range(alerts)]
    for event in events * 3:
        ledger.take(event)
    assert len(ledger.incidents) == len(ledger.schedules) == min(alerts, problems)
    assert sum(alert.count for alert in ledger.alerts.values()) == 3 * alerts


# ---- one case each -----------------------------------------------------------------------------------------------------------


def test_the_first_alert_opens_an_incident_and_waits_for_its_companions() -> None:
    assert Ledger().take(_event()).action == OpenIncident(Schedule(Severity.WARNING.priority, timedelta(seconds=15)))


def test_a_repeat_counts_and_does_nothing_else() -> None:
    ledger = Ledger().take_all([_event()])
    for investigation in InvestigationState:
        if investigation is not InvestigationState.NONE:
            ledger.proceed(investigation)
            assert ledger.take(_event()).action == CountRepeat("i0")
    assert ledger.alerts["f1"].count == 4


def test_a_new_alert_joins_and_a_running_investigation_is_notified() -> None:
    ledger = Ledger().take_all([_event()])
    assert ledger.take(_event(fingerprint="f2")).action == Continue(Outcome.JOINED, "i0", new=True, note=False)
    ledger.proceed(InvestigationState.RUNNING)
    assert ledger.take(_event(fingerprint="f3")).action == Continue(Outcome.JOINED, "i0", new=True, note=True)


@pytest.mark.parametrize(
    ("policy", "investigation", "cancelled", "reported"),
    [
        (OnResolved.CANCEL_PENDING, InvestigationState.PENDING, True, False),
        (OnResolved.CANCEL_PENDING, InvestigationState.RUNNING, False, True),
        (OnResolved.CANCEL_PENDING, InvestigationState.FINISHED, False, False),
        (OnResolved.NOTE, InvestigationState.PENDING, False, False),
        (OnResolved.NOTE, InvestigationState.RUNNING, False, True),
        (OnResolved.IGNORE, InvestigationState.PENDING, False, False),
        (OnResolved.IGNORE, InvestigationState.RUNNING, False, False),
    ],
)
def test_the_end_of_the_last_alert_ends_the_incident_by_policy(
    policy: OnResolved, investigation: InvestigationState, *, cancelled: bool, reported: bool
) -> None:
    ledger = Ledger(replace(ROUTE, on_resolved=policy)).take_all([_event()])
    ledger.proceed(investigation)
    assert ledger.take(_event(RESOLVED, end=-1)).action == Resolve("i0", True, cancelled, reported)


def test_the_end_of_one_of_two_alerts_cancels_nothing() -> None:
    ledger = Ledger().take_all([_event(), _event(fingerprint="f2")])
    assert ledger.take(_event(RESOLVED, end=-1)).action == Resolve("i0", last=False, cancel_pending=False, note=False)
    assert ledger.take(_event(RESOLVED, end=-1, fingerprint="f2")).action == Resolve("i0", last=True, cancel_pending=True, note=False)


def _outcome(action: Action) -> Outcome | None:
    return action.outcome if isinstance(action, Continue) else None


def _resolved_ledger(investigation: InvestigationState) -> Ledger:
    ledger = Ledger().take_all([_event()])
    ledger.proceed(investigation)
    ledger.take(_event(RESOLVED, end=-1))
    return ledger


def test_what_fires_again_soon_is_the_same_incident_without_another_investigation() -> None:
    ledger = _resolved_ledger(InvestigationState.FINISHED)
    ledger.now = _at(30)
    assert ledger.take(_event(start=29)).action == Continue(Outcome.REOPENED, "i0", new=False, note=False)


def test_what_fires_again_soon_is_investigated_if_it_never_was() -> None:
    ledger = _resolved_ledger(InvestigationState.PENDING)
    assert ledger.cancelled["i0"] == 1
    ledger.now = _at(10)
    assert ledger.take(_event(start=9)).action == Continue(
        Outcome.REOPENED, "i0", new=False, note=False, schedule=Schedule(Severity.WARNING.priority)
    )


def test_what_fires_again_late_is_a_new_incident() -> None:
    ledger = _resolved_ledger(InvestigationState.FINISHED)
    ledger.now = _at(31)
    assert isinstance(ledger.take(_event(start=30)).action, OpenIncident)
    assert ledger.alerts["f1"].incident_id == "i1"


def test_what_keeps_firing_is_looked_at_again_at_intervals_that_double_and_not_for_ever() -> None:
    ledger = Ledger().take_all([_event()])
    hours: list[int] = []
    finished = 0
    ledger.proceed(InvestigationState.FINISHED)
    for hour in range(1, 200):
        ledger.now = NOW + timedelta(hours=hour)
        if _outcome(ledger.take(_event()).action) is Outcome.INVESTIGATED_AGAIN:
            hours.append(hour - finished)
            finished = hour
            ledger.proceed(InvestigationState.FINISHED)
    assert hours == [4, 8, 16]


def test_a_new_member_makes_looking_again_worth_it_again() -> None:
    ledger = Ledger().take_all([_event()])
    ledger.proceed(InvestigationState.FINISHED)
    ledger.incidents["i0"] = replace(ledger.incidents["i0"], reinvestigations=3)
    ledger.now = NOW + timedelta(hours=5)
    assert isinstance(ledger.take(_event()).action, CountRepeat)
    joined = ledger.take(_event(fingerprint="f2")).action
    assert joined == Continue(Outcome.JOINED, "i0", new=True, note=False, schedule=Schedule(Severity.WARNING.priority, repeats=1))


def test_an_alert_that_comes_and_goes_is_not_looked_at_for_ever() -> None:
    ledger = Ledger().take_all([_event(), _event(fingerprint="f2")])
    ledger.proceed(InvestigationState.FINISHED)
    for hour in range(1, 300):
        ledger.now = NOW + timedelta(hours=hour)
        ledger.take(_event(RESOLVED, end=60 * hour - 30, fingerprint="f2"))
        again = ledger.take(_event(start=60 * hour - 10, fingerprint="f2")).action
        assert isinstance(again, Continue)
        assert (again.outcome, again.new) == (Outcome.JOINED, False)
        if again.schedule:
            ledger.proceed(InvestigationState.FINISHED)
    assert [schedule.repeats for _, schedule in ledger.schedules] == [0, 1, 2, 3]


def test_a_new_alert_reopens_what_was_over_a_moment_ago() -> None:
    ledger = _resolved_ledger(InvestigationState.FINISHED)
    ledger.now = _at(5)
    assert ledger.take(_event(start=4, fingerprint="f2")).action == Continue(Outcome.REOPENED, "i0", new=True, note=False)


def test_a_member_that_becomes_worse_raises_the_incident() -> None:
    ledger = Ledger().take_all([_event()])
    ledger.proceed(InvestigationState.RUNNING)
    assert ledger.take(_event(severity=Severity.CRITICAL)).action == Continue(Outcome.ESCALATED, "i0", new=False, note=True)
    assert ledger.incidents["i0"].severity is Severity.CRITICAL
    assert ledger.take(_event(severity=Severity.CRITICAL)).action == CountRepeat("i0")


def test_an_end_without_a_beginning_is_remembered_so_that_the_late_beginning_opens_nothing() -> None:
    ledger = Ledger()
    assert isinstance(ledger.take(_event(RESOLVED, end=-1)).action, Record)
    assert ledger.take(_event()).action == CountRepeat(None)
    assert (ledger.statuses, ledger.incidents) == ({"f1": RESOLVED}, {})


def test_a_sender_without_times_is_read_in_the_order_of_arrival() -> None:
    ledger = Ledger().take_all([_event(start=None), _event(RESOLVED, start=None)])
    assert ledger.statuses == {"f1": RESOLVED}
    assert _outcome(ledger.take(_event(start=None)).action) is Outcome.REOPENED


def test_an_end_that_was_reported_with_a_time_ends_what_was_reported_without() -> None:
    # The sender's clock, or the way, may be behind the arrival of the beginning.
    ledger = Ledger().take_all([_event(start=None), _event(RESOLVED, end=-1)])
    assert ledger.statuses == {"f1": RESOLVED}


def test_an_end_in_the_far_future_does_not_silence_an_alert_for_ever() -> None:
    ledger = Ledger().take_all([_event(), _event(RESOLVED, end=10**6)])
    ledger.now = _at(40)
    assert isinstance(ledger.take(_event(start=35)).action, OpenIncident)


def test_recorded_and_muted_alerts_are_kept_without_an_incident() -> None:
    mute = Mute(starts=_at(-1), ends=_at(10), reason="node upgrade")
    for ledger, why in ((Ledger(replace(ROUTE, action=RouteAction.RECORD)), "route r"), (Ledger(mute=mute), "muted: node upgrade")):
        assert ledger.take(_event()).action == Record(why)
        assert (ledger.statuses, ledger.incidents) == ({"f1": FIRING}, {})


def test_what_still_fires_after_a_mute_opens_its_incident() -> None:
    ledger = Ledger(mute=Mute(starts=_at(-1), ends=_at(10)))
    ledger.take(_event())
    ledger.mute, ledger.now = None, _at(11)
    assert isinstance(ledger.take(_event()).action, OpenIncident)


def test_a_mute_does_not_keep_an_incident_from_ending() -> None:
    ledger = Ledger().take_all([_event()])
    ledger.mute = Mute(starts=_at(-1), ends=_at(10))
    assert ledger.take(_event()).action == CountRepeat("i0")
    assert isinstance(ledger.take(_event(fingerprint="f2")).action, Record)
    assert ledger.take(_event(RESOLVED, end=-1)).action == Resolve("i0", last=True, cancel_pending=True, note=False)


def test_a_dropped_alert_leaves_nothing() -> None:
    ledger = Ledger(replace(ROUTE, action=RouteAction.DROP))
    assert ledger.take(_event()).action == Drop("route r")
    assert ledger.alerts == {}


def test_silence_ends_what_a_sender_would_never_end_and_its_next_report_counts() -> None:
    ledger = Ledger().take_all([_event()])
    known = ledger.alerts["f1"]
    day = timedelta(hours=24)
    assert auto_resolved(known, heard_at=NOW, route=ROUTE, sends_resolved=False, now=NOW + day - timedelta(seconds=1)) is None
    assert auto_resolved(known, heard_at=NOW, route=ROUTE, sends_resolved=True, now=NOW + 9 * day) is None
    ended = auto_resolved(known, heard_at=NOW, route=ROUTE, sends_resolved=False, now=NOW + day)
    assert ended
    assert ended.status is RESOLVED
    route = replace(ROUTE, auto_resolve_after=timedelta(hours=1))
    assert auto_resolved(known, heard_at=NOW, route=route, sends_resolved=True, now=NOW + timedelta(hours=1))
    # The same words as before: it still fires.
    assert decide(_event(), route=ROUTE, incident=None, known=ended, now=NOW + day).alert.status is FIRING


@pytest.mark.parametrize(("source", "says"), [("alertmanager", True), ("splunk", False), ("webhook", False), ("unheard-of", False)])
def test_it_is_known_who_says_when_it_is_over(source: str, *, says: bool) -> None:
    assert sends_resolved(source) is says
