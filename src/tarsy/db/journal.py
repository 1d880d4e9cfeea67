"""The durable record of a run: one Step, one transaction, fenced by its claim, published with its commit.

Locks are always taken in the same order: the claimed row of work, its noun, the session's channel, the shared channel.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows
from tarsy.db.open_runs import interrupt_events
from tarsy.db.outbox import Row, draft_rows, stored_event
from tarsy.db.retry import retrying
from tarsy.db.scores import request_score
from tarsy.db.status_moves import SESSIONS
from tarsy.db.step_statement import statement_for
from tarsy.db.storable import storable_json
from tarsy.db.tables import agent_executions, alert_sessions, llm_interactions, mcp_interactions, messages, timeline_events, work
from tarsy.db.work.release import finish
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain import announce
from tarsy.domain.claim import Claim, ClaimLostError
from tarsy.domain.live import LiveEvent, StoredLiveEvent
from tarsy.domain.session import SessionClose, ending
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step, StoredCall, StoredRun, WorkClose

Deliver = Callable[[Sequence[StoredLiveEvent]], None]

_TOLD = sa.text("SELECT EXISTS (SELECT FROM events WHERE channel = :channel AND payload - 'id' = CAST(:payload AS jsonb))")
_SAID = sa.text("SELECT EXISTS (SELECT FROM messages WHERE id = CAST(:id AS uuid))")


class PostgresJournal:
    """Writes steps. `deliver` hands what was committed to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, deliver: Deliver) -> None:
        self._engine = engine
        # A statement is a transaction of its own: nothing to begin and nothing to commit.
        self._statements = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._deliver = deliver

    async def commit(self, step: Step) -> None:
        repeated = False

        async def attempt() -> list[StoredLiveEvent]:
            nonlocal repeated
            if repeated and await self._went_through(step):
                return []
            repeated = True
            if ends := step.session_close or step.work_close:
                async with self._engine.begin() as connection:
                    return await _end(connection, step, ends.completed_at)
            async with self._statements.connect() as connection:
                return await _store(connection, step, _announcements(step))

        # Whole: half of what a step says must never be left to chance by a cancellation.
        self._deliver(await retrying(attempt, whole=True))

    async def load(self, execution_id: str) -> StoredRun:
        async def attempt() -> StoredRun:
            async with self._engine.connect() as connection:
                return await _load(connection, execution_id)

        # Whole as well: an agent that is stopped this early still has a status to end.
        return await retrying(attempt, whole=True)

    async def _went_through(self, step: Step) -> bool:
        """Whether the attempt before, whose connection was lost, was committed all the same: then it has left what no other step leaves."""
        async with self._engine.begin() as connection:
            # It may not have ended yet. It holds the claimed row until it has.
            if (await connection.execute(_claimed_row(step).with_for_update())).one_or_none() is None:
                raise ClaimLostError(step.claim)
            if ends := step.session_close or step.work_close:
                noun = SUBJECTS[step.claim.kind].door.table
                ended_at = await connection.scalar(sa.select(noun.c.completed_at).where(noun.c.id == step.claim.subject_id))
                return ended_at == ends.completed_at
            if drafts := _drafts(step, _announcements(step)):
                payload = orjson.dumps(drafts[0]["payload"]).decode()
                return (await connection.execute(_TOLD, {"channel": drafts[0]["channel"], "payload": payload})).scalar_one()
            if step.messages:
                return (await connection.execute(_SAID, {"id": step.messages[0].id})).scalar_one()
            # What is left only sets what may be set twice.
            return False


def _claimed_row(step: Step) -> sa.Select[Any, Any]:
    return sa.select(work.c.claim_token, work.c.cancel_requested).where(work.c.id == step.claim.id)


async def _end(connection: AsyncConnection, step: Step, at: datetime) -> list[StoredLiveEvent]:
    """Write a step that ends what was claimed.

    Raises:
        ClaimLostError: the claim's token is no longer the row's, or the row was erased.
    """
    claimed = (await connection.execute(_claimed_row(step).with_for_update())).one_or_none()
    if claimed is None or claimed.claim_token != step.claim.token:
        raise ClaimLostError(step.claim)
    if step.session_close:
        close = ending(step.session_close, cancel_requested=claimed.cancel_requested)
        # What was cancelled in its last moment is not judged either.
        step = replace(step, session_close=close, score=step.score if close.status is SessionStatus.COMPLETED else None)
    # The noun before the channels: indexing a long analysis takes time, and the shared channel is every session's.
    ended = await _close_noun(connection, step)
    # Whatever an agent could not close in time must not stream for ever.
    left_open = await interrupt_events(connection, step.session_id, SUBJECTS[step.claim.kind].stage_types, at)
    stored = await _store(connection, step, [*left_open, *_announcements(step), *ended])
    await finish(connection, step.claim)
    return stored


