"""Letting go of work: back to the queue, parked, or ended, with its noun and with whatever its run has open.

Locks are always taken in the same order: the row of work, its noun, the session's channel, the shared channel.
"""

from typing import Any, assert_never

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db import notifications
from tarsy.db.driver import Connection, Statement
from tarsy.db.outbox import publish
from tarsy.db.rows import storable
from tarsy.db.run.status import abandon_runs, interrupt_events
from tarsy.db.tables import pauses, work
from tarsy.db.work.subjects import SUBJECTS, Subject
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live_events import LiveEvent, StoredLiveEvent
from tarsy.domain.work import (
    PRIORITY_HEAD_START,
    WOKEN_HEAD_START,
    End,
    Park,
    Release,
    Requeue,
    RetryLater,
    WorkState,
    effective_release,
)

WOKEN_RANK: sa.ColumnElement[Any] = sa.literal_column(
    f"work.created_at - work.priority * interval '{PRIORITY_HEAD_START.total_seconds():.0f} s' - interval '{WOKEN_HEAD_START.days} days'"
)
UNPARKED: dict[str, Any] = dict.fromkeys(("parked_at", "parked_reason", "parked_by_pause", "parked_by_budget", "budget_needs", "wake_at"))
_FREE: dict[str, Any] = {"claim_token": None, "claimed_by": None, "claimed_at": None, "heartbeat_at": None}


async def claimed_row(connection: AsyncConnection, condition: sa.ColumnElement[bool], *, skip_locked: bool = False) -> sa.RowMapping | None:
    """A row of work, locked, with the transaction's time."""
    query = sa.select(work, sa.func.now().label("now")).where(condition)
    return (await connection.execute(query.with_for_update(skip_locked=skip_locked))).mappings().first()


async def release(connection: AsyncConnection, row: sa.RowMapping, wish: Release) -> list[StoredLiveEvent]:
    """Write and tell what becomes of a locked row of work that is let go of."""
    outcome = effective_release(wish, cancel_requested=row["cancel_requested"], wake_requested=row["wake_requested"])
    if isinstance(outcome, Park) and not await _still_paused(connection, outcome):
        outcome = Requeue(woken=True)
    drafts = await _close_run(connection, row, outcome)
    drafts += await _move_noun(connection, row, outcome)
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(_FREE | _values(row, outcome)))
    if not isinstance(outcome, Park):
        await notifications.notify(connection, notifications.WORK, row["kind"])
    return await publish(connection, drafts, session_id=row["session_id"])


# What becomes of a row of work that is done.
DONE = f"state = '{WorkState.DONE}', {', '.join(f'{name} = NULL' for name in _FREE)}"
# Told even where the claim was lost: what was held back by this work may begin.
_FINISH = Statement(
    f"""
    WITH done AS (
        UPDATE work SET {DONE}
        WHERE id = :id AND claim_token = :token RETURNING id
    )
    SELECT EXISTS (SELECT FROM done) AS found, pg_notify(:notification, :kind) AS sent
    """  # noqa: S608 - our own words
)


async def finish(connection: Connection, claim: Claim) -> bool:
    """Mark claimed work as done; false when the claim was lost."""
    values = {"id": claim.id, "token": claim.token, "notification": notifications.WORK, "kind": claim.kind}
    row = await _FINISH.row(connection, values)
    return row is not None and row["found"]


async def _still_paused(connection: AsyncConnection, parking: Park) -> bool:
    """Whether the pause that parks work still is: the end of a pause, which wakes what it parked, waits for this transaction."""
    if parking.pause is None:
        return True
    query = sa.select(pauses.c.chain_id).where(pauses.c.chain_id == parking.pause).with_for_update(read=True)
    return (await connection.execute(query)).first() is not None


def _values(row: sa.RowMapping, outcome: Release) -> dict[str, Any]:
    match outcome:
        case Requeue():
            counted = {
                "recoveries": row["recoveries"] + outcome.recovered,
                "stuck_recoveries": row["stuck_recoveries"] + 1 if outcome.stuck else 0,
            }
            back = {"handed_back_at": None if outcome.recovered else row["now"]}
            return {"state": WorkState.READY.value, **counted, **back, **({"rank": WOKEN_RANK} if outcome.woken else {})}
        case RetryLater(seconds):
            pause = sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)
            return {"state": WorkState.READY.value, "attempts": row["attempts"] + 1, "not_before": sa.func.now() + pause}
        case Park():
            return {
                "state": WorkState.PARKED.value,
                "parked_at": row["now"],
                "parked_reason": storable(outcome.reason),
                "parked_by_pause": outcome.pause,
                **_budget(outcome),
                "wake_at": outcome.until,
                "stuck_recoveries": 0,
            }
        case End():
            return {"state": WorkState.DONE.value, **UNPARKED}
        case _:
            assert_never(outcome)


def _budget(parking: Park) -> dict[str, Any]:
    wait = parking.budget
    return {"parked_by_budget": wait.budget if wait else None, "budget_needs": wait.needs if wait else None}


async def _close_run(connection: AsyncConnection, row: sa.RowMapping, outcome: Release) -> list[LiveEvent]:
    subject = SUBJECTS.get(row["kind"])
    if subject is None or row["session_id"] is None:
        return []
    session_id, types, at = row["session_id"], subject.stage_types, row["now"]
    drafts = await interrupt_events(connection, session_id, types, at)
    if isinstance(outcome, End):
        drafts += await abandon_runs(connection, session_id, types, status=outcome.status, reason=storable(outcome.reason), at=at)
    return drafts


async def _move_noun(connection: AsyncConnection, row: sa.RowMapping, outcome: Release) -> list[LiveEvent]:
    subject = SUBJECTS.get(row["kind"])
    match outcome:
        case _ if subject is None:
            return []
        case End():
            return list(await subject.end(connection, row, outcome))
        case Park(reason=reason):
            return await move_noun(connection, subject, row, subject.parked, reason)
        case Requeue() | RetryLater():
            return await move_noun(connection, subject, row, subject.ready, None)
        case _:
            assert_never(outcome)


async def move_noun(connection: AsyncConnection, subject: Subject, row: sa.RowMapping, target: Any, reason: str | None) -> list[LiveEvent]:
    """Move the noun of a locked row of work, and say so."""
    table = subject.door.table
    moved = subject.door.move(target).where(table.c.id == row["subject_id"]).returning(table)
    noun = (await connection.execute(moved)).mappings().first()
    return list(subject.moved(noun, row["now"], reason)) if noun else []


def about(kind: WorkKind, subject_id: str) -> sa.ColumnElement[bool]:
    """The row of work that is about a noun."""
    return (work.c.kind == kind) & (work.c.subject_id == subject_id)
