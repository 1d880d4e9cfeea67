"""Waking what is parked, and asking work to stop: both lock its row, so that neither falls between a worker's look and its parking."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import notifications
from tarsy.db.outbox import publish
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tables import sql_list, work
from tarsy.db.work.release import UNPARKED, WOKEN_RANK, about, claimed_row, move_noun, release
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.alert import Severity
from tarsy.domain.claim import WorkKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.period_budget import BudgetWait, PeriodBudget, Waiting, released
from tarsy.domain.status import RunStatus
from tarsy.domain.work import End, WorkState

# Parked work whose time has come at the same moment is woken in this many transactions at most before the next claim.
DUE_AT_ONCE = 50
# Parked work whose time has come, or whose pause has ended.
DUE = f"""
    work.state = {sql_list([WorkState.PARKED])} AND (work.wake_at <= now() OR (
        work.parked_by_pause IS NOT NULL AND NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id = work.parked_by_pause)
    ))"""


class CancelAnswer(StrEnum):
    """The result of a request to cancel."""

    # It had not begun, and now never will.
    CANCELLED = "cancelled"
    # Its worker has been told.
    CANCELLING = "cancelling"
    # It had ended before.
    ALREADY_ENDED = "already_ended"


async def wake(connection: AsyncConnection, kind: WorkKind, subject_id: str) -> list[StoredLiveEvent]:
    """Say, in the transaction that makes it so, that what the work may wait for has happened.

    Work that a worker holds is marked: it is not parked before it has looked again.
    """
    row = await claimed_row(connection, about(kind, subject_id))
    if row is None:
        return []
    if row["state"] == WorkState.CLAIMED:
        await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(wake_requested=True))
    return await unpark(connection, row) if row["state"] == WorkState.PARKED else []


async def unpark(connection: AsyncConnection, row: sa.RowMapping) -> list[StoredLiveEvent]:
    """Make locked, parked work ready, ahead of what is new. The time it was parked does not count against its deadline."""
    values = {
        "state": WorkState.READY.value,
        "rank": WOKEN_RANK,
        "deadline": work.c.deadline + (sa.func.now() - work.c.parked_at),
        **UNPARKED,
    }
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(values))
    await notifications.notify(connection, notifications.WORK, row["kind"])
    subject = SUBJECTS.get(row["kind"])
    drafts = await move_noun(connection, subject, row, subject.ready, None) if subject else []
    return await publish(connection, drafts, session_id=row["session_id"])


async def wake_due(engine: AsyncEngine, kind: WorkKind) -> list[StoredLiveEvent]:
    """Wake parked work of a kind whose time has come. Any number of processes may try: each piece is woken once."""
    due = (work.c.kind == kind) & sa.text(DUE)
    async with engine.connect() as connection:
        ids = (await connection.execute(sa.select(work.c.id).where(due).order_by(work.c.rank).limit(DUE_AT_ONCE))).scalars().all()
    woken: list[StoredLiveEvent] = []
    for work_id in ids:
        async with engine.begin() as connection:
            row = await claimed_row(connection, due & (work.c.id == work_id), skip_locked=True)
            woken += await unpark(connection, row) if row else []
    return woken


async def cancel(
    connection: AsyncConnection, kind: WorkKind, subject_id: str, *, reason: str
) -> tuple[CancelAnswer, list[StoredLiveEvent]]:
    """End work that waits here and now; tell the worker of work that runs. Asking twice changes nothing.

    Answers also with what was told of it.
    """
    row = await claimed_row(connection, about(kind, subject_id))
    if row is None or row["state"] == WorkState.DONE:
        return CancelAnswer.ALREADY_ENDED, []
    if row["state"] != WorkState.CLAIMED:
        return CancelAnswer.CANCELLED, await release(connection, row, End(RunStatus.CANCELLED, reason))
    told = [] if row["cancel_requested"] else await _tell_worker(connection, row)
    return CancelAnswer.CANCELLING, told


async def _tell_worker(connection: AsyncConnection, row: sa.RowMapping) -> list[StoredLiveEvent]:
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(cancel_requested=True))
    await notifications.notify(connection, notifications.CANCEL, row["subject_id"])
    subject = SUBJECTS.get(row["kind"])
    if subject is None or subject.cancelling is None:
        return []
    drafts = await move_noun(connection, subject, row, subject.cancelling, None)
    return await publish(connection, drafts, session_id=row["session_id"])


_PARKED = f"work.state = '{WorkState.PARKED}' AND work.parked_by_budget IS NOT NULL"
# What has become critical meanwhile is held up by none.
_WAITING = sa.text(
    f"""
    SELECT work.id::text AS id, work.budget_needs AS needs, CASE WHEN i.severity = '{Severity.CRITICAL}' THEN '' ELSE work.parked_by_budget END AS budget
    FROM work LEFT JOIN alert_sessions s ON s.id = work.session_id LEFT JOIN incidents i ON i.id = s.incident_id
    WHERE {_PARKED} ORDER BY work.rank, work.id
    """  # noqa: S608 - our own words
)


async def wake_within(engine: AsyncEngine, budgets: Sequence[PeriodBudget], now: datetime) -> list[StoredLiveEvent]:
    """Wake them by priority and age, one after the other. Any number of processes may try: each is woken once."""
    waiting = await _waiting(engine)
    if not waiting:
        return []
    states = await PostgresSpendingStore(engine).states(budgets, now)
    woken: list[StoredLiveEvent] = []
    for work_id in released(waiting, states):
        async with engine.begin() as connection:
            row = await claimed_row(connection, (work.c.id == work_id) & sa.text(_PARKED), skip_locked=True)
            woken += await unpark(connection, row) if row else []
    return woken


async def _waiting(engine: AsyncEngine) -> Sequence[Waiting]:
    async with engine.connect() as connection:
        return [(row.id, BudgetWait(row.budget, row.needs)) for row in await connection.execute(_WAITING)]
