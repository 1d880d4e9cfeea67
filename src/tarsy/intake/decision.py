"""Pure module: what follows from an alert that comes in, given its route, what is known of it, and its incident. One function decides; applying is the door's."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.incident import IncidentView, Investigation, KnownAlert, Mute
from tarsy.domain.route import AUTO_RESOLVE_AFTER, MAX_REINVESTIGATIONS, OnResolved, RouteAction
from tarsy.intake.policy import Route


@dataclass(frozen=True, slots=True)
class Look:
    """An investigation to be started, not before `at`. `again` counts those that repeat an earlier one without anything new."""

    at: datetime
    priority: int
    again: int = 0


@dataclass(frozen=True, slots=True)
class Drop:
    reason: str


@dataclass(frozen=True, slots=True)
class Record:
    """Keep the alert, without an incident."""

    reason: str


@dataclass(frozen=True, slots=True)
class CountRepeat:
    """Nothing new, but that it was said again; or older than what is known."""

    incident_id: str | None


@dataclass(frozen=True, slots=True)
class OpenIncident:
    look: Look


@dataclass(frozen=True, slots=True)
class Join:
    """The alert becomes part of an open incident (`new`), or fires again within it. `note`: a running investigation is told."""

    incident_id: str
    new: bool
    note: bool
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Reopen:
    """The incident was over, and is not: for one of its alerts, or for a `new` one."""

    incident_id: str
    new: bool
    note: bool
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Escalate:
    """A member has become worse: `severity` is the incident's from now on."""

    incident_id: str
    severity: Severity
    note: bool
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class InvestigateAgain:
    """It still fires, and the last investigation is long ago."""

    incident_id: str
    look: Look


@dataclass(frozen=True, slots=True)
class Resolve:
    """The alert is over; `last`: and with it the incident."""

    incident_id: str
    last: bool
    cancel_pending: bool
    note: bool


Action = Drop | Record | CountRepeat | OpenIncident | Join | Reopen | Escalate | InvestigateAgain | Resolve


@dataclass(frozen=True, slots=True)
class Decision:
    """Applied in one transaction. Where an alert joins, reopens or escalates an incident, the worse of their severities counts, also for what waits.

    New members and a worse severity begin the count of further investigations anew.
    """

    # As it is known from now on. The incident that it belongs to is the action's.
    alert: KnownAlert
    action: Action


def decide(
    event: Alert, *, route: Route, incident: IncidentView | None, known: KnownAlert | None, now: datetime, mute: Mute | None = None
) -> Decision:
    """What follows from `event`. Equal events in any order leave an alert in the same status, as long as they say of which time they speak."""
    after = hear(event, known, now)
    return Decision(after, _action(event, after, _Case(route, incident, known, now, mute)))


def hear(event: Alert, known: KnownAlert | None, now: datetime) -> KnownAlert:
    """What is known after `event`: an older one counts, and changes nothing else."""
    fresh = KnownAlert(status=event.status, reported=event.status, reported_at=spoken_of(event, now), count=1, severity=event.severity)
    if known is None:
        return fresh
    if is_older(event, known, now):
        return replace(known, count=known.count + 1)
    # Senders often leave the severity out when it is over.
    severity = event.severity if event.status is AlertStatus.FIRING else known.severity
    return replace(fresh, count=known.count + 1, severity=severity, incident_id=known.incident_id)


def spoken_of(event: Alert, now: datetime) -> datetime | None:
    """The time of which an event speaks: when it began, or when it was over. Never a time to come, which would outlast everything said after it."""
    at = event.starts_at if event.status is AlertStatus.FIRING else event.ends_at
    return min(at, now) if at else None


def is_older(event: Alert, known: KnownAlert, now: datetime) -> bool:
    """Whether `event` speaks of a time before the one that the sender spoke of last."""
    at = spoken_of(event, now)
    # Without times, the order of arrival is all there is.
    if at is None or known.reported_at is None:
        return False
    # At one moment, the end comes after the beginning.
    return (at, event.status is AlertStatus.RESOLVED) < (known.reported_at, known.reported is AlertStatus.RESOLVED)


