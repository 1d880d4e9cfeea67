"""The durable record of a run: one Step, one transaction, fenced by its claim, published with its commit.

Locks are always taken in the same order: the claimed row, the session's channel, the shared channel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import asyncpg
import orjson
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows, signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.leftovers import interrupt_events
from tarsy.db.outbox import allocate, numbered
from tarsy.db.patience import patiently
from tarsy.db.step_statement import statement_for
from tarsy.db.storable import storable
from tarsy.db.tables import agent_executions, alert_sessions, llm_interactions, mcp_interactions, messages, session_scores, timeline_events
from tarsy.domain import announce
from tarsy.domain.claim import ClaimKind, ClaimLostError
from tarsy.domain.live import SESSIONS_CHANNEL, LiveEvent, StoredLiveEvent, session_channel
from tarsy.domain.session import SessionClose, ending
from tarsy.domain.status import RunStatus, SessionStatus, sources_of
from tarsy.domain.step import Step, StoredCall, StoredRun, WorkClose
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.usage import TokenUsage

Deliver = Callable[[Sequence[StoredLiveEvent]], None]

_STATUS = sa.text("SELECT pg_xact_status(CAST(CAST(:id AS text) AS xid8))")
_ANNOUNCED = sa.text("SELECT EXISTS (SELECT FROM events WHERE channel = :channel AND id = :id AND payload = CAST(:payload AS jsonb))")
_SAID = sa.text("SELECT EXISTS (SELECT FROM messages WHERE id = CAST(:id AS uuid))")

# Holds the claim and takes the ids of the session's channel, in this order and in one round trip.
_FENCE = """
    WITH held AS (
        SELECT s.status, s.alert_type FROM {work} WHERE w.id = :id AND w.claim_token = :token FOR {lock} OF w
    ),
    channel AS (
        INSERT INTO event_channels AS c (name, last_id)
        SELECT :channel, CAST(:count AS bigint) FROM held WHERE CAST(:count AS bigint) > 0
        ON CONFLICT (name) DO UPDATE SET last_id = c.last_id + excluded.last_id
        RETURNING last_id
    )
    SELECT held.status, held.alert_type, coalesce((SELECT last_id FROM channel), 0) AS last_id,
        CAST(pg_current_xact_id() AS text) AS xid
    FROM held
    """


def _fence_of(kind: ClaimKind, lock: str) -> sa.TextClause:
    table = CLAIM_TABLES[kind].name
    if kind is ClaimKind.SESSION:
        return sa.text(_FENCE.format(work="alert_sessions w JOIN alert_sessions s ON s.id = w.id", lock=lock))
    return sa.text(_FENCE.format(work=f"{table} w JOIN alert_sessions s ON s.id = w.session_id", lock=lock))


_SHARED: Mapping[ClaimKind, sa.TextClause] = {kind: _fence_of(kind, "SHARE") for kind in ClaimKind}
_EXCLUSIVE: Mapping[ClaimKind, sa.TextClause] = {kind: _fence_of(kind, "NO KEY UPDATE") for kind in ClaimKind}


@dataclass(slots=True)
class _Transaction:
    """Which transaction carries a step: enough to ask what became of it when the connection was lost during its commit.

    Its id alone is not: PostgreSQL gives out again the ids of transactions that a crash has swept away. So we look for a row that only
    this step writes. A step without one only sets what may be set twice.
    """

    id: str | None = None
    event: StoredLiveEvent | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Fenced:
    """What is known of the session while the step holds its claim."""

    status: SessionStatus
    alert_type: str
    ids: range


class PostgresJournal:
    """Writes steps. `deliver` hands what was committed to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, deliver: Deliver) -> None:
        self._engine = engine
        self._deliver = deliver

    async def commit(self, step: Step) -> None:
        transaction = _Transaction(message_id=step.messages[0].id if step.messages else None)

        async def attempt() -> list[StoredLiveEvent]:
            if await self._went_through(transaction):
                return []
            async with self._engine.begin() as connection:
                transaction.id = None
                stored = await _write(connection, step, transaction)
                transaction.event = stored[0] if stored else None
                return stored

        # Whole: half of what a step says must never be left to chance by a cancellation.
        self._deliver(await patiently(attempt, whole=True))

    async def load(self, execution_id: str) -> StoredRun:
        async def attempt() -> StoredRun:
            async with self._engine.connect() as connection:
                return await _load(connection, execution_id)

        # Whole as well: an agent that is stopped this early still has a status to end.
        return await patiently(attempt, whole=True)

    async def _went_through(self, transaction: _Transaction) -> bool:
        """Whether the attempt before, whose connection was lost, was committed all the same."""
        if transaction.id is None:
            return False
        async with self._engine.connect() as connection:
            try:
                status = (await connection.execute(_STATUS, {"id": transaction.id})).scalar_one()
            except DBAPIError as error:
                if _is_unheard_of(error):
                    return False
                raise
            if status == "in progress":
                raise ConnectionError("the transaction of the lost connection has not ended yet")
            # Asked after the status, or a commit between the two would be missed.
            return await _has_left_a_trace(connection, transaction)


async def _has_left_a_trace(connection: AsyncConnection, transaction: _Transaction) -> bool:
    if event := transaction.event:
        payload = orjson.dumps(event.payload).decode()
        return (await connection.execute(_ANNOUNCED, {"channel": event.channel, "id": event.id, "payload": payload})).scalar_one()
    if transaction.message_id:
        return (await connection.execute(_SAID, {"id": transaction.message_id})).scalar_one()
    return False


def _is_unheard_of(error: DBAPIError) -> bool:
    """After a failover: the server that took over never saw the transaction."""
    return isinstance(getattr(error.orig, "__cause__", None), asyncpg.InvalidParameterValueError)


