"""The durable record of a run: one Step, one transaction, fenced by its claim, published with its commit.

Locks are always taken in the same order: the claimed row, the session's channel, the shared channel.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows, signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.leftovers import interrupt_events
from tarsy.db.outbox import Row, draft_rows, stored_event
from tarsy.db.retry import retrying
from tarsy.db.step_statement import statement_for
from tarsy.db.storable import storable_json
from tarsy.db.tables import agent_executions, alert_sessions, llm_interactions, mcp_interactions, messages, session_scores, timeline_events
from tarsy.domain import announce
from tarsy.domain.claim import ClaimKind, ClaimLostError
from tarsy.domain.live import LiveEvent, StoredLiveEvent
from tarsy.domain.session import SessionClose, ending
from tarsy.domain.status import RunStatus, SessionStatus, sources_of
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
            claimed = (await connection.execute(_claimed_row(step).with_for_update())).one_or_none()
            if claimed is None:
                raise ClaimLostError(step.claim)
            if ends := step.session_close or step.work_close:
                return claimed.completed_at == ends.completed_at
            if drafts := _drafts(step, _announcements(step)):
                payload = orjson.dumps(drafts[0]["payload"]).decode()
                return (await connection.execute(_TOLD, {"channel": drafts[0]["channel"], "payload": payload})).scalar_one()
            if step.messages:
                return (await connection.execute(_SAID, {"id": step.messages[0].id})).scalar_one()
            # What is left only sets what may be set twice.
            return False


def _claimed_row(step: Step) -> sa.Select[Any, Any]:
    table = CLAIM_TABLES[step.claim.kind]
    return sa.select(table.c.claim_token, table.c.completed_at).where(table.c.id == step.claim.id)


async def _end(connection: AsyncConnection, step: Step, at: datetime) -> list[StoredLiveEvent]:
    """Write a step that ends what was claimed.

    Raises:
        ClaimLostError: the claim's token is no longer the row's, or the row was erased.
    """
    claimed = (await connection.execute(_claimed_row(step).with_for_update(key_share=True))).one_or_none()
    if claimed is None or claimed.claim_token != step.claim.token:
        raise ClaimLostError(step.claim)
    # Read after the lock: a cancellation may have come while we waited for it.
    of_session = sa.select(alert_sessions.c.status, alert_sessions.c.alert_type).where(alert_sessions.c.id == step.session_id)
    session = (await connection.execute(of_session)).one()
    if step.session_close:
        close = ending(SessionStatus(session.status), step.session_close)
        # What was cancelled in its last moment is not judged either.
        step = replace(step, session_close=close, score=step.score if close.status is SessionStatus.COMPLETED else None)
    # Whatever an agent could not close in time must not stream for ever.
    left_open = await interrupt_events(connection, step.claim.kind, step.session_id, at)
    stored = await _store(connection, step, [*left_open, *_announcements(step), *_ends(step, session.alert_type)])
    await _close_work(connection, step)
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


def _ends(step: Step, alert_type: str) -> list[LiveEvent]:
    drafts: list[LiveEvent] = []
    if step.session_close:
        drafts += announce.session_completed(step.session_id, step.session_close, alert_type=alert_type)
    if step.work_close:
        drafts.append(announce.work_completed(step.claim, step.work_close))
    return drafts


async def _close_work(connection: AsyncConnection, step: Step) -> None:
    """End what was claimed."""
    if step.session_close:
        await _close_session(connection, step, step.session_close)
        await signals.notify(connection, signals.WORK, ClaimKind.SESSION)
    if step.score:
        await connection.execute(sa.insert(session_scores).values(asdict(step.score)))
        await signals.notify(connection, signals.WORK, ClaimKind.SCORE)
    if step.work_close:
        await _close_followup(connection, step, step.work_close)


async def _close_followup(connection: AsyncConnection, step: Step, close: WorkClose) -> None:
    table = CLAIM_TABLES[step.claim.kind]
    values = {
        "status": close.status.value,
        "completed_at": close.completed_at,
        "error_message": close.error_message,
        "claim_token": None,
    }
    if step.claim.kind is ClaimKind.SCORE:
        values |= {"total_score": close.total_score, "analysis": close.analysis, "missing_tools": close.missing_tools}
    await connection.execute(sa.update(table).where(table.c.id == step.claim.id).values(storable_json(values)))


async def _close_session(connection: AsyncConnection, step: Step, close: SessionClose) -> None:
    movable = (
        (alert_sessions.c.id == step.session_id)
        & (alert_sessions.c.claim_token == step.claim.token)
        & alert_sessions.c.status.in_([source.value for source in sources_of(close.status)])
    )
    values = {
        "status": close.status.value,
        "completed_at": close.completed_at,
        "claim_token": None,
        "analysis_is_partial": close.analysis_is_partial,
        "error_message": close.error_message,
        "executive_summary_error": close.executive_summary_error,
        "final_analysis": close.final_analysis,
        "executive_summary": close.executive_summary,
    }
    result = await connection.execute(sa.update(alert_sessions).where(movable).values(storable_json(values)))
    if result.rowcount != 1:
        raise ClaimLostError(step.claim)


# Not the bodies: they are large, and nobody who continues needs them.
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
