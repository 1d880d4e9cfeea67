"""The durable record of a run: one Step, one transaction, fenced by its claim, published with its commit.

Locks are always taken in the same order: the claimed row, the session's channel, the shared channel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows, signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.outbox import allocate, publish
from tarsy.db.patience import patiently
from tarsy.db.storable import storable, storable_json
from tarsy.db.tables import (
    agent_executions,
    alert_sessions,
    llm_interactions,
    mcp_interactions,
    messages,
    stages,
    timeline_events,
)
from tarsy.domain import announce
from tarsy.domain.claim import ClaimKind, ClaimLostError
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live import LiveEvent, StoredLiveEvent, session_channel
from tarsy.domain.session import SessionClose, ending
from tarsy.domain.stage import StageClose
from tarsy.domain.status import RUN_MOVES, RunStatus, SessionStatus, sources_of
from tarsy.domain.step import Step, StoredCall, StoredRun
from tarsy.domain.timeline import TimelineClose, TimelineEvent
from tarsy.domain.usage import TokenUsage

Deliver = Callable[[Sequence[StoredLiveEvent]], None]


_STATUS = sa.text("SELECT pg_xact_status(CAST(:id AS xid8))")


@dataclass(slots=True)
class _Transaction:
    """Which transaction carries a step: enough to ask what became of it when the connection was lost during its commit."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class _Fenced:
    """What is known of the session while the step holds its claim."""

    status: SessionStatus
    alert_type: str
    transaction_id: str


