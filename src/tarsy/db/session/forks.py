"""What a fork keeps of an agent that goes on in it: what it had left behind before a call that is made anew, or before a report that it waits for anew."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.errors import QueueFullError
from tarsy.db.session.admission import insert_sessions, make_ready, room_for
from tarsy.db.session.notes import NewNote, store_notes
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
from tarsy.domain.fork import DispatchTurn, ForkPlace, ForkPlan, ModelUse
from tarsy.domain.live_events import session_channel
from tarsy.domain.note import NoteKind
from tarsy.domain.run_input import InputKind
from tarsy.domain.session import NewSession
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType

Condition = sa.ColumnElement[bool]
Changes = Mapping[str, sa.ColumnElement[Any]]
# The rows of a table that are kept, and what is changed in them.
Part = tuple[sa.Table, Condition, Changes]

_STOPPED = [status.value for status in (TimelineStatus.CANCELLED, TimelineStatus.TIMED_OUT, TimelineStatus.INTERRUPTED)]
_EVENT_CALL = timeline_events.c.metadata["call_id"].astext
# The message by which an agent asked for a call, found by the event that was stored with it.
_ASKED = sa.text(
    """
    SELECT m.sequence_number, m.created_at, m.tool_calls, c.metadata ->> 'call_id' AS call_id
    FROM timeline_events c
    JOIN messages m ON m.execution_id = c.execution_id AND m.role = 'assistant' AND m.created_at <= c.created_at
    WHERE c.execution_id = CAST(:execution_id AS uuid) AND c.event_type = 'llm_tool_call' AND c.metadata ->> 'evidence_id' = :evidence_id
    ORDER BY m.sequence_number DESC LIMIT 1
    """
)


def before_call(place: ForkPlace) -> Iterator[Part]:
    """What was there before the call that is made anew."""
    at, turn = place.at, place.turn
    yield messages, messages.c.created_at <= at, _as_then(turn)
    yield llm_interactions, llm_interactions.c.started_at < at, {}
    yield mcp_interactions, mcp_interactions.c.started_at < at, {}
    yield timeline_events, timeline_events.c.created_at <= at, {}
    # A time and a note are told before the call of their turn, everything else comes of it.
    told_first = run_inputs.c.kind.in_([InputKind.NOW.value, InputKind.NOTE.value])
    yield run_inputs, (run_inputs.c.turn < turn) | ((run_inputs.c.turn == turn) & told_first), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The answer of a sender by which it sent an agent, and the places that its conversation has for the results of that answer's calls."""

    sending: DispatchTurn
    said_at: datetime
    call_id: str
    places: range
    # That of the report.
    place: int


async def read_dispatch(connection: AsyncConnection, sending: DispatchTurn) -> Dispatch:
    call = {"execution_id": sending.parent.id, "evidence_id": sending.evidence_id}
    asked = (await connection.execute(_ASKED, call)).one()
    # A call that is written as text is the only one of its answer.
    calls = [call["id"] for call in asked.tool_calls or ()] or [asked.call_id]
    first = asked.sequence_number + 1
    return Dispatch(
        sending=sending,
        said_at=asked.created_at,
        call_id=asked.call_id,
        places=range(first, first + len(calls)),
        place=first + calls.index(asked.call_id),
    )


def before_report(sent: Dispatch) -> Iterator[Part]:
    """What a sender had after the calls of its answer were made, without what became of the one that sent the agent: as after a crash, it waits for that again."""
    turn, until = sent.sending.turn, sent.sending.until
    place = messages.c.sequence_number
    yield messages, (place < sent.places.stop) & (place != sent.place), _as_then(turn)
    yield llm_interactions, _is_before(llm_interactions.c.started_at, until), {}
    other_call = mcp_interactions.c.call_id.is_distinct_from(sent.call_id)
    yield mcp_interactions, _is_before(mcp_interactions.c.started_at, until) & other_call, {}
    yield timeline_events, _told_by_then(sent) & ~_awaited(sent), {}
    read_anew = (run_inputs.c.kind == InputKind.READ.value) & (run_inputs.c.name == sent.sending.evidence_id)
    yield run_inputs, (run_inputs.c.turn <= turn) & ~read_anew, {}


def _is_before(moment: sa.Column[Any], until: datetime | None) -> Condition:
    return sa.true() if until is None else moment < until


def _told_by_then(sent: Dispatch) -> Condition:
    """Up to the last result of the answer's calls: what follows it (notes, a ceiling) belongs to the sender's next call."""
    if sent.sending.until is None:
        return sa.true()
    place = messages.c.sequence_number
    of_turn = (messages.c.execution_id == sent.sending.parent.id) & (place >= sent.places.start) & (place < sent.places.stop)
    return timeline_events.c.created_at <= sa.select(sa.func.max(messages.c.created_at)).where(of_turn).scalar_subquery()


