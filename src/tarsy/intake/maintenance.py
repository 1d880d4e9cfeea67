"""What the passing of time does to incidents: alerts that were long silent are over, and what still fires is looked at again.

Every process tries now and then; whichever comes first does it.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import anyio
import sqlalchemy as sa
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.config.schema.configuration import NoProviderError
from tarsy.db.incident.investigations import cancel_looks, lock_waiting, room_in_queue
from tarsy.db.incident.mutes import mutes_at
from tarsy.db.incident.rows import member_of
from tarsy.db.incident.state import lock_all, lock_incidents, write_incidents, write_members
from tarsy.db.outbox import publish_for
from tarsy.db.tables import alert_sessions, alerts, incidents
from tarsy.domain import live_events
from tarsy.domain.alert import AlertStatus
from tarsy.domain.incident import Incident, Investigation, Member, muted_by
from tarsy.domain.route import AUTO_RESOLVE_AFTER, MAX_REINVESTIGATIONS
from tarsy.intake.adapters.registry import says_resolved
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.decision import due_look, ended_by_silence, resolution
from tarsy.intake.policy import Policy, route_for
from tarsy.intake.updates import News, NewsKind, news_text, tell_news
from tarsy.session.chains import AlertRefusedError

log = structlog.get_logger(__name__)

# Much shorter than any interval of a route, and rare enough to cost nothing.
PAUSE_SECONDS = 20.0
# While a round holds the lock no alert comes in: a round is short, and the next one goes on.
AT_ONCE = 50
# Whose word starts an investigation that no request asked for.
AUTHOR = "tarsy"


async def look_after_incidents(current: Callable[[], "IncidentUpkeep"]) -> None:
    """A round now and then until cancelled, each by what is in force then."""
    while True:
        try:
            await current().round()
        except Exception as error:  # noqa: BLE001 - another process, or the next round, will do it
            log.warning("incidents.upkeep_failed", error=str(error) or type(error).__name__)
        # Replicas that were started together should not all come at once.
        await anyio.sleep(PAUSE_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311 - spreads rounds, guards nothing


@dataclass(slots=True)
class IncidentUpkeep:
    engine: AsyncEngine
    policy: Callable[[], Policy]
    commands: IncidentCommands
    _seen: tuple[datetime, str] | None = field(default=None, init=False)

    async def round(self) -> None:
        """One round."""
        await self._end_silent()
        for incident_id in await self._due():
            try:
                await self._look_again(incident_id)
            except AlertRefusedError as error:
                log.warning("incidents.not_investigated", incident_id=incident_id, reason=str(error))
            except NoProviderError as error:
                # What holds for one holds for all.
                log.warning("incidents.not_investigated", reason=str(error))
                return

    async def _end_silent(self) -> None:
        async with self.engine.connect() as connection:
            silent = [member for member in await self._long_silent(connection) if self._ended(member)]
        for member in silent:
            await self._end(member.id)

    async def _long_silent(self, connection: AsyncConnection) -> Sequence[Member]:
        """Alerts that fire and were not heard of for as long as the shortest limit is, some of them in each round."""
        limits = [route.auto_resolve_after for route in self.policy().routes if route.auto_resolve_after]
        since = self.commands.clock.now() - min([*limits, AUTO_RESOLVE_AFTER])
        fires = (alerts.c.is_current, alerts.c.status == sa.literal_column(f"'{AlertStatus.FIRING}'"), alerts.c.heard_at <= since)
        place = sa.tuple_(alerts.c.heard_at, alerts.c.id)
        # Most of them may never end by silence: the next round goes on behind them.
        after = () if self._seen is None else (place > sa.tuple_(sa.literal(self._seen[0]), sa.literal(self._seen[1], alerts.c.id.type)),)
        rows = await connection.execute(
            sa.select(alerts).where(*fires, *after).order_by(alerts.c.heard_at, alerts.c.id).limit(10 * AT_ONCE)
        )
        members = [member_of(row) for row in rows.mappings()]
        self._seen = (members[-1].heard_at, members[-1].id) if len(members) == 10 * AT_ONCE else None
        return members

    def _ended(self, member: Member) -> Member | None:
        policy, alert = self.policy(), member.alert
        known = ended_by_silence(
            member.known,
            heard_at=member.heard_at,
            route=route_for(alert, policy.routes),
            says_resolved=says_resolved(alert.source, policy.mappings),
            now=self.commands.clock.now(),
        )
        return replace(member, known=known) if known else None

    async def _end(self, alert_id: str) -> None:
        """End one alert, and with the last of them its incident."""
        async with self.engine.begin() as connection:
            await lock_all(connection)
            row = (await connection.execute(sa.select(alerts).where(alerts.c.id == alert_id))).mappings().one_or_none()
            # It may have been heard of meanwhile.
            ended = self._ended(member_of(row)) if row else None
            if ended is None:
                return
            await write_members(connection, [ended], frozenset())
            await self._count_out(connection, ended)

    async def _count_out(self, connection: AsyncConnection, member: Member) -> None:
        found = await lock_incidents(connection, [member.known.incident_id] if member.known.incident_id else [])
        incident = next(iter(found.values()), None)
        if incident is None or incident.resolved_at is not None:
            return
        decided = resolution(route_for(member.alert, self.policy().routes), incident.view)
        now = self.commands.clock.now()
        after = replace(incident, firing=max(0, incident.firing - 1), resolved_at=now if decided.last else None)
        if decided.cancel_pending and (waiting := await lock_waiting(connection, [incident.session_id or ""])):
            await cancel_looks(connection, sorted(waiting))
            after = replace(after, session_id=None)
        await write_incidents(connection, [after])
        heard = [(after, news_text([News(NewsKind.SILENT, member.alert, member.known.severity)], after))] if decided.note else []
        told = await tell_news(connection, heard, now)
        await publish_for(connection, [*told, (None, live_events.incident_changed(after, now))])

    async def _due(self) -> Sequence[str]:
        """Open incidents that may be due for an investigation, the oldest first; the decision itself is made under the lock."""
        now, look = self.commands.clock.now(), alert_sessions
        shortest = min([route.repeat_interval for route in self.policy().routes], default=timedelta(hours=4))
        never = incidents.c.session_id.is_(None)
        long_ago = (look.c.completed_at <= now - shortest) & (incidents.c.looked_again < MAX_REINVESTIGATIONS)
        query = (
            sa.select(incidents.c.id)
            .select_from(incidents.outerjoin(look, look.c.id == incidents.c.session_id))
            .where(incidents.c.resolved_at.is_(None), incidents.c.firing > 0, sa.or_(never, long_ago))
            .order_by(incidents.c.opened_at)
            .limit(AT_ONCE)
        )
        async with self.engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()

    async def _look_again(self, incident_id: str) -> None:
        async with self.engine.begin() as connection:
            await lock_all(connection)
            incident = (await lock_incidents(connection, [incident_id])).get(incident_id)
            if incident and incident.resolved_at is None:
                await self._look_if_due(connection, incident)

    async def _look_if_due(self, connection: AsyncConnection, incident: Incident) -> None:
        now, policy = self.commands.clock.now(), self.policy()
        row = (await connection.execute(_FIRST_FIRING, {"id": incident.id})).mappings().one_or_none()
        if row is None:
            return
        alert = member_of(row).alert
        route = route_for(alert, policy.routes)
        muted = muted_by(alert, [*policy.mutes, *await mutes_at(connection, now)], now, incident.key)
        look = None if muted else due_look(route, incident.view, incident.severity.priority, now)
        limit = self.commands.investigations.max_queue_size
        if look is None or not await room_in_queue(connection, limit, 1):
            return
        again = look.again if incident.view.investigation is not Investigation.NONE else 0
        looked, told = await self.commands.look(connection, incident, AUTHOR, again=again)
        await write_incidents(connection, [looked])
        await publish_for(connection, [*told, (None, live_events.incident_changed(looked, now))])


_FIRST_FIRING = sa.text(
    f"SELECT * FROM alerts WHERE incident_id = :id AND status = '{AlertStatus.FIRING}' ORDER BY first_at, id LIMIT 1"  # noqa: S608 - our own words
).bindparams(sa.bindparam("id", type_=alerts.c.id.type))
