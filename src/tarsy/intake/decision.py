"""Decides what follows from an alert, by its route, its stored state, its incident and the time; `UnitOfWork` applies the decisions."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, assert_never

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import Incident, InvestigationState, KnownAlert, Mute
from tarsy.domain.route import AUTO_RESOLVE_AFTER, MAX_REINVESTIGATIONS, OnResolved, RouteAction
from tarsy.intake.adapters.registry import repeats_firing
from tarsy.intake.answer import Outcome
from tarsy.intake.policy import Route

# Longer than notifications overtake each other; Alertmanager repeats a group after five minutes at the earliest.
MAX_DELAY = timedelta(minutes=5)
# Begins the reason of an alert that is recorded because of a mute.
MUTED = "muted: "


@dataclass(frozen=True, slots=True)
class Schedule:
    """An investigation to start after the `delay`, or at once. `repeats`: how many there were since the incident last changed, 0 for the first."""

    priority: int
    delay: timedelta | None = None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Drop:
    reason: str


@dataclass(frozen=True, slots=True)
class Record:
    """Store the alert without an incident."""

    reason: str


@dataclass(frozen=True, slots=True)
class CountRepeat:
    """Only count the event: it repeats what is known, or is older."""

    incident_id: str | None


@dataclass(frozen=True, slots=True)
class OpenIncident:
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class Continue:
    """The incident fires, and keeps or gets the alert. `new`: the alert was no part of it; `note`: inform the running investigation."""

    outcome: Literal[Outcome.JOINED, Outcome.REOPENED, Outcome.ESCALATED, Outcome.INVESTIGATED_AGAIN]
    incident_id: str
    new: bool
    note: bool
    schedule: Schedule | None = None


@dataclass(frozen=True, slots=True)
class Resolve:
    """The alert is resolved; `last`: and with it the incident."""

    incident_id: str
    last: bool
    cancel_pending: bool
    note: bool


Action = Drop | Record | CountRepeat | OpenIncident | Continue | Resolve


@dataclass(frozen=True, slots=True)
class Decision:
    """The alert's new state, and what to do about it.

    An alert that continues an incident raises the incident's severity, and the priority of its pending investigation, to its own if that is
    worse. New alerts and a worse severity reset the count of repeated investigations.
    """

    # The alert's state after the event. The incident it belongs to is the action's.
    alert: KnownAlert
    action: Action


def decide(
    event: Alert, *, route: Route, incident: Incident | None, known: KnownAlert | None, now: datetime, mute: Mute | None = None
) -> Decision:
    """Decide what follows from `event`. If events carry times, their order of arrival does not change the resulting status."""
    after = updated(event, known, now)
    is_open = incident is not None and incident.resolved_at is None
    is_member = known is not None and incident is not None and known.incident_id == incident.id
    was_firing = known is not None and known.status is AlertStatus.FIRING
    action: Action
    if route.action is RouteAction.DROP:
        action = Drop(f"route {route.name}")
    elif known and is_older(event, known, now):
        action = CountRepeat(known.incident_id)
    elif event.status is AlertStatus.RESOLVED:
        if incident and is_open and is_member and was_firing:
            action = resolution(route, incident)
        else:
            action = CountRepeat(known.incident_id) if known else Record("over before it was known to fire")
    elif route.action is RouteAction.RECORD or mute:
        reason = f"{MUTED}{mute.reason}" if mute and route.action is not RouteAction.RECORD else f"route {route.name}"
        action = CountRepeat(incident.id) if incident and is_open and is_member else Record(reason)
    else:
        action = _firing(event, after, route, incident, now, is_member=is_member, was_firing=was_firing)
    return Decision(after, action)


def updated(event: Alert, known: KnownAlert | None, now: datetime) -> KnownAlert:
    """Return the alert's state after `event`. An event older than the known state is only counted."""
    fresh = KnownAlert(status=event.status, reported=event.status, reported_at=event_time(event, now), count=1, severity=event.severity)
    if known is None:
        return fresh
    if is_older(event, known, now):
        return replace(known, count=known.count + 1)
    # Many senders leave out the severity of a resolved alert.
    severity = event.severity if event.status is AlertStatus.FIRING else known.severity
    return replace(fresh, count=known.count + 1, severity=severity, incident_id=known.incident_id)