class PostgresJournal:
    """Writes steps. `deliver` hands what was committed to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, deliver: Deliver) -> None:
        self._engine = engine
        self._deliver = deliver

    async def commit(self, step: Step) -> None:
        transaction = _Transaction()

        async def attempt() -> list[StoredLiveEvent]:
            if await self._went_through(transaction):
                return []
            async with self._engine.begin() as connection:
                transaction.id = None
                return await _write(connection, step, transaction)

        self._deliver(await patiently(attempt))

    async def load(self, execution_id: str) -> StoredRun:
        async def attempt() -> StoredRun:
            async with self._engine.connect() as connection:
                return await _load(connection, execution_id)

        return await patiently(attempt)

    async def _went_through(self, transaction: "_Transaction") -> bool:
        """Whether the attempt before, whose connection was lost, was committed all the same."""
        if transaction.id is None:
            return False
        async with self._engine.connect() as connection:
            status = (await connection.execute(_STATUS, {"id": transaction.id})).scalar_one()
        if status == "in progress":
            raise ConnectionError("the transaction of the lost connection has not ended yet")
        return status == "committed"


async def _write(connection: AsyncConnection, step: Step, transaction: _Transaction) -> list[StoredLiveEvent]:
    fenced = await _fence(connection, step)
    transaction.id = fenced.transaction_id
    if step.session_close:
        step = replace(step, session_close=ending(fenced.status, step.session_close))
    drafts = _announcements(step, fenced)
    channel = session_channel(step.session_id)
    ids = await allocate(connection, channel, sum(draft.channel == channel for draft in drafts))
    await _write_rows(connection, replace(step, opened=_positioned(step.opened, drafts, ids)))
    return await publish(connection, drafts, session_id=step.session_id, ids={channel: ids})


async def _fence(connection: AsyncConnection, step: Step) -> _Fenced:
    """Hold the claim for this transaction.

    Raises:
        ClaimLostError: the claim's token is no longer the row's.
    """
    table = CLAIM_TABLES[step.claim.kind]
    held = sa.select(table.c.id).where(table.c.id == step.claim.id, table.c.claim_token == step.claim.token)
    # A step that will change the claimed row says so from the start: two readers that both want to write later would wait for each other.
    changes_claimed_row = bool(step.session_close or step.work_close or step.runbook is not None)
    held = held.with_for_update(key_share=True) if changes_claimed_row else held.with_for_update(read=True)
    if (await connection.execute(held)).first() is None:
        raise ClaimLostError(step.claim)
    xid = sa.cast(sa.func.pg_current_xact_id(), sa.Text).label("xid")
    session = sa.select(alert_sessions.c.status, alert_sessions.c.alert_type, xid).where(alert_sessions.c.id == step.session_id)
    row = (await connection.execute(session)).one()
    return _Fenced(SessionStatus(row.status), row.alert_type, row.xid)


def _announcements(step: Step, fenced: _Fenced) -> list[LiveEvent]:
    """Everything a person should see of `step`, in the order in which it is told."""
    session_id = step.session_id
    drafts: list[LiveEvent] = []
    for stage in step.stages:
        drafts += announce.stage_started(stage)
    drafts += [announce.timeline_completed(session_id, close) for close in step.closed]
    drafts += [announce.timeline_created(event) for event in step.opened]
    drafts += [announce.interaction_created(interaction) for interaction in (*step.llm_interactions, *step.mcp_interactions)]
    drafts += [announce.execution_status(session_id, change) for change in step.execution_changes]
    drafts += [announce.stage_completed(session_id, close) for close in step.stage_closes]
    if step.session_close:
        drafts += announce.session_completed(session_id, step.session_close, alert_type=fenced.alert_type)
    if step.work_close:
        drafts.append(announce.work_completed(step.claim, step.work_close))
    return drafts


def _positioned(opened: Sequence[TimelineEvent], drafts: Sequence[LiveEvent], ids: range) -> tuple[TimelineEvent, ...]:
    """Give each new timeline event the id of the live event that announces it."""
    if not opened:
        return ()
    channel = session_channel(opened[0].session_id)
    numbers = dict(zip((id(draft) for draft in drafts if draft.channel == channel), ids, strict=True))
    announced = {draft.payload["event"]["id"]: numbers[id(draft)] for draft in drafts if "event" in draft.payload}
    return tuple(replace(event, position=announced[event.id]) for event in opened)


async def _write_rows(connection: AsyncConnection, step: Step) -> None:
    inserts = (
        (stages, [rows.stage_row(stage) for stage in step.stages]),
        (agent_executions, [rows.execution_row(execution) for execution in step.executions]),
        (messages, [rows.message_row(message, step.session_id) for message in step.messages]),
        (timeline_events, [rows.timeline_row(event) for event in step.opened]),
        (llm_interactions, [rows.llm_interaction_row(interaction) for interaction in step.llm_interactions]),
        (mcp_interactions, [rows.mcp_interaction_row(interaction) for interaction in step.mcp_interactions]),
    )
    for table, values in inserts:
        if values:
            await connection.execute(sa.insert(table).values(values))
    for message_id, content in step.compacted:
        await _compact(connection, message_id, content)
    for close in step.closed:
        await _close_event(connection, close)
    for change in step.execution_changes:
        await _change_execution(connection, change)
    for close in step.stage_closes:
        await _close_stage(connection, close)
    await _close_work(connection, step)


async def _compact(connection: AsyncConnection, message_id: str, content: str) -> None:
    kept = sa.func.coalesce(messages.c.original_content, messages.c.content)
    await connection.execute(
        sa.update(messages).where(messages.c.id == message_id).values(content=storable(content), original_content=kept)
    )


async def _close_event(connection: AsyncConnection, close: TimelineClose) -> None:
    values: dict[str, Any] = {
        "status": close.status.value,
        "content": storable(close.content),
        "completed_at": close.completed_at,
    }
    if close.metadata:
        values["metadata"] = timeline_events.c.metadata.op("||")(sa.cast(storable_json(close.metadata), timeline_events.c.metadata.type))
    if close.event_type:
        values["event_type"] = close.event_type.value
    still_open = (timeline_events.c.id == close.event_id) & (timeline_events.c.status == "streaming")
    await connection.execute(sa.update(timeline_events).where(still_open).values(values))


async def _change_execution(connection: AsyncConnection, change: ExecutionChange) -> None:
    values = {
        name: value
        for name in ("status", "error_message", "llm_provider", "llm_backend", "model_name")
        if (value := getattr(change, name)) is not None
    }
    statement = sa.update(agent_executions).where(agent_executions.c.id == change.execution_id)
    if change.status:
        statement = statement.where(agent_executions.c.status.in_(_run_sources(change.status)))
        values["started_at" if change.status is RunStatus.ACTIVE else "completed_at"] = change.at
    await connection.execute(statement.values(values))


async def _close_stage(connection: AsyncConnection, close: StageClose) -> None:
    movable = (stages.c.id == close.stage_id) & stages.c.status.in_(_run_sources(close.status))
    await connection.execute(
        sa.update(stages)
        .where(movable)
        .values(status=close.status.value, error_message=close.error_message, completed_at=close.completed_at)
    )


def _run_sources(target: RunStatus) -> list[str]:
    return [source.value for source, targets in RUN_MOVES.items() if target in targets]


async def _close_work(connection: AsyncConnection, step: Step) -> None:
    """End what was claimed, or note on it which stage is its own and what its agents are given."""
    table = CLAIM_TABLES[step.claim.kind]
    if step.runbook is not None:
        of_session = alert_sessions.c.id == step.session_id
        await connection.execute(sa.update(alert_sessions).where(of_session).values(runbook=storable(step.runbook)))
    if step.session_close:
        await _close_session(connection, step, step.session_close)
        await signals.notify(connection, signals.WORK, ClaimKind.SESSION)
    if step.work_close:
        close = step.work_close
        values = {
            "status": close.status.value,
            "completed_at": close.completed_at,
            "error_message": close.error_message,
            "claim_token": None,
        }
        if step.claim.kind is ClaimKind.SCORE:
            values |= {"total_score": close.total_score, "analysis": close.analysis, "missing_tools": close.missing_tools}
        await connection.execute(sa.update(table).where(table.c.id == step.claim.id).values(values))
    if step.stages and step.claim.kind is not ClaimKind.SESSION:
        await connection.execute(sa.update(table).where(table.c.id == step.claim.id).values(stage_id=step.stages[0].id))


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
        "final_analysis": storable(close.final_analysis) if close.final_analysis is not None else None,
        "executive_summary": storable(close.executive_summary) if close.executive_summary is not None else None,
    }
    result = await connection.execute(sa.update(alert_sessions).where(movable).values(values))
    if result.rowcount != 1:
        raise ClaimLostError(step.claim)


async def _load(connection: AsyncConnection, execution_id: str) -> StoredRun:
    stored = await connection.execute(
        sa.select(messages).where(messages.c.execution_id == execution_id).order_by(messages.c.sequence_number)
    )
    calls = (
        await connection.execute(
            sa.select(llm_interactions).where(llm_interactions.c.execution_id == execution_id).order_by(llm_interactions.c.started_at)
        )
    ).mappings()
    of_calls = list(calls)
    last = sa.select(sa.func.coalesce(sa.func.max(timeline_events.c.sequence_number), 0))
    last_sequence = (await connection.execute(last.where(timeline_events.c.execution_id == execution_id))).scalar_one()
    usage = sum((TokenUsage(**{name: row[name] for name in TokenUsage.__dataclass_fields__}) for row in of_calls), TokenUsage())
    return StoredRun(
        messages=tuple(rows.message_of(row) for row in stored.mappings()),
        calls=tuple(StoredCall(row["kind"], row["turn"], row["error_code"]) for row in of_calls),
        next_timeline_sequence=last_sequence + 1,
        usage=usage,
    )
