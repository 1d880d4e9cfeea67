"""Investigations that the door asks for, or takes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, note_each
from tarsy.db.session.admission import insert_sessions, room_for
from tarsy.db.tables import work
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.parking import cancel
from tarsy.domain import live_events
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import PRIORITY_HEAD_START, WorkState

OVER = "Nothing of the incident fires any more: cancelled before it began."


@dataclass(frozen=True, slots=True)
class WantedLook:
    """An investigation of an incident, to be begun at the time given or when its turn comes after it."""

    session: NewSession
    priority: int
    not_before: datetime


async def room_in_queue(connection: AsyncConnection, limit: int | None, wanted: int) -> int:
    """How many of `wanted` investigations may come in."""
    return wanted if limit is None or not wanted else max(0, await room_for(connection, limit, wanted))


async def store_looks(connection: AsyncConnection, wanted: Sequence[WantedLook]) -> list[tuple[str, LiveEvent]]:
    """Store investigations and wake the workers; answers with what is to be told of each, its own watchers first."""
    if not wanted:
        return []
    sessions = [one.session for one in wanted]
    await insert_sessions(connection, sessions)
    await note_each(connection, AuditAction.ALERT_SUBMITTED, [(session.author, session.id) for session in sessions])
    await enqueue(connection, *(_investigation(one) for one in wanted))
    told = [
        (one.id, live_events.session_status(one.id, SessionStatus.PENDING, alert_type=one.alert_type, at=one.created_at))
        for one in sessions
    ]
    return [*((session_id, own) for session_id, (own, _) in told), *((session_id, shared) for session_id, (_, shared) in told)]


def _investigation(wanted: WantedLook) -> NewWork:
    session = wanted.session
    return NewWork(
        kind=INVESTIGATION,
        subject_id=session.id,
        session_id=session.id,
        chain_id=session.chain_id,
        created_at=session.created_at,
        priority=wanted.priority,
        not_before=wanted.not_before if wanted.not_before > session.created_at else None,
    )


async def lock_waiting(connection: AsyncConnection, session_ids: Sequence[str]) -> set[str]:
    """Those of these investigations that have not begun, with all of them locked so that none begins meanwhile."""
    if not session_ids:
        return set()
    rows = sa.select(work.c.subject_id, work.c.state).where(work.c.kind == INVESTIGATION, work.c.subject_id.in_(session_ids))
    found = await connection.execute(rows.order_by(work.c.id).with_for_update())
    return {str(row.subject_id) for row in found if row.state in {WorkState.READY, WorkState.PARKED}}


async def cancel_looks(connection: AsyncConnection, session_ids: Sequence[str], *, reason: str = OVER) -> None:
    """End investigations that wait; their work must be locked already."""
    for session_id in session_ids:
        await cancel(connection, INVESTIGATION, session_id, reason=reason)


async def raise_looks(connection: AsyncConnection, priorities: Mapping[str, int]) -> None:
    """Let investigations that wait, and whose work is locked, go ahead as their incident has become more urgent."""
    for session_id, priority in priorities.items():
        rank = work.c.created_at - sa.literal(priority * PRIORITY_HEAD_START)
        waits = (work.c.kind == INVESTIGATION, work.c.subject_id == session_id, work.c.state == WorkState.READY.value)
        urgent = sa.update(work).where(*waits, work.c.priority < priority)
        await connection.execute(urgent.values(priority=priority, rank=sa.func.least(work.c.rank, rank)))
