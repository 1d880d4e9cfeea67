"""What a person does to incidents: investigate again, resolve, merge, split. Each is one transaction while no alert is being stored."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, add_audit_entry, request_origin
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.incident.investigations import cancel_investigations, lock_waiting
from tarsy.db.incident.rows import stored_alert_of
from tarsy.db.incident.state import lock_all, lock_incidents, write_incidents
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.session.admission import Admission, NewInvestigation, store_investigations
from tarsy.db.tables import alert_sessions, alerts, incident_activity, incidents
from tarsy.domain import live_events
from tarsy.domain.alert import AlertStatus
from tarsy.domain.incident import Incident, InvestigationState, StoredAlert
from tarsy.domain.live_events import LiveEvent
from tarsy.intake.decision import Schedule
from tarsy.intake.investigations import Investigations
from tarsy.intake.policy import Policy, route_for
from tarsy.intake.updates import store_updates
from tarsy.kit.clock import Clock

# Live events, each with the session whose subscribers receive it.
Events = Sequence[tuple[str | None, LiveEvent]]

_MOVE_ACTIVITY = sa.text(
    """
    INSERT INTO incident_activity AS a (incident_id, minute, firing, resolved)
    SELECT CAST(:target AS uuid), minute, firing, resolved FROM incident_activity WHERE incident_id = CAST(:source AS uuid)
    ON CONFLICT (incident_id, minute) DO UPDATE SET firing = a.firing + excluded.firing, resolved = a.resolved + excluded.resolved
    """
)


@dataclass(slots=True)
class IncidentCommands:
    publisher: Publisher
    policy: Policy
    investigations: Investigations
    admission: Admission
    clock: Clock

    async def investigate(self, incident_id: str, *, actor: str) -> str:
        """Start an investigation of an incident, and return the session's id.

        Raises:
            NotFoundError: there is no such incident.
            ConflictError: an investigation waits or runs already, the incident was merged into another, or it has no alerts left.
            QueueFullError: too many sessions wait.
        """
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            incident = await self._locked(connection, incident_id)
            if incident.investigation in {InvestigationState.PENDING, InvestigationState.RUNNING}:
                raise ConflictError(
                    f"Session {incident.session_id} is already investigating this incident: wait for it, or cancel it first."
                )
            await self.admission.require_room(connection)
            members = await _members_of(connection, incident.id, limit=1)
            if not members:
                raise ConflictError("This incident has no alerts left to investigate.")
            schedule = Schedule(route_for(members[0].alert, self.policy.routes).priority_of(incident.severity))
            changed, new = self.with_investigation(incident, members[0], schedule, actor, by_person=True)
            events = await store_investigations(connection, [new])
            await self._write_and_publish(
                transaction, [changed], events, actor, AuditAction.INCIDENT_INVESTIGATED, {"session_id": new.session.id}
            )
        self.admission.report_submitted([new])
        return new.session.id

    def with_investigation(
        self, incident: Incident, trigger: StoredAlert, schedule: Schedule, author: str, *, by_person: bool = False
    ) -> tuple[Incident, NewInvestigation]:
        """Return the incident with a new investigation because of the alert `trigger`, and the investigation. The caller stores both."""
        session = self.investigations.session(
            incident,
            trigger,
            self.clock.now(),
            session_id=str(uuid4()),
            author=author,
            runbook_url=self.investigations.runbook_of(trigger.alert),
            by_person=by_person,
        )
        changed = incident.with_pending(session.id, reinvestigations=schedule.repeats)
        return changed, NewInvestigation(session, schedule.priority, origin=request_origin.get())

    async def resolve(self, incident_id: str, *, actor: str) -> None:
        """Resolve an incident and its alerts, and cancel its investigation if that has not started. An alert that fires again reopens it.

        Raises:
            NotFoundError: there is no such incident.
            ConflictError: it is over already, or was merged into another.
        """
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            incident = await self._locked(connection, incident_id)
            if incident.resolved_at is not None:
                raise ConflictError("This incident is already resolved.")
            resolved = {"status": AlertStatus.RESOLVED.value, "ends_at": self.clock.now()}
            firing = (alerts.c.incident_id == incident_id) & (alerts.c.status == AlertStatus.FIRING.value)
            await connection.execute(sa.update(alerts).where(firing).values(resolved))
            changed, to_cancel = await self._without_pending(connection, replace(incident, resolved_at=self.clock.now(), firing=0))
            events = await self._inform_running(connection, changed, f"{actor} has declared the incident over.")
            await self._write_and_publish(transaction, [changed], events, actor, AuditAction.INCIDENT_RESOLVED, {}, to_cancel=to_cancel)

    async def merge(self, incident_id: str, other_id: str, *, actor: str) -> None:
        """Make the incident `other_id` part of `incident_id`: its alerts, its sessions, and later events of its alerts.

        Raises:
            NotFoundError: one of them does not exist.
            ConflictError: they are one already, or one of them was merged into another.
        """
        if incident_id == other_id:
            raise ConflictError("An incident cannot be merged with itself.")
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            target, other = await self._locked(connection, incident_id), await self._locked(connection, other_id)
            await connection.execute(sa.update(alerts).where(alerts.c.incident_id == other_id).values(incident_id=incident_id))
            await connection.execute(_MOVE_ACTIVITY, {"source": other_id, "target": incident_id})
            await connection.execute(sa.delete(incident_activity).where(incident_activity.c.incident_id == other_id))
            for column in (incidents.c.merged_into, alert_sessions.c.incident_id):
                await connection.execute(sa.update(column.table).where(column == other_id).values({column.name: incident_id}))
            emptied = replace(other, merged_into=target.id, resolved_at=other.resolved_at or self.clock.now(), firing=0)
            merged, to_cancel = _merged(target, other), set[str]()
            if merged.session_id != other.session_id:
                emptied, to_cancel = await self._without_pending(connection, emptied)
            events = await self._inform_running(
                connection,
                merged,
                f"{actor} has found another incident to be part of this one, with {other.firing} of its alerts firing: {other.title}",
            )
            await self._write_and_publish(
                transaction, [emptied, merged], events, actor, AuditAction.INCIDENTS_MERGED, {"merged": other_id}, to_cancel=to_cancel
            )

    async def split(self, incident_id: str, alert_ids: Sequence[str], *, actor: str) -> str:
        """Move some alerts to a new incident, and return its id.

        Raises:
            NotFoundError: there is no such incident, or one of the alerts is not part of it.
            ConflictError: no alert would be left, or the incident was merged into another.
        """
        wanted, now = set(alert_ids), self.clock.now()
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            incident = await self._locked(connection, incident_id)
            members = [member for member in await _members_of(connection, incident_id) if member.id in wanted]
            for missing in sorted(wanted - {member.id for member in members}):
                raise NotFoundError("alert in this incident", missing)
            if len(members) >= incident.alerts:
                raise ConflictError("These are all alerts of the incident: leave at least one in it.")
            new_id, worst = str(uuid4()), max(members, key=lambda member: member.known.severity.priority)
            firing = sum(member.known.status is AlertStatus.FIRING for member in members)
            new = replace(
                incident,
                id=new_id,
                # No alert has this key: later events of the moved alerts find the incident, and no new alert joins it.
                key=f"split:{new_id}",
                title=worst.alert.title,
                severity=worst.known.severity,
                resolved_at=None if firing else now,
                firing=firing,
                alerts=len(members),
                deliveries=sum(member.count for member in members),
                reinvestigations=0,
                session_id=None,
                session_status=None,
                finished_at=None,
            )
            await write_incidents(connection, [new])
            await connection.execute(sa.update(alerts).where(alerts.c.id.in_(wanted)).values(incident_id=new_id))
            rest = replace(
                incident,
                firing=incident.firing - firing,
                alerts=incident.alerts - new.alerts,
                deliveries=incident.deliveries - new.deliveries,
                resolved_at=incident.resolved_at if incident.firing > firing or incident.resolved_at else now,
            )
            to_cancel = set[str]()
            if rest.resolved_at is not None and incident.resolved_at is None:
                rest, to_cancel = await self._without_pending(connection, rest)
            await self._write_and_publish(
                transaction, [new, rest], (), actor, AuditAction.INCIDENT_SPLIT, {"split_off": new.id}, to_cancel=to_cancel
            )
        return new.id

    async def _locked(self, connection: AsyncConnection, incident_id: str) -> Incident:
        await lock_all(connection)
        incident = (await lock_incidents(connection, [incident_id])).get(incident_id)
        if incident is None:
            raise NotFoundError("incident", incident_id)
        if incident.merged_into:
            raise ConflictError(f"This incident is part of incident {incident.merged_into}.")
        return incident

    async def _without_pending(self, connection: AsyncConnection, incident: Incident) -> tuple[Incident, set[str]]:
        """Lock the incident's investigation. If it has not started, return the incident without it, and its session, which the caller cancels."""
        waiting = await lock_waiting(connection, [incident.session_id] if incident.session_id else [])
        if not waiting or not incident.may_be_cancelled:
            return incident, set()
        return incident.without_pending(), waiting

    async def _inform_running(self, connection: AsyncConnection, incident: Incident, text: str) -> Events:
        """Store a note for the incident's investigation if it runs, and return the events to publish."""
        if incident.investigation is not InvestigationState.RUNNING:
            return ()
        return await store_updates(connection, [(incident, text)], self.clock.now())

    async def _write_and_publish(
        self,
        transaction: Transaction,
        changed: Sequence[Incident],
        events: Events,
        actor: str,
        action: AuditAction,
        details: dict[str, object],
        *,
        to_cancel: Collection[str] = (),
    ) -> None:
        await write_incidents(transaction.connection, changed)
        await add_audit_entry(transaction.connection, actor=actor, action=action, details={"incident_id": changed[-1].id, **details})
        await transaction.publish_for(events)
        # After the notes, because it locks the shared channel of events: a worker locks the channel of its session, which a note is published
        # to, before the shared one.
        await cancel_investigations(transaction, sorted(to_cancel), reason=f"Cancelled with its incident by {actor}.")
        await transaction.publish_for([(None, live_events.incident_changed(incident, self.clock.now())) for incident in changed])


async def _members_of(connection: AsyncConnection, incident_id: str, *, limit: int | None = None) -> list[StoredAlert]:
    """Return the alerts of an incident, firing ones first."""
    query = sa.select(alerts).where(alerts.c.incident_id == incident_id).order_by(alerts.c.status, alerts.c.first_at, alerts.c.id)
    return [stored_alert_of(row) for row in (await connection.execute(query.limit(limit))).mappings()]


def _merged(target: Incident, other: Incident) -> Incident:
    is_open = target.resolved_at is None or other.resolved_at is None
    # An incident without an investigation takes over the other's.
    investigated = target if target.session_id else other
    return replace(
        target,
        session_id=investigated.session_id,
        session_status=investigated.session_status,
        session_started=investigated.session_started,
        finished_at=investigated.finished_at,
        severity=target.severity.worst(other.severity),
        opened_at=min(target.opened_at, other.opened_at),
        heard_at=max(target.heard_at, other.heard_at),
        resolved_at=None if is_open else max(target.resolved_at or other.opened_at, other.resolved_at or target.opened_at),
        firing=target.firing + other.firing,
        alerts=target.alerts + other.alerts,
        deliveries=target.deliveries + other.deliveries,
        reinvestigations=0,
    )
