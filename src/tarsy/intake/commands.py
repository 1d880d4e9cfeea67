"""What a person does to incidents: investigate again, resolve, merge, split. Each is one transaction while no door is open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.errors import ConflictError, NotFoundError, QueueFullError
from tarsy.db.incident.investigations import cancel_looks, lock_waiting, room_in_queue, store_looks
from tarsy.db.incident.rows import member_of
from tarsy.db.incident.state import lock_all, lock_incidents, write_incidents, write_members
from tarsy.db.outbox import publish_for
from tarsy.db.tables import alert_sessions, alerts, incident_activity, incidents
from tarsy.domain import live_events
from tarsy.domain.alert import AlertStatus
from tarsy.domain.incident import Incident, Investigation, Member
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.status import SessionStatus
from tarsy.intake.decision import Look
from tarsy.intake.investigations import Investigations, Request
from tarsy.intake.policy import Policy, Route, route_for
from tarsy.intake.updates import tell_news
from tarsy.kit.clock import Clock, SystemClock

Told = Sequence[tuple[str | None, LiveEvent]]


@dataclass(slots=True)
class IncidentCommands:
    engine: AsyncEngine
    policy: Callable[[], Policy]
    investigations: Investigations
    clock: Clock = field(default_factory=SystemClock)

    async def investigate(self, incident_id: str, *, actor: str) -> str:
        """Have an incident investigated, again if it was before; answers with the session's id.

        Raises:
            NotFoundError: there is no such incident.
            ConflictError: an investigation waits or runs already.
            QueueFullError: too many sessions wait.
        """
        async with self.engine.begin() as connection:
            incident = await self._locked(connection, incident_id)
            if incident.view.investigation in {Investigation.PENDING, Investigation.RUNNING}:
                raise ConflictError(f"Session {incident.session_id} investigates this incident already: wait for it, or cancel it first.")
            limit = self.investigations.max_queue_size
            if not await room_in_queue(connection, limit, 1):
                raise QueueFullError(limit or 0)
            looked, told = await self.look(connection, incident, actor, again=0)
            await self._written(connection, [looked], told, actor, AuditAction.INCIDENT_INVESTIGATED, {"session_id": looked.session_id})
        return looked.session_id or ""

    async def look(self, connection: AsyncConnection, incident: Incident, author: str, *, again: int) -> tuple[Incident, Told]:
        """Store an investigation of a locked incident; answers with the incident as it is to be written, and with what is to be told."""
        members = await _members_of(connection, incident.id, limit=1)
        if not members:
            raise ConflictError("This incident has no alerts left to investigate.")
        alert, now = members[0].alert, self.clock.now()
        route = route_for(alert, self.policy().routes)
        wanted = Request(
            session_id=str(uuid4()),
            look=Look(now, _priority(route, incident), again),
            author=author,
            runbook_url=await self.investigations.runbook_of(alert),
        )
        told = await store_looks(connection, [self.investigations.of(incident, members[0], wanted, {}, now)])
        pending = {"session_id": wanted.session_id, "session_status": SessionStatus.PENDING, "session_started": False}
        return replace(incident, **pending, reinvestigations=again), told

    async def resolve(self, incident_id: str, *, actor: str) -> None:
        """End an incident by a person's word; what waits is cancelled. A sender that says it fires opens it again.

        Raises:
            NotFoundError: there is no such incident.
            ConflictError: it is over already.
        """
        async with self.engine.begin() as connection:
            incident = await self._locked(connection, incident_id)
            if incident.resolved_at is not None:
                raise ConflictError("This incident is over already.")
            over = {"status": AlertStatus.RESOLVED.value, "ends_at": self.clock.now()}
            fires = (alerts.c.incident_id == incident_id) & (alerts.c.status == AlertStatus.FIRING.value)
            await connection.execute(sa.update(alerts).where(fires).values(over))
            ended = await self._without_look(connection, replace(incident, resolved_at=self.clock.now(), firing=0), actor)
            told = await self._told_if_running(connection, ended, f"{actor} has declared the incident over.")
            await self._written(connection, [ended], told, actor, AuditAction.INCIDENT_RESOLVED, {})

    async def merge(self, incident_id: str, other_id: str, *, actor: str) -> None:
        """Make `other_id` part of `incident_id`, with its alerts and whatever is said of them from now on.

        Raises:
            NotFoundError: one of them is not there.
            ConflictError: they are one already.
        """
        if incident_id == other_id:
            raise ConflictError("An incident cannot be merged with itself.")
        async with self.engine.begin() as connection:
            target, other = await self._locked(connection, incident_id), await self._locked(connection, other_id)
            await connection.execute(sa.update(alerts).where(alerts.c.incident_id == other_id).values(incident_id=incident_id))
            await _move_activity(connection, other_id, incident_id)
            followers = sa.update(incidents).where(incidents.c.merged_into == other_id)
            await connection.execute(followers.values(merged_into=incident_id))
            looks = sa.update(alert_sessions).where(alert_sessions.c.incident_id == other_id)
            await connection.execute(looks.values(incident_id=incident_id))
            emptied, joined = _emptied(other, target, self.clock), _joined(target, other)
            if joined.session_id != other.session_id:
                emptied = await self._without_look(connection, emptied, actor)
            told = await self._told_if_running(
                connection,
                joined,
                f"{actor} has found another incident to be part of this one, with {other.firing} of its alerts firing: {other.title}",
            )
            await self._written(connection, [emptied, joined], told, actor, AuditAction.INCIDENTS_MERGED, {"merged": other_id})

    async def split(self, incident_id: str, alert_ids: Sequence[str], *, actor: str) -> str:
        """Make an incident of its own of some alerts; answers with its id.

        Raises:
            NotFoundError: there is no such incident, or one of the alerts is not part of it.
            ConflictError: no alert would be left.
        """
        wanted = set(alert_ids)
        async with self.engine.begin() as connection:
            incident = await self._locked(connection, incident_id)
            members = [member for member in await _members_of(connection, incident_id) if member.id in wanted]
            for missing in sorted(wanted - {member.id for member in members}):
                raise NotFoundError("alert in this incident", missing)
            if len(members) >= incident.alerts:
                raise ConflictError("These are all alerts of the incident: there would be nothing left of it.")
            new = self._split_off(incident, members)
            await write_incidents(connection, [new])
            moved = [replace(member, known=replace(member.known, incident_id=new.id)) for member in members]
            await write_members(connection, moved, frozenset())
            rest = _without(incident, new, self.clock)
            if rest.resolved_at is not None and incident.resolved_at is None:
                rest = await self._without_look(connection, rest, actor)
            await self._written(connection, [new, rest], (), actor, AuditAction.INCIDENT_SPLIT, {"split_off": new.id})
        return new.id

    def _split_off(self, incident: Incident, members: Sequence[Member]) -> Incident:
        new_id, worst = str(uuid4()), max(members, key=lambda member: member.known.severity.priority)
        firing = sum(member.known.status is AlertStatus.FIRING for member in members)
        return replace(
            incident,
            id=new_id,
            # No alert has this key: what is said of its own alerts finds it, and nothing new joins it.
            key=f"split:{new_id}",
            title=worst.alert.title,
            severity=worst.known.severity,
            resolved_at=None if firing else self.clock.now(),
            firing=firing,
            alerts=len(members),
            deliveries=sum(member.count for member in members),
            reinvestigations=0,
            session_id=None,
            session_status=None,
            finished_at=None,
        )

    async def _locked(self, connection: AsyncConnection, incident_id: str) -> Incident:
        await lock_all(connection)
        incident = (await lock_incidents(connection, [incident_id])).get(incident_id)
        if incident is None:
            raise NotFoundError("incident", incident_id)
        if incident.merged_into:
            raise ConflictError(f"This incident is part of incident {incident.merged_into}.")
        return incident

    async def _without_look(self, connection: AsyncConnection, incident: Incident, actor: str) -> Incident:
        """The incident with its investigation cancelled, if that has not begun."""
        waiting = await lock_waiting(connection, [incident.session_id] if incident.session_id else [])
        if not waiting or not incident.view.may_be_cancelled:
            return incident
        await cancel_looks(connection, sorted(waiting), reason=f"Cancelled with its incident by {actor}.")
        return replace(incident, session_id=None, session_status=None)

    async def _told_if_running(self, connection: AsyncConnection, incident: Incident, text: str) -> Told:
        """Tell those who investigate what a person has done to the incident."""
        if incident.view.investigation is not Investigation.RUNNING:
            return ()
        return await tell_news(connection, [(incident, text)], self.clock.now())

    async def _written(
        self,
        connection: AsyncConnection,
        changed: Sequence[Incident],
        told: Told,
        actor: str,
        action: AuditAction,
        details: dict[str, object],
    ) -> None:
        await write_incidents(connection, changed)
        await note(connection, actor=actor, action=action, details={"incident_id": changed[-1].id, **details})
        news = [(None, live_events.incident_changed(incident, self.clock.now())) for incident in changed]
        await publish_for(connection, [*told, *news])


async def _members_of(connection: AsyncConnection, incident_id: str, *, limit: int | None = None) -> list[Member]:
    """The alerts of an incident; those that fire first."""
    query = sa.select(alerts).where(alerts.c.incident_id == incident_id).order_by(alerts.c.status, alerts.c.first_at, alerts.c.id)
    return [member_of(row) for row in (await connection.execute(query.limit(limit))).mappings()]


async def _move_activity(connection: AsyncConnection, source: str, target: str) -> None:
    await connection.execute(_MOVE_ACTIVITY, {"source": source, "target": target})
    await connection.execute(sa.delete(incident_activity).where(incident_activity.c.incident_id == source))


_MOVE_ACTIVITY = sa.text(
    """
    INSERT INTO incident_activity AS a (incident_id, minute, firing, resolved)
    SELECT CAST(:target AS uuid), minute, firing, resolved FROM incident_activity WHERE incident_id = CAST(:source AS uuid)
    ON CONFLICT (incident_id, minute) DO UPDATE SET firing = a.firing + excluded.firing, resolved = a.resolved + excluded.resolved
    """
)


def _priority(route: Route, incident: Incident) -> int:
    return incident.severity.priority if route.priority is None else route.priority


def _emptied(other: Incident, target: Incident, clock: Clock) -> Incident:
    return replace(other, merged_into=target.id, resolved_at=other.resolved_at or clock.now(), firing=0)


def _joined(target: Incident, other: Incident) -> Incident:
    is_open = target.resolved_at is None or other.resolved_at is None
    # What has no investigation of its own takes over the other's.
    looked_at = target if target.session_id else other
    return replace(
        target,
        session_id=looked_at.session_id,
        session_status=looked_at.session_status,
        session_started=looked_at.session_started,
        finished_at=looked_at.finished_at,
        severity=target.severity.worst(other.severity),
        opened_at=min(target.opened_at, other.opened_at),
        heard_at=max(target.heard_at, other.heard_at),
        resolved_at=None if is_open else max(target.resolved_at or other.opened_at, other.resolved_at or target.opened_at),
        firing=target.firing + other.firing,
        alerts=target.alerts + other.alerts,
        deliveries=target.deliveries + other.deliveries,
        reinvestigations=0,
    )


def _without(incident: Incident, new: Incident, clock: Clock) -> Incident:
    firing = incident.firing - new.firing
    return replace(
        incident,
        firing=firing,
        alerts=incident.alerts - new.alerts,
        deliveries=incident.deliveries - new.deliveries,
        resolved_at=incident.resolved_at if firing or incident.resolved_at else clock.now(),
    )
