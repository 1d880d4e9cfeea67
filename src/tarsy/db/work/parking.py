"""Waking parked work, and asking work to stop: both lock its row, so that neither is missed by a worker that is about to park it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from tarsy.db import notifications
from tarsy.db.connection import autocommit
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tables import work
from tarsy.db.work.release import NOT_PARKED, WOKEN_RANK, lock_work, move_subject, release, work_of
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.alert import Severity
from tarsy.domain.claim import WorkKind
from tarsy.domain.period_budget import BudgetWait, PeriodBudget, released
from tarsy.domain.status import RunStatus
from tarsy.domain.work import End, WorkState

# Parked work whose time has come is woken in this many transactions at most before the next claim.
DUE_AT_ONCE = 50
# Parked work whose time has come, or whose pause has ended.
DUE = f"""
    work.state = '{WorkState.PARKED}' AND (work.wake_at <= now() OR (
        work.parked_by_pause IS NOT NULL AND NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id = work.parked_by_pause)
    ))"""
_PARKED_BY_BUDGET = f"work.state = '{WorkState.PARKED}' AND work.parked_by_budget IS NOT NULL"
# Work whose incident has become critical meanwhile is held back by no budget.
_WAITING = sa.text(
    f"""
    SELECT CAST(work.id AS text) AS id, work.budget_needs AS needs,
        CASE WHEN i.severity = '{Severity.CRITICAL}' THEN '' ELSE work.parked_by_budget END AS budget
    FROM work LEFT JOIN alert_sessions s ON s.id = work.session_id LEFT JOIN incidents i ON i.id = s.incident_id
    WHERE {_PARKED_BY_BUDGET} ORDER BY work.rank, work.id
    """
)


class CancelAnswer(StrEnum):
    """The result of a request to cancel."""

    # No worker held it: it has ended.
    CANCELLED = "cancelled"
    # Its worker has been notified.
    CANCELLING = "cancelling"
    # It had ended before.
    ALREADY_ENDED = "already_ended"


async def wake(transaction: Transaction, kind: WorkKind, subject_id: str) -> None:
    """Wake work in the transaction of the event that it may wait for.

    Claimed work is marked: it is not parked before its worker has checked again.
    """
    connection = transaction.connection
    row = await lock_work(connection, work_of(kind, subject_id))
    if row is None:
        return
    if row["state"] == WorkState.CLAIMED:
        await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(wake_requested=True))
    elif row["state"] == WorkState.PARKED:
        await unpark(transaction, row)


async def unpark(transaction: Transaction, row: sa.RowMapping) -> None:
    """Make locked, parked work ready, ahead of new work. Waiting for a worker does not count against its deadline."""
    connection = transaction.connection
    values = {
        "state": WorkState.READY.value,
        "rank": WOKEN_RANK,
        "handed_back_at": sa.func.now(),
        "deadline": work.c.deadline + (sa.func.now() - work.c.parked_at),
        **NOT_PARKED,
    }
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(values))
    await notifications.notify(connection, notifications.WORK, row["kind"])
    subject = SUBJECTS.get(row["kind"])
    events = await move_subject(connection, subject, row, subject.ready, None) if subject else []
    await transaction.publish(events, session_id=row["session_id"])


async def wake_due(publisher: Publisher, kind: WorkKind) -> None:
    """Wake parked work of a kind whose time has come. Any number of processes may try: each piece is woken once."""
    due = (work.c.kind == kind) & sa.text(DUE)
    async with autocommit(publisher.engine).connect() as connection:
        ids = (await connection.execute(sa.select(work.c.id).where(due).order_by(work.c.rank).limit(DUE_AT_ONCE))).scalars().all()
    await _unpark_each(publisher, ids, due)


async def _unpark_each(publisher: Publisher, ids: Iterable[str], condition: sa.ColumnElement[bool]) -> None:
    """Make the rows of work with these ids ready that no other process has locked, and that still meet the condition."""
    for work_id in ids:
        async with publisher.transaction() as transaction:
            row = await lock_work(transaction.connection, condition & (work.c.id == work_id), skip_locked=True)
            if row:
                await unpark(transaction, row)


async def cancel(transaction: Transaction, kind: WorkKind, subject_id: str, *, reason: str) -> CancelAnswer:
    """End work that waits at once, and notify the worker of work that runs. Asking twice changes nothing."""
    connection = transaction.connection
    row = await lock_work(connection, work_of(kind, subject_id))
    if row is None or row["state"] == WorkState.DONE:
        return CancelAnswer.ALREADY_ENDED
    if row["state"] != WorkState.CLAIMED:
        await release(transaction, row, End(RunStatus.CANCELLED, reason))
        return CancelAnswer.CANCELLED
    if row["cancel_requested"]:
        return CancelAnswer.CANCELLING
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(cancel_requested=True))
    await notifications.notify(connection, notifications.CANCEL, row["subject_id"])
    subject = SUBJECTS.get(row["kind"])
    events = await move_subject(connection, subject, row, subject.cancelling, None) if subject and subject.cancelling else []
    await transaction.publish(events, session_id=row["session_id"])
    return CancelAnswer.CANCELLING


async def wake_within(publisher: Publisher, budgets: Sequence[PeriodBudget], now: datetime) -> None:
    """Wake investigations that a budget did not let begin, by priority and age, as far as there is room for them now.

    Any number of processes may try: each is woken once.
    """
    async with autocommit(publisher.engine).connect() as connection:
        waiting = [(row.id, BudgetWait(row.budget, row.needs)) for row in await connection.execute(_WAITING)]
    if waiting:
        states = await PostgresSpendingStore(publisher.engine).states(budgets, now)
        await _unpark_each(publisher, released(waiting, states), sa.literal_column(_PARKED_BY_BUDGET, sa.Boolean))
