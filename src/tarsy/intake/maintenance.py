"""Maintenance of incidents: silent alerts are resolved, muted ones get their incident when the mute ends, and what still fires is investigated again.

Every process tries now and then; the first one does it.
"""

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import anyio
import sqlalchemy as sa
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.config.schema.configuration import NoProviderError
from tarsy.db.incident.investigations import cancel_investigations, lock_waiting
from tarsy.db.incident.mutes import mutes_at
from tarsy.db.incident.rows import stored_alert_of
from tarsy.db.incident.state import keys_after_merges, lock_all, lock_incidents, write_incidents, write_members
from tarsy.db.outbox import Publisher
from tarsy.db.session.admission import store_investigations
from tarsy.db.tables import alert_sessions, alerts, incidents
from tarsy.domain import live_events
from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import StoredAlert, muted_by
from tarsy.domain.route import AUTO_RESOLVE_AFTER, MAX_REINVESTIGATIONS, REPEAT_INTERVAL, OnResolved
from tarsy.intake.acceptance import AlertAcceptance
from tarsy.intake.adapters.registry import sends_resolved
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.decision import MUTED, auto_resolved, due_investigation, resolution
from tarsy.intake.delivery import Delivery
from tarsy.intake.policy import Policy, route_for
from tarsy.intake.updates import AlertUpdate, UpdateKind, store_updates, update_text
from tarsy.kit.logs import logged_errors
from tarsy.session.chains import AlertRefusedError

log = structlog.get_logger(__name__)

# Much shorter than any interval of a route, and rare enough to cost nothing.
PAUSE_SECONDS = 20.0
# While a round holds the lock no alert is stored: a round is short, and the next one continues.
AT_ONCE = 50
# The author of investigations that no request asked for.
AUTHOR = "tarsy"

_FIRST_FIRING = (
    sa.select(alerts)
    .where(alerts.c.incident_id == sa.bindparam("id"), alerts.c.status == AlertStatus.FIRING.value)
    .order_by(alerts.c.first_at, alerts.c.id)
    .limit(1)
)