async def _write(connection: AsyncConnection, step: Step, transaction: _Transaction) -> list[StoredLiveEvent]:
    channel = session_channel(step.session_id)
    ends = step.session_close or step.work_close
    if ends is None:
        drafts = _announcements(step)
        fenced = await _fence(connection, step, transaction, count=_on(channel, drafts))
        return await _store(connection, step, drafts, fenced.ids)
    fenced = await _fence(connection, step, transaction, count=0)
    if step.session_close:
        step = replace(step, session_close=ending(fenced.status, step.session_close))
    # Whatever an agent could not close in time must not stream for ever.
    left_open = await interrupt_events(connection, step.claim.kind, step.session_id, ends.completed_at)
    drafts = [*left_open, *_announcements(step), *_ends(step, fenced.alert_type)]
    await _close_work(connection, step)
    return await _store(connection, step, drafts, await allocate(connection, channel, _on(channel, drafts)))


async def _fence(connection: AsyncConnection, step: Step, transaction: _Transaction, *, count: int) -> _Fenced:
    """Hold the claim for this transaction, and `count` ids of the session's channel.

    Raises:
        ClaimLostError: the claim's token is no longer the row's.
    """
    # A step that will change the claimed row says so from the start: two readers that both want to write later would wait for each other.
    changes_claimed_row = step.session_close or step.work_close or step.runbook is not None
    fence = (_EXCLUSIVE if changes_claimed_row else _SHARED)[step.claim.kind]
    parameters = {"id": step.claim.id, "token": step.claim.token, "channel": session_channel(step.session_id), "count": count}
    row = (await connection.execute(fence, parameters)).first()
    if row is None:
        raise ClaimLostError(step.claim)
    transaction.id = row.xid
    return _Fenced(SessionStatus(row.status), row.alert_type, range(row.last_id - count + 1, row.last_id + 1))


async def _store(connection: AsyncConnection, step: Step, drafts: Sequence[LiveEvent], ids: range) -> list[StoredLiveEvent]:
    numbers = {session_channel(step.session_id): ids}
    shared = _on(SESSIONS_CHANNEL, drafts)
    if shared:
        numbers[SESSIONS_CHANNEL] = await allocate(connection, SESSIONS_CHANNEL, shared)
    stored = numbered(drafts, numbers)
    statement, parameters = statement_for(replace(step, opened=_positioned(step.opened, stored)), stored)
    await connection.execute(statement, parameters)
    await _note_on_work(connection, step)
    return stored


def _on(channel: str, drafts: Sequence[LiveEvent]) -> int:
    return sum(draft.channel == channel for draft in drafts)


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


def _positioned(opened: Sequence[TimelineEvent], stored: Sequence[StoredLiveEvent]) -> tuple[TimelineEvent, ...]:
    """Give each new timeline event the id of the live event that announces it."""
    announced = {event.payload["event"]["id"]: event.id for event in stored if "event" in event.payload}
    return tuple(replace(event, position=announced[event.id]) for event in opened)


async def _note_on_work(connection: AsyncConnection, step: Step) -> None:
    """Note on what was claimed which stage is its own, or what its agents are given."""
    if step.runbook is not None:
        of_session = alert_sessions.c.id == step.session_id
        await connection.execute(sa.update(alert_sessions).where(of_session).values(runbook=storable(step.runbook)))
    if step.stages and step.claim.kind is not ClaimKind.SESSION:
        table = CLAIM_TABLES[step.claim.kind]
        await connection.execute(sa.update(table).where(table.c.id == step.claim.id).values(stage_id=step.stages[0].id))


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
    await connection.execute(sa.update(table).where(table.c.id == step.claim.id).values(values))


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


# Not the bodies: they are large, and nobody who continues needs them.
_OF_CALLS = ("kind", "turn", "error_code", "error_message", "provider", *TokenUsage.__dataclass_fields__)


async def _load(connection: AsyncConnection, execution_id: str) -> StoredRun:
    stored = await connection.execute(
        sa.select(messages).where(messages.c.execution_id == execution_id).order_by(messages.c.sequence_number)
    )
    calls = (
        await connection.execute(
            sa.select(*(llm_interactions.c[name] for name in _OF_CALLS))
            .where(llm_interactions.c.execution_id == execution_id)
            .order_by(llm_interactions.c.started_at)
        )
    ).mappings()
    of_calls = list(calls)
    last = sa.select(sa.func.max(timeline_events.c.sequence_number)).where(timeline_events.c.execution_id == execution_id)
    execution = sa.select(agent_executions.c.status, last.scalar_subquery().label("last_sequence"))
    standing = (await connection.execute(execution.where(agent_executions.c.id == execution_id))).one()
    is_timeout = mcp_interactions.c.result["is_timeout"].as_boolean()
    waited = sa.select(mcp_interactions.c.call_id).where(mcp_interactions.c.execution_id == execution_id, mcp_interactions.c.is_error)
    timed_out = (await connection.execute(waited.where(is_timeout))).scalars()
    usage = sum((TokenUsage(**{name: row[name] for name in TokenUsage.__dataclass_fields__}) for row in of_calls), TokenUsage())
    return StoredRun(
        messages=tuple(rows.message_of(row) for row in stored.mappings()),
        calls=tuple(StoredCall(row["kind"], row["turn"], row["error_code"], row["error_message"], row["provider"]) for row in of_calls),
        timed_out_tools=frozenset(timed_out),
        begun=standing.status != RunStatus.PENDING,
        next_timeline_sequence=(standing.last_sequence or 0) + 1,
        usage=usage,
    )
