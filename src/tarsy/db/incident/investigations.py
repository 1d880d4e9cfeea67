"""Investigations of incidents while they wait in the queue: cancelled, or moved ahead."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.outbox import Transaction
from tarsy.db.tables import work
from tarsy.db.work.parking import cancel
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.work import PRIORITY_HEAD_START, WorkState

NOTHING_FIRES = "No alert of the incident fires any more: cancelled before it began."


async def lock_waiting(connection: AsyncConnection, session_ids: Sequence[str]) -> set[str]:
    """Lock the work of these sessions, so that none of them begins meanwhile, and return those that have not begun."""
    if not session_ids:
        return set()
    rows = sa.select(work.c.subject_id, work.c.state).where(work.c.kind == INVESTIGATION, work.c.subject_id.in_(session_ids))
    found = await connection.execute(rows.order_by(work.c.id).with_for_update())
    return {row.subject_id for row in found if row.state in {WorkState.READY, WorkState.PARKED}}


async def cancel_investigations(transaction: Transaction, session_ids: Sequence[str], *, reason: str = NOTHING_FIRES) -> None:
    """End sessions that wait; their work must be locked already."""
    for session_id in session_ids:
        await cancel(transaction, INVESTIGATION, session_id, reason=reason)


async def raise_priorities(connection: AsyncConnection, priorities: Mapping[str, int]) -> None:
    """Move sessions ahead whose incident has become more urgent; their work must be locked already."""
    for session_id, priority in priorities.items():
        rank = work.c.created_at - sa.literal(priority * PRIORITY_HEAD_START)
        waits = (work.c.kind == INVESTIGATION, work.c.subject_id == session_id, work.c.state == WorkState.READY.value)
        urgent = sa.update(work).where(*waits, work.c.priority < priority)
        await connection.execute(urgent.values(priority=priority, rank=sa.func.least(work.c.rank, rank)))
