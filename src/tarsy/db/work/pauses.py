"""Pauses, the stop switch: paused work is not claimed, and with `now` running work is parked too."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db import notifications
from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.tables import pauses
from tarsy.domain import live_events
from tarsy.domain.work import Pause


class PauseRepository:
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def current(self) -> list[Pause]:
        """Return the pauses, that of everything first."""
        async with autocommit(self._publisher.engine).connect() as connection:
            return await _pauses(connection)

    async def pause(self, chain_id: str | None, *, actor: str, reason: str, now: bool) -> list[Pause]:
        """Pause a chain, or everything; running work finishes, or is parked `now`. A second pause of the same replaces the first."""
        values = {"chain_id": chain_id or "", "actor": actor, "reason": reason, "parks_running": now}
        async with self._publisher.transaction() as transaction:
            wanted = insert(pauses).values(values)
            # Work that the first one parked stays parked until the pause ends.
            await transaction.connection.execute(
                wanted.on_conflict_do_update(index_elements=["chain_id"], set_={**values, "since": sa.func.now()})
            )
            details = {"chain_id": chain_id, "reason": reason, "now": now}
            return await _publish(transaction, actor, AuditAction.WORK_PAUSED, details)

    async def resume(self, chain_id: str | None, *, actor: str) -> list[Pause]:
        """End a pause. The workers wake the work that it parked because its row is gone: nothing depends on this process."""
        async with self._publisher.transaction() as transaction:
            ended = await transaction.connection.execute(sa.delete(pauses).where(pauses.c.chain_id == (chain_id or "")))
            left = await _pauses(transaction.connection)
            if ended.rowcount:
                left = await _publish(transaction, actor, AuditAction.WORK_RESUMED, {"chain_id": chain_id})
        return left


async def _publish(transaction: Transaction, actor: str, action: AuditAction, details: dict[str, Any]) -> list[Pause]:
    connection = transaction.connection
    await add_audit_entry(connection, actor=actor, action=action, details=details)
    await notifications.notify(connection, notifications.PAUSE, details["chain_id"] or "")
    left = await _pauses(connection)
    await transaction.publish([live_events.pauses_changed(left)], session_id=None)
    return left


async def _pauses(connection: AsyncConnection) -> list[Pause]:
    rows = await connection.execute(sa.select(pauses).order_by(pauses.c.chain_id))
    return [Pause(row.chain_id or None, row.since, row.actor, row.reason, row.parks_running) for row in rows]
