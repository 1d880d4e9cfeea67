"""The decisions about a batch of alerts, applied in memory before one transaction writes what has changed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never
from uuid import uuid4

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import Incident, InvestigationState, KnownAlert, Mute, StoredAlert, alert_key, muted_by
from tarsy.domain.route import OnResolved
from tarsy.domain.status import SessionStatus
from tarsy.intake.answer import Outcome, Result
from tarsy.intake.decision import (
    Continue,
    CountRepeat,
    Drop,
    OpenIncident,
    Record,
    Resolve,
    Schedule,
    decide,
    is_older,
)
from tarsy.intake.policy import Route
from tarsy.intake.updates import AlertUpdate, UpdateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingAlert:
    """An alert with its route: as it was sent, which routes and decisions use, and masked, which is stored."""

    sent: Alert
    masked: Alert
    route: Route
    alert_type: str
    author: str
    runbook_url: str | None = None
    # The text of the runbook, if it had to be fetched before its address was masked.
    runbook: str | None = None
    # The number of alerts that were left out of its delivery.
    truncated: int = 0

    @property
    def key(self) -> str:
        return alert_key(self.sent)

    @property
    def incident_key(self) -> str:
        return self.route.incident_key(self.sent)

    @property
    def earlier(self) -> "IncomingAlert":
        """The alert as it was identified before migration v0026_instance_of_alerts: without the instance of its sender."""
        return replace(self, sent=replace(self.sent, instance=""))


@dataclass(frozen=True, slots=True)
class PlannedInvestigation:
    session_id: str
    schedule: Schedule
    trigger: IncomingAlert


@dataclass(slots=True, kw_only=True)
class UnitOfWork:
    """The incidents and alerts that a batch concerns, and the changes to write.

    The state is loaded under the transaction's locks. `apply` is called for each alert; each decision sees the changes of those before it.
    """

    now: datetime
    mutes: Sequence[Mute]
    # Incidents by id, the id of the latest incident of each key, and alerts by key.
    incidents: dict[str, Incident]
    latest: dict[str, str]
    alerts: dict[str, StoredAlert]
    # Ids of changed incidents, in the order of their first change.
    changed: dict[str, None] = field(default_factory=dict[str, None])
    # Changed rows of alerts, by id.
    rows: dict[str, StoredAlert] = field(default_factory=dict[str, StoredAlert])
    # Rows that are no longer the current ones of their alerts.
    retired: list[str] = field(default_factory=list[str])
    # New investigations, by incident.
    planned: dict[str, PlannedInvestigation] = field(default_factory=dict[str, PlannedInvestigation])
    # Incidents whose stored pending investigations are to be cancelled, as they were before, by id.
    cancelled: dict[str, Incident] = field(default_factory=dict[str, Incident])
    # New priorities of pending investigations, by session.
    priorities: dict[str, int] = field(default_factory=dict[str, int])
    # Updates for running investigations, by incident.
    updates: dict[str, list[AlertUpdate]] = field(default_factory=dict[str, list[AlertUpdate]])
    activity: Counter[tuple[str, AlertStatus]] = field(default_factory=Counter[tuple[str, AlertStatus]])

    def apply(self, incoming: IncomingAlert) -> Result:
        """Decide about one alert and record the changes that follow."""
        # The key that an incident gets, and the one by which a stored incident is found: it may be of before migration v0026.
        key = known_key = incoming.incident_key
        if incoming.sent.instance:
            earlier = incoming.earlier
            if incoming.key not in self.alerts and (known := self.alerts.pop(earlier.key, None)):
                self.alerts[incoming.key] = replace(known, alert=replace(known.alert, instance=incoming.sent.instance))
            known_key = key if key in self.latest else earlier.incident_key
        stored = self.alerts.get(incoming.key)
        incident = self._incident_of(stored, known_key)
        decision = decide(
            incoming.sent,
            route=incoming.route,
            incident=incident,
            known=stored.known if stored else None,
            now=self.now,
            mute=muted_by(incoming.sent, self.mutes, self.now, {key, incident.key} if incident else {key}),
        )
        after = decision.alert
        match decision.action:
            case Drop(reason):
                result = Result(None, Outcome.DROPPED, reason=reason)
            case Record(reason):
                self._update_alert(incoming, after, None, reason)
                result = Result(None, Outcome.RECORDED, reason=reason)
            case CountRepeat(incident_id):
                self._update_alert(incoming, after, incident_id, stored.reason if stored else None)
                result = Result(incident_id, Outcome.REPEATED)
            case OpenIncident(schedule):
                result = Result(self._open(incoming, after, schedule), Outcome.OPENED)
            case Continue():
                self._continue(incoming, after, decision.action)
                result = Result(decision.action.incident_id, decision.action.outcome)
            case Resolve():
                self._resolve(incoming, after, decision.action)
                result = Result(decision.action.incident_id, Outcome.RESOLVED)
            case _:
                assert_never(decision.action)
        return result

    def _incident_of(self, stored: StoredAlert | None, key: str) -> Incident | None:
        """Return the open incident that the alert is part of, else the latest incident of its key."""
        own = self.incidents.get(stored.known.incident_id or "") if stored else None
        if own and own.resolved_at is None:
            return own
        latest = self.incidents.get(self.latest.get(key, ""))
        return self.incidents.get(latest.merged_into, latest) if latest and latest.merged_into else latest

    def _open(self, incoming: IncomingAlert, after: KnownAlert, schedule: Schedule) -> str:
        incident = Incident(
            id=str(uuid4()),
            key=incoming.incident_key,
            route=incoming.route.name,
            title=incoming.masked.title,
            severity=after.severity,
            source=incoming.masked.source,
            alert_type=incoming.alert_type,
            opened_at=self.now,
            heard_at=self.now,
        )
        self.latest[incident.key] = incident.id
        self._change(incident)
        self._update_alert(incoming, after, incident.id)
        self._plan(incident.id, schedule, incoming)
        return incident.id

    def _continue(self, incoming: IncomingAlert, after: KnownAlert, action: Continue) -> None:
        """Keep the incident open, with the worst severity of its alerts."""
        incident_id = action.incident_id
        before = self.incidents[incident_id]
        if action.note or before.investigation is InvestigationState.PENDING or incident_id in self.cancelled:
            rejoins = UpdateKind.JOINED if action.new else UpdateKind.BACK
            kind = UpdateKind.WORSE if action.outcome is Outcome.ESCALATED else rejoins
            self._inform(incident_id, AlertUpdate(kind, incoming.masked, after.severity))
        severity = before.severity.worst(after.severity)
        repeats = 0 if action.new or severity is not before.severity else before.reinvestigations
        self._change(replace(before, resolved_at=None, severity=severity, reinvestigations=repeats))
        self._update_alert(incoming, after, incident_id)
        if action.schedule:
            self._plan(incident_id, action.schedule, incoming)
        # A pending investigation gets the priority of the worst alert.
        incident, priority = self.incidents[incident_id], incoming.route.priority_of(incoming.sent.severity)
        if incident_id in self.planned:
            planned = self.planned[incident_id]
            schedule = replace(planned.schedule, priority=max(planned.schedule.priority, priority))
            self.planned[incident_id] = replace(planned, schedule=schedule)
        elif incident.session_id and incident.investigation is InvestigationState.PENDING:
            self.priorities[incident.session_id] = max(self.priorities.get(incident.session_id, 0), priority)

    def _resolve(self, incoming: IncomingAlert, after: KnownAlert, action: Resolve) -> None:
        incident_id, stored = action.incident_id, self.alerts.get(incoming.key)
        waits = self.incidents[incident_id].may_be_cancelled
        if action.note or (waits and incoming.route.on_resolved is not OnResolved.IGNORE):
            self._inform(incident_id, AlertUpdate(UpdateKind.RESOLVED, stored.alert if stored else incoming.masked, after.severity))
        self._update_alert(incoming, after, incident_id)
        if action.last:
            self._change(replace(self.incidents[incident_id], resolved_at=self.now))
        if action.cancel_pending:
            # A planned investigation is not stored yet: dropping it is enough.
            if incident_id not in self.planned:
                self.cancelled[incident_id] = self.incidents[incident_id]
            self.drop_investigation(incident_id)

    def drop_investigation(self, incident_id: str) -> None:
        """Leave the incident without its pending investigation."""
        self.planned.pop(incident_id, None)
        self._change(self.incidents[incident_id].without_pending())

    def keep_investigation(self, incident_id: str) -> None:
        """Leave the incident with the investigation that was to be cancelled: a worker has claimed it since the decision."""
        self.planned.pop(incident_id, None)
        before = self.cancelled[incident_id]
        self._change(
            replace(
                self.incidents[incident_id],
                session_id=before.session_id,
                session_status=SessionStatus.IN_PROGRESS,
                session_started=True,
                reinvestigations=before.reinvestigations,
            )
        )

    def _plan(self, incident_id: str, schedule: Schedule, trigger: IncomingAlert) -> None:
        planned = self.planned[incident_id] = PlannedInvestigation(str(uuid4()), schedule, trigger)
        self._change(self.incidents[incident_id].with_pending(planned.session_id, reinvestigations=schedule.repeats))

    def _inform(self, incident_id: str, update: AlertUpdate) -> None:
        """Record an update for an investigation that runs, or that may start before the transaction commits."""
        self.updates.setdefault(incident_id, []).append(update)

    def _change(self, incident: Incident) -> None:
        self.incidents[incident.id] = incident
        self.changed[incident.id] = None

    def _update_alert(self, incoming: IncomingAlert, after: KnownAlert, incident_id: str | None, reason: str | None = None) -> None:
        """Record the alert's row, and count the alert in its incident. An alert that changes its incident gets a new row."""
        before = self.alerts.get(incoming.key)
        known, shown = replace(after, incident_id=incident_id), incoming.masked
        if before and is_older(incoming.sent, before.known, self.now):
            shown = before.alert
        elif before and after.status is AlertStatus.RESOLVED:
            # Many senders leave out most fields of a resolved alert: show those that it had when it fired.
            shown = replace(before.alert, status=AlertStatus.RESOLVED, ends_at=shown.ends_at or self.now)
        if before and before.known.incident_id != incident_id:
            self.retired.append(before.id)
            before = None
        if before:
            stored = replace(before, alert=shown, known=known, count=before.count + 1, heard_at=self.now, reason=reason)
        else:
            stored = StoredAlert(id=str(uuid4()), alert=shown, known=known, count=1, first_at=self.now, heard_at=self.now, reason=reason)
        self.alerts[incoming.key] = self.rows[stored.id] = stored
        if incident := self.incidents.get(incident_id or ""):
            was_firing = before is not None and before.known.status is AlertStatus.FIRING
            self.activity[incident.id, incoming.sent.status] += 1
            self._change(
                replace(
                    incident,
                    heard_at=self.now,
                    deliveries=incident.deliveries + 1,
                    truncated=incoming.truncated,
                    alerts=incident.alerts + (before is None),
                    firing=incident.firing + (after.status is AlertStatus.FIRING) - was_firing,
                )
            )
