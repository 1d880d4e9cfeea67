"""Forks: a session that begins with a copy of another one's steps, written in one transaction. To its worker it is one that is continued.

Ids of copies follow from those of the originals and that of the fork, so that what refers to each other still does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.admission import make_ready, room_for
from tarsy.db.audit import AuditAction, note
from tarsy.db.errors import QueueFullError
from tarsy.db.new_sessions import insert_sessions
from tarsy.db.notes import NewNote, store_notes
from tarsy.db.tables import (
    Id,
    agent_executions,
    citations,
    event_channels,
    llm_interactions,
    mcp_interactions,
    messages,
    notes,
    run_inputs,
    session_figures,
    stages,
    timeline_events,
)
from tarsy.domain.fork import ForkPlan, ModelUse
from tarsy.domain.live import session_channel
from tarsy.domain.note import NoteKind
from tarsy.domain.run_input import InputKind
from tarsy.domain.session import NewSession
from tarsy.domain.status import RunStatus
from tarsy.domain.timeline import TimelineEventType

_IDS = frozenset({"id", "stage_id", "execution_id", "parent_execution_id", "referenced_stage_id"})
# It was paid for by the session that it was made in, and counts there.
_PAID = {name: sa.literal(0) for name in ("input_tokens", "output_tokens", "total_tokens", "thinking_tokens", "cached_tokens", "cost_usd")}
_OPEN = {"status": sa.literal(RunStatus.ACTIVE.value), "error_message": sa.null(), "completed_at": sa.null()}

Condition = sa.ColumnElement[bool]


class ForkRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def store(
        self, session: NewSession, plan: ForkPlan, *, use: ModelUse | None, hint: str | None, max_queue_size: int | None
    ) -> None:
        """Store `session` with the steps that `plan` keeps, and wake a worker. `hint` is told before the first new call.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        async with self._engine.begin() as connection:
            if max_queue_size is not None and await room_for(connection, max_queue_size, 1) < 1:
                raise QueueFullError(max_queue_size)
            await insert_sessions(connection, [session])
            for statement in _copies(session.id, plan, use):
                await connection.execute(statement)
            await _count_on(connection, session.id)
            await connection.execute(_figures(session.id))
            if hint:
                await store_notes(connection, NoteKind.HINT, [NewNote(session.id, session.author, hint)], session.created_at)
            details = dict(session.fork or {})
            await note(connection, actor=session.author, action=AuditAction.SESSION_FORKED, session_id=session.id, details=details)
            await make_ready(connection, [session])


async def _count_on(connection: AsyncConnection, fork: str) -> None:
    """Number what happens from now on after what is copied: the order of the timeline is that of these numbers."""
    copied = timeline_events.c
    last = sa.select(sa.literal(session_channel(fork)), sa.func.coalesce(sa.func.max(copied.position), 0)).where(copied.session_id == fork)
    await connection.execute(sa.insert(event_channels).from_select(["name", "last_id"], last))


def _figures(fork: str) -> sa.Insert:
    """What the copied steps would have added to the figures of their session."""
    agents = sa.select(sa.func.count()).where(agent_executions.c.session_id == fork).scalar_subquery()
    event = timeline_events.c
    took_over = (event.session_id == fork) & (event.event_type == TimelineEventType.PROVIDER_FALLBACK.value)
    fallbacks = sa.select(sa.func.count()).where(took_over).scalar_subquery()
    counted = sa.select(sa.literal(fork, Id), agents, fallbacks)
    return sa.insert(session_figures).from_select(["session_id", "agents", "fallbacks"], counted)


def _copies(fork: str, plan: ForkPlan, use: ModelUse | None) -> Iterator[sa.Insert]:
    """In the order in which the tables refer to each other."""
    own, session_id = plan.execution.id, plan.execution.session_id
    yield _copy(stages, fork, stages.c.id.in_(plan.stages))
    yield _copy(stages, fork, stages.c.id == plan.stage.id, **_OPEN)
    yield _copy(agent_executions, fork, agent_executions.c.id == own, **_OPEN, cancel_requested=sa.false(), **_asks(use))
    # Among them those that it had sent.
    yield _copy(agent_executions, fork, agent_executions.c.id.in_(plan.executions))
    for table, before, changed in _parts(plan):
        yield _copy(table, fork, table.c.execution_id.in_(plan.executions), **(_PAID if table is llm_interactions else {}))
        yield _copy(table, fork, table.c.execution_id == own, before, **changed)
    yield _copy(citations, fork, citations.c.execution_id.in_(plan.executions))
    of_session = timeline_events.c.session_id == session_id
    yield _copy(timeline_events, fork, of_session, timeline_events.c.execution_id.is_(None), _whole_before(plan), _of_kept_stages(plan))
    yield _copy(notes, fork, notes.c.session_id == session_id, notes.c.created_at <= plan.place.at)


def _parts(plan: ForkPlan) -> Iterator[tuple[sa.Table, Condition, Mapping[str, sa.ColumnElement[Any]]]]:
    """What an execution leaves behind, and which of it was there before the call that is made anew."""
    at, turn = plan.place.at, plan.place.turn
    yield messages, messages.c.created_at <= at, _as_then(turn)
    yield llm_interactions, llm_interactions.c.started_at < at, _PAID
    yield mcp_interactions, mcp_interactions.c.started_at < at, {}
    yield timeline_events, _whole_before(plan), {}
    yield run_inputs, _reached(turn), {}


def _as_then(turn: int) -> dict[str, sa.ColumnElement[Any]]:
    """Messages as the call was sent them: what was shortened only for later calls is whole again."""
    later = messages.c.compacted_before_turn > turn
    return {
        "content": sa.case((later, messages.c.original_content), else_=messages.c.content),
        "original_content": sa.case((later, sa.null()), else_=messages.c.original_content),
        "compacted_before_turn": sa.case((later, sa.null()), else_=messages.c.compacted_before_turn),
    }


def _whole_before(plan: ForkPlan) -> Condition:
    return timeline_events.c.created_at <= plan.place.at


def _of_kept_stages(plan: ForkPlan) -> Condition:
    stage_id = timeline_events.c.stage_id
    return stage_id.is_(None) | stage_id.in_([*plan.stages, plan.stage.id])


def _reached(turn: int) -> Condition:
    """A time and a note are told before the call of their turn, everything else comes of it."""
    told_first = run_inputs.c.kind.in_([InputKind.NOW.value, InputKind.NOTE.value])
    return (run_inputs.c.turn < turn) | ((run_inputs.c.turn == turn) & told_first)


def _asks(use: ModelUse | None) -> dict[str, sa.ColumnElement[Any]]:
    if use is None:
        return {}
    names = {"llm_provider": use.provider.name, "llm_backend": use.backend.value, "model_name": use.provider.model}
    return {name: sa.literal(value) for name, value in names.items()}


def _copy(table: sa.Table, fork: str, *where: Condition, **changed: sa.ColumnElement[Any]) -> sa.Insert:
    columns = [changed[column.name] if column.name in changed else _in_fork(column, fork) for column in table.c]
    return sa.insert(table).from_select([column.name for column in table.c], sa.select(*columns).where(*where))


def _in_fork(column: sa.Column[Any], fork: str) -> sa.ColumnElement[Any]:
    if column.name == "session_id":
        return sa.literal(fork, Id)
    if column.name in _IDS:
        return sa.cast(sa.func.md5(sa.cast(column, sa.Text) + fork), Id)
    return column