@dataclass(frozen=True, slots=True)
class _Case:
    """What a decision looks at besides the event."""

    route: Route
    incident: IncidentView | None
    known: KnownAlert | None
    now: datetime
    mute: Mute | None

    @property
    def open(self) -> IncidentView | None:
        return self.incident if self.incident and self.incident.resolved_at is None else None

    @property
    def is_member(self) -> bool:
        return self.known is not None and self.incident is not None and self.known.incident_id == self.incident.id

    @property
    def was_firing(self) -> bool:
        return self.known is not None and self.known.status is AlertStatus.FIRING


def _action(event: Alert, after: KnownAlert, case: _Case) -> Action:
    if case.route.action is RouteAction.DROP:
        return Drop(f"route {case.route.name}")
    if case.known and is_older(event, case.known, case.now):
        return CountRepeat(case.known.incident_id)
    if event.status is AlertStatus.RESOLVED:
        return _over(case)
    if quiet := _quiet(case):
        return CountRepeat(case.incident.id) if case.incident and case.open and case.is_member else Record(quiet)
    return _fires(event, after, case)


def _quiet(case: _Case) -> str | None:
    """Why the alert is only recorded."""
    if case.route.action is RouteAction.RECORD:
        return f"route {case.route.name}"
    return f"muted: {case.mute.reason}" if case.mute else None


def _over(case: _Case) -> Action:
    if case.open and case.is_member and case.was_firing:
        return resolution(case.route, case.open)
    return CountRepeat(case.known.incident_id) if case.known else Record("over before it was known to fire")


def resolution(route: Route, incident: IncidentView) -> Resolve:
    """What the end of one firing member means for an open incident."""
    last = incident.firing <= 1
    told = incident.investigation is Investigation.RUNNING
    match route.on_resolved:
        case OnResolved.CANCEL_PENDING:
            cancelled = last and incident.may_be_cancelled
            return Resolve(incident.id, last, cancelled, told and not cancelled)
        case OnResolved.NOTE:
            return Resolve(incident.id, last, cancel_pending=False, note=told)
        case OnResolved.IGNORE:
            return Resolve(incident.id, last, cancel_pending=False, note=False)
        case _:
            assert_never(route.on_resolved)


def _fires(event: Alert, after: KnownAlert, case: _Case) -> Action:
    incident, now = case.incident, case.now
    priority = case.route.priority_of(event)
    if incident is None or (incident.resolved_at is not None and now - incident.resolved_at > case.route.reopen_after):
        return OpenIncident(Look(now + case.route.wait_for(event), priority))
    told, new = incident.investigation is Investigation.RUNNING, not case.is_member
    worse = after.severity.priority > incident.severity.priority
    # With a new member, or worse than before, looking again is worth it again. An alert that comes and goes is nothing new.
    look = due_look(case.route, replace(incident, reinvestigations=0) if new or worse else incident, priority, now)
    if incident.resolved_at is not None:
        return Reopen(incident.id, new, told, look)
    if new or not case.was_firing:
        return Join(incident.id, new, told, look)
    if worse:
        return Escalate(incident.id, after.severity, told, look)
    return InvestigateAgain(incident.id, look) if look else CountRepeat(incident.id)


def due_look(route: Route, incident: IncidentView, priority: int, now: datetime) -> Look | None:
    """The investigation that an incident which fires should have now, if any: at first, and then at intervals that double."""
    if incident.investigation is Investigation.NONE:
        return Look(now, priority)
    if (
        incident.investigation is not Investigation.FINISHED
        or incident.finished_at is None
        or incident.reinvestigations >= MAX_REINVESTIGATIONS
    ):
        return None
    due = incident.finished_at + route.repeat_interval * 2**incident.reinvestigations
    return Look(now, priority, incident.reinvestigations + 1) if due <= now else None


def ended_by_silence(known: KnownAlert, *, heard_at: datetime, route: Route, says_resolved: bool, now: datetime) -> KnownAlert | None:
    """The alert as it is known once its sender has been silent for too long; None while it still counts as firing.

    A sender that says when something is over is believed, unless the route sets a time for it as well. What the sender
    said stays known: when it speaks again, it is heard.
    """
    limit: timedelta | None = route.auto_resolve_after or (None if says_resolved else AUTO_RESOLVE_AFTER)
    if known.status is AlertStatus.RESOLVED or limit is None or now - heard_at < limit:
        return None
    return replace(known, status=AlertStatus.RESOLVED)