def event_time(event: Alert, now: datetime) -> datetime | None:
    """Return when the event occurred, or the alert began or ended, at most `now`: a future time would make all later events older than it."""
    at = event.occurred_at or (event.starts_at if event.status is AlertStatus.FIRING else event.ends_at)
    return min(at, now) if at else None


def is_older(event: Alert, known: KnownAlert, now: datetime) -> bool:
    """Return whether `event` is about an earlier time than the sender's last event, and only arrives late."""
    at = event_time(event, now)
    # Without times, events count in the order of their arrival.
    if at is None or known.reported_at is None:
        return False
    # At the same time, firing comes before resolved.
    older = (at, event.status is AlertStatus.RESOLVED) < (known.reported_at, known.reported is AlertStatus.RESOLVED)
    # A sender that repeats what fires, long after the end, shows that the alert did not end, whoever reported it.
    goes_on = event.status is AlertStatus.FIRING and repeats_firing(event.source) and now - known.reported_at > MAX_DELAY
    return older and not goes_on


def resolution(route: Route, incident: Incident) -> Resolve:
    """Decide what follows for an open incident when one of its firing alerts is resolved."""
    last = incident.firing <= 1
    running = incident.investigation is InvestigationState.RUNNING
    match route.on_resolved:
        case OnResolved.CANCEL_PENDING:
            cancel = last and incident.may_be_cancelled
            return Resolve(incident.id, last, cancel, running and not cancel)
        case OnResolved.NOTE:
            return Resolve(incident.id, last, cancel_pending=False, note=running)
        case OnResolved.IGNORE:
            return Resolve(incident.id, last, cancel_pending=False, note=False)
        case _:
            assert_never(route.on_resolved)


def _firing(
    event: Alert, after: KnownAlert, route: Route, incident: Incident | None, now: datetime, *, is_member: bool, was_firing: bool
) -> Action:
    priority = route.priority_of(event.severity)
    if incident is None or (incident.resolved_at is not None and now - incident.resolved_at > route.reopen_after):
        return OpenIncident(Schedule(priority, route.wait_for(event) or None))
    running, new = incident.investigation is InvestigationState.RUNNING, not is_member
    worse = after.severity.priority > incident.severity.priority
    # A new member or a worse severity is worth further investigations. An alert that comes and goes is not.
    due = due_investigation(route, replace(incident, reinvestigations=0) if new or worse else incident, priority, now)
    if incident.resolved_at is not None:
        return Continue(Outcome.REOPENED, incident.id, new, running, due)
    if new or not was_firing:
        return Continue(Outcome.JOINED, incident.id, new, running, due)
    if worse:
        return Continue(Outcome.ESCALATED, incident.id, new, running, due)
    if due:
        return Continue(Outcome.INVESTIGATED_AGAIN, incident.id, new, running, due)
    return CountRepeat(incident.id)


def due_investigation(route: Route, incident: Incident, priority: int, now: datetime) -> Schedule | None:
    """Return the investigation that a firing incident needs now, or None: the first one, then repeats at intervals that double."""
    if incident.investigation is InvestigationState.NONE:
        return Schedule(priority)
    if (
        incident.investigation is not InvestigationState.FINISHED
        or incident.finished_at is None
        or incident.reinvestigations >= MAX_REINVESTIGATIONS
    ):
        return None
    due = incident.finished_at + route.repeat_interval * 2**incident.reinvestigations
    return Schedule(priority, repeats=incident.reinvestigations + 1) if due <= now else None


def auto_resolved(known: KnownAlert, *, heard_at: datetime, route: Route, sends_resolved: bool, now: datetime) -> KnownAlert | None:
    """Return the alert as resolved if its sender has sent nothing for too long, else None.

    A sender that reports resolved alerts has no time limit, unless the route sets one. The sender's last event stays known: a later
    event of the sender counts as usual.
    """
    limit: timedelta | None = route.auto_resolve_after or (None if sends_resolved else AUTO_RESOLVE_AFTER)
    if known.status is AlertStatus.RESOLVED or limit is None or now - heard_at < limit:
        return None
    return replace(known, status=AlertStatus.RESOLVED)