async def maintain_incidents(current: Callable[[], "IncidentMaintenance"]) -> None:
    """Run a round every now and then until cancelled, each with the maintenance of the configuration in force."""
    while True:
        # Replicas that were started together should not all run at once.
        await anyio.sleep(PAUSE_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311 - spreads rounds, guards nothing
        with logged_errors("incidents.upkeep_failed"):
            await current().round()


@dataclass(slots=True)
class IncidentMaintenance:
    publisher: Publisher
    policy: Policy
    commands: IncidentCommands
    acceptance: AlertAcceptance
    # Where the next round continues.
    _silent_seen: tuple[datetime, str] | None = field(default=None, init=False)
    _muted_seen: tuple[datetime, str] | None = field(default=None, init=False)
    _due_seen: tuple[datetime, str] | None = field(default=None, init=False)

    async def round(self) -> None:
        """Resolve silent alerts, accept those whose mute has ended, then start the investigations that are due."""
        async with self.publisher.engine.connect() as connection:
            silent = [stored for stored in await self._silent(connection) if self._resolved(stored)]
        for stored in silent:
            await self._resolve(stored.id)
        try:
            for stored in await self._unmuted():
                # As when it was received: the time of the sender's event is stored beside the alert.
                alert = replace(stored.alert, occurred_at=stored.known.reported_at)
                delivery = Delivery(source=alert.source, alerts=(alert,))
                with self._refusals_logged(alert_id=stored.id):
                    await self.acceptance.accept(delivery, author=AUTHOR)
            for incident_id in await self._due():
                with self._refusals_logged(incident_id=incident_id):
                    await self._investigate_if_due(incident_id)
        except NoProviderError as error:
            # No other incident can be investigated either.
            log.warning("incidents.not_investigated", reason=str(error))

    @contextmanager
    def _refusals_logged(self, **subject: str) -> Generator[None]:
        try:
            yield
        except AlertRefusedError as error:
            log.warning("incidents.not_investigated", **subject, reason=str(error))

    async def _silent(self, connection: AsyncConnection) -> Sequence[StoredAlert]:
        """Return firing alerts that were not sent for as long as the shortest time limit, some of them in each round."""
        limits = [route.auto_resolve_after for route in self.policy.routes if route.auto_resolve_after]
        since = self.commands.clock.now() - min([*limits, AUTO_RESOLVE_AFTER])
        candidates, self._silent_seen = await _firing_after(connection, self._silent_seen, alerts.c.heard_at <= since)
        return candidates

    async def _unmuted(self) -> Sequence[StoredAlert]:
        """Return firing alerts that were only recorded because of a mute, and that are muted no longer, some of them in each round."""
        now = self.commands.clock.now()
        muted = (alerts.c.incident_id.is_(None), alerts.c.reason.startswith(MUTED, autoescape=True))
        async with self.publisher.engine.connect() as connection:
            candidates, self._muted_seen = await _firing_after(connection, self._muted_seen, *muted)
            # Its incident may have the key of before migration v0026_instance_of_alerts.
            keys = {stored.id: self._incident_keys(stored.alert) for stored in candidates}
            mutes = [*self.policy.mutes, *await mutes_at(connection, now)] if candidates else []
            merged = await keys_after_merges(connection, {key for some in keys.values() for key in some})
        unmuted: list[StoredAlert] = []
        for stored in candidates:
            own, earlier = keys[stored.id]
            if not muted_by(stored.alert, mutes, now, {own, merged.get(own) or merged.get(earlier) or own}):
                unmuted.append(stored)
        return unmuted[:AT_ONCE]

    def _incident_keys(self, alert: Alert) -> tuple[str, str]:
        route = route_for(alert, self.policy.routes)
        return route.incident_key(alert), route.incident_key(replace(alert, instance=""))

    def _resolved(self, stored: StoredAlert) -> StoredAlert | None:
        """Return the alert as resolved if its time limit has passed, else None."""
        known = auto_resolved(
            stored.known,
            heard_at=stored.heard_at,
            route=route_for(stored.alert, self.policy.routes),
            sends_resolved=sends_resolved(stored.alert.source, self.policy.mappings),
            now=self.commands.clock.now(),
        )
        return replace(stored, known=known) if known else None

    async def _resolve(self, alert_id: str) -> None:
        """Resolve one alert, and its incident if no other alert of it fires."""
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            await lock_all(connection)
            row = (await connection.execute(sa.select(alerts).where(alerts.c.id == alert_id, alerts.c.is_current))).mappings().one_or_none()
            # The sender may have sent it again meanwhile.
            stored = self._resolved(stored_alert_of(row)) if row else None
            if stored is None:
                return
            await write_members(connection, [stored], frozenset())
            found = await lock_incidents(connection, [stored.known.incident_id] if stored.known.incident_id else [])
            incident = next(iter(found.values()), None)
            if incident is None or incident.resolved_at is not None:
                return
            route, now = route_for(stored.alert, self.policy.routes), self.commands.clock.now()
            decided = resolution(route, incident)
            changed = replace(incident, firing=max(0, incident.firing - 1), resolved_at=now if decided.last else None)
            may_begin = incident.may_be_cancelled and route.on_resolved is not OnResolved.IGNORE
            waiting = await lock_waiting(connection, [incident.session_id] if incident.session_id and may_begin else [])
            if decided.cancel_pending and waiting:
                await cancel_investigations(transaction, sorted(waiting))
                changed = changed.without_pending()
            await write_incidents(connection, [changed])
            # Also an investigation that a worker has claimed since the incident was read.
            informed = decided.note or (may_begin and not waiting)
            text = update_text([AlertUpdate(UpdateKind.SILENT, stored.alert, stored.known.severity)], changed)
            notes = await store_updates(connection, [(changed, text)] if informed else [], now)
            await transaction.publish_for([*notes, (None, live_events.incident_changed(changed, now))])

    async def _due(self) -> Sequence[str]:
        """Return open incidents that may be due for an investigation, some of them in each round. The decision itself is made under the lock."""
        now, session = self.commands.clock.now(), alert_sessions
        shortest = min([*(route.repeat_interval for route in self.policy.routes), REPEAT_INTERVAL])
        never = incidents.c.session_id.is_(None)
        long_ago = (session.c.completed_at <= now - shortest) & (incidents.c.looked_again < MAX_REINVESTIGATIONS)
        query = (
            sa.select(incidents.c.opened_at, incidents.c.id)
            .select_from(incidents.outerjoin(session, session.c.id == incidents.c.session_id))
            .where(incidents.c.resolved_at.is_(None), incidents.c.firing > 0, sa.or_(never, long_ago))
            .where(*_behind(self._due_seen, incidents.c.opened_at, incidents.c.id))
            .order_by(incidents.c.opened_at, incidents.c.id)
            .limit(AT_ONCE)
        )
        async with self.publisher.engine.connect() as connection:
            found = [(row.opened_at, row.id) for row in await connection.execute(query)]
        # Those that are not due, or cannot be investigated, must not keep the others waiting.
        self._due_seen = found[-1] if len(found) == AT_ONCE else None
        return [incident_id for _, incident_id in found]

    async def _investigate_if_due(self, incident_id: str) -> None:
        async with self.publisher.transaction() as transaction:
            connection = transaction.connection
            await lock_all(connection)
            incident = (await lock_incidents(connection, [incident_id])).get(incident_id)
            if incident is None or incident.resolved_at is not None:
                return
            now = self.commands.clock.now()
            row = (await connection.execute(_FIRST_FIRING, {"id": incident.id})).mappings().one_or_none()
            if row is None:
                return
            trigger = stored_alert_of(row)
            muted = muted_by(trigger.alert, [*self.policy.mutes, *await mutes_at(connection, now)], now, {incident.key})
            route = route_for(trigger.alert, self.policy.routes)
            due = None if muted else due_investigation(route, incident, route.priority_of(incident.severity), now)
            if due is None or not await self.commands.admission.lock_room(connection, 1):
                return
            changed, new = self.commands.with_investigation(incident, trigger, due, AUTHOR)
            events = await store_investigations(connection, [new])
            await write_incidents(connection, [changed])
            await transaction.publish_for([*events, (None, live_events.incident_changed(changed, now))])
        self.commands.admission.report_submitted([new])


async def _firing_after(
    connection: AsyncConnection, seen: tuple[datetime, str] | None, *conditions: sa.ColumnElement[bool]
) -> tuple[list[StoredAlert], tuple[datetime, str] | None]:
    """Return some firing alerts that meet the conditions, and the place behind which the next round continues, for most may need nothing."""
    firing = (alerts.c.is_current, alerts.c.status == sa.literal_column(f"'{AlertStatus.FIRING}'"), *conditions)
    after = _behind(seen, alerts.c.heard_at, alerts.c.id)
    rows = await connection.execute(sa.select(alerts).where(*firing, *after).order_by(alerts.c.heard_at, alerts.c.id).limit(10 * AT_ONCE))
    page = [stored_alert_of(row) for row in rows.mappings()]
    return page, (page[-1].heard_at, page[-1].id) if len(page) == 10 * AT_ONCE else None


def _behind(seen: tuple[datetime, str] | None, at: sa.Column[Any], id_: sa.Column[Any]) -> Sequence[sa.ColumnElement[bool]]:
    return () if seen is None else (sa.tuple_(at, id_) > sa.tuple_(sa.literal(seen[0]), sa.literal(seen[1], id_.type)),)