def _awaited(sent: Dispatch) -> Condition:
    """Entries of that turn which the one who goes on opens anew: those of calls without a result, and what was cut off."""
    is_result = timeline_events.c.event_type == TimelineEventType.TOOL_RESULT.value
    has_result = (sent.call_id != _EVENT_CALL) & _EVENT_CALL.in_(_answered_calls(sent.sending.parent.id))
    cut_off = timeline_events.c.status.in_(_STOPPED)
    return (timeline_events.c.created_at >= sent.said_at) & sa.case((is_result, ~has_result), else_=cut_off)


def _answered_calls(execution_id: str) -> sa.CompoundSelect[tuple[str]]:
    """A result is in its place, or is stored to be shortened first."""
    placed = sa.select(messages.c.tool_call_id).where(messages.c.execution_id == execution_id, messages.c.tool_call_id.is_not(None))
    kept = sa.select(mcp_interactions.c.call_id).where(
        mcp_interactions.c.execution_id == execution_id, mcp_interactions.c.call_id.is_not(None)
    )
    return sa.union(placed, kept)


def _as_then(turn: int) -> Changes:
    """Messages as the call `turn` was sent them: what was shortened only for later calls is whole again."""
    later = messages.c.compacted_before_turn > turn
    return {
        "content": sa.case((later, messages.c.original_content), else_=messages.c.content),
        "original_content": sa.case((later, sa.null()), else_=messages.c.original_content),
        "compacted_before_turn": sa.case((later, sa.null()), else_=messages.c.compacted_before_turn),
    }


_IDS = frozenset({"id", "stage_id", "execution_id", "parent_execution_id", "referenced_stage_id"})
# It was paid for by the session that it was made in, and counts there.
_PAID = {name: sa.literal(0) for name in ("input_tokens", "output_tokens", "total_tokens", "thinking_tokens", "cached_tokens", "cost_usd")}
_OPEN = {"status": sa.literal(RunStatus.ACTIVE.value), "error_message": sa.null(), "completed_at": sa.null()}

# What an execution leaves behind.
_LEFT_BEHIND = (messages, llm_interactions, mcp_interactions, timeline_events, run_inputs, citations)


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
            for statement in _copies(session.id, plan, await _going_on(connection, plan), use):
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


async def _going_on(connection: AsyncConnection, plan: ForkPlan) -> dict[str, list[Part]]:
    """What is kept of the agents that go on, by their executions: first the one that sent the other."""
    forked = {plan.execution.id: list(before_call(plan.place))}
    if plan.dispatch is None:
        return forked
    return {plan.dispatch.parent.id: list(before_report(await read_dispatch(connection, plan.dispatch))), **forked}


def _copies(fork: str, plan: ForkPlan, going_on: Mapping[str, Sequence[Part]], use: ModelUse | None) -> Iterator[sa.Insert]:
    """In the order in which the tables refer to each other."""
    session_id = plan.execution.session_id
    yield _copy(stages, fork, stages.c.id.in_(plan.stages))
    yield _copy(stages, fork, stages.c.id == plan.stage.id, **_OPEN)
    for execution_id in going_on:
        yield _copy(agent_executions, fork, agent_executions.c.id == execution_id, **_OPEN, cancel_requested=sa.false(), **_asks(use))
    # Among them those that one of these had sent.
    yield _copy(agent_executions, fork, agent_executions.c.id.in_(plan.executions))
    for table in _LEFT_BEHIND:
        yield _copy(table, fork, table.c.execution_id.in_(plan.executions), **_unpaid(table))
    for execution_id, parts in going_on.items():
        for table, kept, changed in parts:
            yield _copy(table, fork, table.c.execution_id == execution_id, kept, **changed, **_unpaid(table))
    of_session = timeline_events.c.session_id == session_id
    whole_before = timeline_events.c.created_at <= plan.place.at
    yield _copy(timeline_events, fork, of_session, timeline_events.c.execution_id.is_(None), whole_before, _of_kept_stages(plan))
    yield _copy(notes, fork, notes.c.session_id == session_id, (notes.c.created_at <= plan.place.at) | _was_heard(plan))


def _unpaid(table: sa.Table) -> Changes:
    return _PAID if table is llm_interactions else {}


def _was_heard(plan: ForkPlan) -> Condition:
    """Whether a note came before one that an agent was told of which is kept: what it calls NOTE2 is no other note in the fork."""
    told = run_inputs.c.execution_id.in_(plan.executions) & (run_inputs.c.kind == InputKind.NOTE.value)
    last = sa.select(sa.func.max(run_inputs.c.fields["number"].as_integer())).where(told).scalar_subquery()
    return notes.c.number <= last


def _of_kept_stages(plan: ForkPlan) -> Condition:
    stage_id = timeline_events.c.stage_id
    return stage_id.is_(None) | stage_id.in_([*plan.stages, plan.stage.id])


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
