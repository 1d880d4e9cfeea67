"""Releasing work: back to the queue, parked or ended, together with its subject and the open parts of its run.

Locks are always taken in the same order: the row of work, its subject, the session's channel, the shared channel.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db import notifications
from tarsy.db.outbox import Transaction
from tarsy.db.rows import storable
from tarsy.db.run.status import abandon_runs, expire_approvals, interrupt_events
from tarsy.db.tables import approvals, pauses, work
from tarsy.db.work.subjects import SUBJECTS, Subject
from tarsy.domain.claim import Claim, ClaimLostError, WorkKind
from tarsy.domain.live_events import LiveEvent
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
NOT_PARKED: dict[str, Any] = dict.fromkeys(("parked_at", "parked_reason", "parked_by_pause", "parked_by_budget", "budget_needs", "wake_at"))
_NOT_CLAIMED: dict[str, Any] = {"claim_token": None, "claimed_by": None, "claimed_at": None, "heartbeat_at": None}


def work_of(kind: WorkKind, subject_id: str) -> sa.ColumnElement[bool]:
    """Return the condition of the work of a subject."""
    return (work.c.kind == kind) & (work.c.subject_id == subject_id)


async def lock_work(
    connection: AsyncConnection, condition: sa.ColumnElement[bool], *, skip_locked: bool = False, share: bool = False
) -> sa.RowMapping | None:
    """Lock and return a row of work, with the transaction's time as `now`."""
    query = sa.select(work, sa.func.now().label("now")).where(condition)
    return (await connection.execute(query.with_for_update(skip_locked=skip_locked, read=share))).mappings().first()


# The part of a statement that must not write under a claim that was lost. The row stays locked, so that the claim is not lost meanwhile.
HELD_CLAIM = "SELECT FROM work WHERE id = :claim_id AND claim_token = :token FOR SHARE"


def claim_parameters(claim: Claim) -> dict[str, Any]:
    """Return the parameters of HELD_CLAIM."""
    return {"claim_id": claim.id, "token": claim.token}


async def lock_claimed(connection: AsyncConnection, claim: Claim, *, share: bool = False) -> sa.RowMapping:
    """Lock and return a claimed row of work; with `share`, it may be locked by others that share it.

    Raises:
        ClaimLostError: the claim's token is no longer the row's.
    """
    row = await lock_work(connection, (work.c.id == claim.id) & (work.c.claim_token == claim.token), share=share)
    if row is None:
        raise ClaimLostError(claim)
    return row


async def release(transaction: Transaction, row: sa.RowMapping, wanted: Release) -> None:
    """Release a locked row of work as `wanted`, or as was asked for meanwhile, and publish what changed."""
    connection = transaction.connection
    outcome = effective_release(wanted, cancel_requested=row["cancel_requested"], wake_requested=row["wake_requested"])
    if isinstance(outcome, Park) and outcome.pause is not None:
        # The end of a pause, which wakes the work that it parked, waits for this transaction.
        pause = sa.select(pauses.c.chain_id).where(pauses.c.chain_id == outcome.pause).with_for_update(read=True)
        if (await connection.execute(pause)).first() is None:
            outcome = Requeue(woken=True)
    events: list[LiveEvent] = []
    if subject := SUBJECTS.get(row["kind"]):
        events += await _close_run(connection, subject, row, outcome)
        match outcome:
            case End():
                events += await subject.end(connection, row, outcome)
            case Park(reason=reason):
                events += await move_subject(connection, subject, row, subject.parked, reason)
            case Requeue() | RetryLater():
                events += await move_subject(connection, subject, row, subject.ready, None)
            case _:
                assert_never(outcome)
    await connection.execute(sa.update(work).where(work.c.id == row["id"]).values(_NOT_CLAIMED | _columns(row, outcome)))
    if not isinstance(outcome, Park):
        await notifications.notify(connection, notifications.WORK, row["kind"])
    await transaction.publish(events, session_id=row["session_id"])


async def _close_run(connection: AsyncConnection, subject: Subject, row: sa.RowMapping, outcome: Release) -> list[LiveEvent]:
    if row["session_id"] is None:
        return []
    session_id, types, at = row["session_id"], subject.stage_types, row["now"]
    events = await interrupt_events(connection, session_id, types, at)
    if isinstance(outcome, End):
        events += await abandon_runs(connection, session_id, types, status=outcome.status, reason=storable(outcome.reason), at=at)
        events += await expire_approvals(connection, (approvals.c.session_id == session_id) & (approvals.c.work_id == row["id"]), at)
    return events


def _columns(row: sa.RowMapping, outcome: Release) -> dict[str, Any]:
    match outcome:
        case Requeue():
            return {
                "state": WorkState.READY.value,
                "recoveries": row["recoveries"] + outcome.recovered,
                "stuck_recoveries": row["stuck_recoveries"] + 1 if outcome.stuck else 0,
                "handed_back_at": None if outcome.recovered else row["now"],
                **({"rank": WOKEN_RANK} if outcome.woken else {}),
            }
        case RetryLater():
            attempts = row["attempts"] + outcome.is_failure
            return {"state": WorkState.READY.value, "attempts": attempts, "not_before": _after(outcome.seconds)}
        case Park():
            return {
                "state": WorkState.PARKED.value,
                "parked_at": row["now"],
                "parked_reason": storable(outcome.reason),
                "parked_by_pause": outcome.pause,
                "parked_by_budget": outcome.budget.budget if outcome.budget else None,
                "budget_needs": outcome.budget.needs if outcome.budget else None,
                "wake_at": None if outcome.seconds is None else _after(outcome.seconds),
                "stuck_recoveries": 0,
            }
        case End():
            return {"state": WorkState.DONE.value, **NOT_PARKED}
        case _:
            assert_never(outcome)


def _after(seconds: float) -> sa.ColumnElement[datetime]:
    return sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


async def move_subject(
    connection: AsyncConnection, subject: Subject, row: sa.RowMapping, target: StrEnum, reason: str | None
) -> list[LiveEvent]:
    """Move the subject of a locked row of work, and return the events that announce it."""
    table = subject.statuses.table
    move = subject.statuses.transition(target).where(table.c.id == row["subject_id"]).returning(*subject.columns)
    moved = (await connection.execute(move)).mappings().first()
    return list(subject.moved(moved, row["now"], reason)) if moved else []


async def finish(connection: AsyncConnection, claim: Claim) -> None:
    """Mark claimed work as done, unless the claim was lost."""
    done = {"state": WorkState.DONE.value, **_NOT_CLAIMED}
    await connection.execute(sa.update(work).where(work.c.id == claim.id, work.c.claim_token == claim.token).values(done))
    # Also when the claim was lost: work that this work held back may begin.
    await notifications.notify(connection, notifications.WORK, claim.kind)