async def _store(connection: AsyncConnection, step: Step, told: Sequence[LiveEvent]) -> list[StoredLiveEvent]:
    """Write what `step` brings, and tell of it.

    Raises:
        ClaimLostError: the claim's token is no longer the row's.
    """
    drafts = _drafts(step, told)
    statement, parameters = statement_for(step, drafts)
    stored = (await connection.execute(statement, parameters)).all()
    if not stored:
        raise ClaimLostError(step.claim)
    return [stored_event(draft, row.id) for draft, row in zip(drafts, stored, strict=False)]


def _drafts(step: Step, told: Sequence[LiveEvent]) -> list[Row]:
    return draft_rows([(step.session_id, event) for event in told])


def _announcements(step: Step) -> list[LiveEvent]:
    """Everything a person should see of `step` but its being the last, in the order in which it is told."""
    session_id = step.session_id
    drafts: list[LiveEvent] = []
    for stage in step.stages:
        drafts += announce.stage_started(stage)
    drafts += [announce.timeline_completed(session_id, close) for close in step.closed]
    drafts += [announce.timeline_created(event) for event in step.opened]
    drafts += [announce.interaction_created(interaction) for interaction in (*step.llm_interactions, *step.mcp_interactions)]
    drafts += [announce.execution_status(session_id, change) for change in step.execution_changes]
    drafts += [announce.stage_completed(session_id, close) for close in step.stage_closes]
    return drafts


async def _close_noun(connection: AsyncConnection, step: Step) -> list[LiveEvent]:
    """End what the claimed work is about, and say so."""
    drafts: list[LiveEvent] = []
    if step.session_close:
        session = await _close_session(connection, step, step.session_close)
        drafts += announce.session_completed(step.session_id, step.session_close, alert_type=session.alert_type)
        if step.score:
            await request_score(connection, step.score, chain_id=session.chain_id)
    if step.work_close:
        await _close_followup(connection, step.claim, step.work_close)
        drafts.append(announce.work_completed(step.session_id, step.claim.kind, step.claim.subject_id, step.work_close))
    return drafts


async def _close_followup(connection: AsyncConnection, claim: Claim, close: WorkClose) -> None:
    door = SUBJECTS[claim.kind].door
    judgement = asdict(close.judgement) if close.judgement else {}
    values = storable_json({"completed_at": close.completed_at, "error_message": close.error_message, **judgement})
    await connection.execute(door.move(close.status, **values).where(door.table.c.id == claim.subject_id))


async def _close_session(connection: AsyncConnection, step: Step, close: SessionClose) -> sa.Row[Any, Any]:
    values = {
        "completed_at": close.completed_at,
        "analysis_is_partial": close.analysis_is_partial,
        "analysis_partial_reason": close.analysis_partial_reason,
        "error_message": close.error_message,
        "executive_summary_error": close.executive_summary_error,
        "final_analysis": close.final_analysis,
        "executive_summary": close.executive_summary,
    }
    move = SESSIONS.move(close.status, **storable_json(values)).where(alert_sessions.c.id == step.session_id)
    ended = (await connection.execute(move.returning(alert_sessions.c.alert_type, alert_sessions.c.chain_id))).one_or_none()
    if ended is None:
        raise ClaimLostError(step.claim)
    return ended


# Not the bodies: they are large, and a worker that continues does not need them.
_OF_CALLS = ("kind", "turn", "error_code", "error_message", "provider")


async def _load(connection: AsyncConnection, execution_id: str) -> StoredRun:
    stored = await connection.execute(
        sa.select(messages).where(messages.c.execution_id == execution_id).order_by(messages.c.sequence_number)
    )
    calls = await connection.execute(
        sa.select(*(llm_interactions.c[name] for name in _OF_CALLS))
        .where(llm_interactions.c.execution_id == execution_id)
        .order_by(llm_interactions.c.started_at)
    )
    last = sa.select(sa.func.max(timeline_events.c.sequence_number)).where(timeline_events.c.execution_id == execution_id)
    execution = sa.select(agent_executions.c.status, last.scalar_subquery().label("last_sequence"))
    standing = (await connection.execute(execution.where(agent_executions.c.id == execution_id))).one()
    is_timeout = mcp_interactions.c.result["is_timeout"].as_boolean()
    waited = sa.select(mcp_interactions.c.call_id).where(mcp_interactions.c.execution_id == execution_id, mcp_interactions.c.is_error)
    timed_out = (await connection.execute(waited.where(is_timeout))).scalars()
    return StoredRun(
        messages=tuple(rows.message_of(row) for row in stored.mappings()),
        calls=tuple(StoredCall(*row) for row in calls),
        timed_out_tools=frozenset(timed_out),
        begun=standing.status != RunStatus.PENDING,
        next_timeline_sequence=(standing.last_sequence or 0) + 1,
    )
