"""Forks: sessions that begin with a copy of the steps of another session, written in one transaction. A worker continues them like any other.

The ids of copies are computed from those of the originals and that of the fork, so that references between them still hold.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.outbox import Publisher
from tarsy.db.session.admission import Admission, NewInvestigation, enqueue_investigations, insert_sessions
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
# The rows of a table that are copied, and the columns that are changed in the copies.
Part = tuple[sa.Table, Condition, Changes]

_IDS = frozenset({"id", "stage_id", "execution_id", "parent_execution_id", "referenced_stage_id"})
# Tokens and cost count in the session that the call was made in.
_UNPAID = {
    name: sa.literal(0) for name in ("input_tokens", "output_tokens", "total_tokens", "thinking_tokens", "cached_tokens", "cost_usd")
}
_OPEN = {"status": sa.literal(RunStatus.ACTIVE.value), "error_message": sa.null(), "completed_at": sa.null()}
# The tables with rows of an execution.
_OF_EXECUTION = (messages, llm_interactions, mcp_interactions, timeline_events, run_inputs, citations)
_STOPPED = [status.value for status in (TimelineStatus.CANCELLED, TimelineStatus.TIMED_OUT, TimelineStatus.INTERRUPTED)]
# The message with a tool call, found by the timeline event that was stored with it.
_CALLING_MESSAGE = sa.text(
    """
    SELECT m.sequence_number, m.created_at, m.tool_calls, c.metadata ->> 'call_id' AS call_id
    FROM timeline_events c
    JOIN messages m ON m.execution_id = c.execution_id AND m.role = 'assistant' AND m.created_at <= c.created_at
    WHERE c.execution_id = CAST(:execution_id AS uuid) AND c.event_type = 'llm_tool_call' AND c.metadata ->> 'evidence_id' = :evidence_id
    ORDER BY m.sequence_number DESC LIMIT 1
    """
)


class ForkRepository:
    def __init__(self, publisher: Publisher, admission: Admission) -> None:
        self._publisher = publisher
        self._admission = admission

    async def store(self, session: NewSession, plan: ForkPlan, *, use: ModelUse | None, hint: str | None) -> None:
        """Store `session` with the steps that `plan` keeps, and wake a worker. `hint` is a note for the first new call.

        Raises:
            QueueFullError: the queue is full.
        """
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            await self._admission.require_room(connection)
            await insert_sessions(connection, [session])
            # The execution that dispatched the other comes first.
            continued = {plan.execution.id: list(_before_call(plan.place))}
            if plan.dispatch is not None:
                continued = {plan.dispatch.parent.id: await _before_report(connection, plan.dispatch), **continued}
            for statement in _copies(session.id, plan, continued, use):
                await connection.execute(statement)
            await connection.execute(_channel(session.id))
            await connection.execute(_figures(session.id))
            if hint:
                await store_notes(connection, NoteKind.HINT, [NewNote(session.id, session.author, hint)], session.created_at)
            details = dict(session.fork or {})
            await add_audit_entry(
                connection, actor=session.author, action=AuditAction.SESSION_FORKED, session_id=session.id, details=details
            )
            new = [NewInvestigation(session)]
            await transaction.publish_for(await enqueue_investigations(connection, new))
        self._admission.report_submitted(new)


def _copies(fork_id: str, plan: ForkPlan, continued: Mapping[str, list[Part]], use: ModelUse | None) -> Iterator[sa.Insert]:
    """Yield the copies in the order in which the tables refer to each other."""
    session_id, at = plan.execution.session_id, plan.place.at
    yield _copy(stages, fork_id, stages.c.id.in_(plan.stages))
    yield _copy(stages, fork_id, stages.c.id == plan.stage.id, **_OPEN)
    model = {"llm_provider": use.provider.name, "llm_backend": use.backend.value, "model_name": use.provider.model} if use else {}
    reopened = {**_OPEN, "cancel_requested": sa.false(), **{name: sa.literal(value) for name, value in model.items()}}
    for execution_id in continued:
        yield _copy(agent_executions, fork_id, agent_executions.c.id == execution_id, **reopened)
    # After the continued ones, which have dispatched some of them.
    yield _copy(agent_executions, fork_id, agent_executions.c.id.in_(plan.executions))
    for table in _OF_EXECUTION:
        yield _copy(table, fork_id, table.c.execution_id.in_(plan.executions))
    for execution_id, parts in continued.items():
        for table, kept, changed in parts:
            yield _copy(table, fork_id, table.c.execution_id == execution_id, kept, **changed)
    event = timeline_events.c
    of_session = (event.session_id == session_id) & event.execution_id.is_(None) & (event.created_at <= at)
    yield _copy(timeline_events, fork_id, of_session, event.stage_id.is_(None) | event.stage_id.in_([*plan.stages, plan.stage.id]))
    # Also notes that came later, if they have smaller numbers than one that a kept execution has read: NOTE2 must remain the same note.
    read = run_inputs.c.execution_id.in_(plan.executions) & (run_inputs.c.kind == InputKind.NOTE.value)
    last_read = sa.select(sa.func.max(run_inputs.c.fields["number"].as_integer())).where(read).scalar_subquery()
    yield _copy(notes, fork_id, notes.c.session_id == session_id, (notes.c.created_at <= at) | (notes.c.number <= last_read))


def _copy(table: sa.Table, fork_id: str, *where: Condition, **changed: sa.ColumnElement[Any]) -> sa.Insert:
    changed |= _UNPAID if table is llm_interactions else {}
    columns: list[sa.ColumnElement[Any]] = []
    for column in table.c:
        if column.name in changed:
            columns.append(changed[column.name])
        elif column.name == "session_id":
            columns.append(sa.literal(fork_id, Id))
        elif column.name in _IDS:
            columns.append(sa.cast(sa.func.md5(sa.cast(column, sa.Text) + fork_id), Id))
        else:
            columns.append(column)
    return sa.insert(table).from_select([column.name for column in table.c], sa.select(*columns).where(*where))


def _channel(fork_id: str) -> sa.Insert:
    """Return the insert of the fork's channel, which numbers new events after the copied timeline."""
    copied = timeline_events.c
    last = sa.select(sa.literal(session_channel(fork_id)), sa.func.coalesce(sa.func.max(copied.position), 0)).where(
        copied.session_id == fork_id
    )
    return sa.insert(event_channels).from_select(["name", "last_id"], last)


def _figures(fork_id: str) -> sa.Insert:
    """Return the insert of the figures that the copied steps amount to."""
    agents = sa.select(sa.func.count()).where(agent_executions.c.session_id == fork_id).scalar_subquery()
    event = timeline_events.c
    is_fallback = (event.session_id == fork_id) & (event.event_type == TimelineEventType.PROVIDER_FALLBACK.value)
    fallbacks = sa.select(sa.func.count()).where(is_fallback).scalar_subquery()
    return sa.insert(session_figures).from_select(
        ["session_id", "agents", "fallbacks"], sa.select(sa.literal(fork_id, Id), agents, fallbacks)
    )


def _before_call(place: ForkPlace) -> Iterator[Part]:
    """Yield the rows that an execution had before the call that is repeated."""
    at, turn = place.at, place.turn
    yield messages, messages.c.created_at <= at, _uncompacted(turn)
    yield llm_interactions, llm_interactions.c.started_at < at, {}
    yield mcp_interactions, mcp_interactions.c.started_at < at, {}
    yield timeline_events, timeline_events.c.created_at <= at, {}
    # The time, the notes and changed tools are inputs before the call of their turn, all others come after it.
    before = run_inputs.c.kind.in_([InputKind.NOW.value, InputKind.NOTE.value, InputKind.TOOLS.value])
    yield run_inputs, (run_inputs.c.turn < turn) | ((run_inputs.c.turn == turn) & before), {}


async def _before_report(connection: AsyncConnection, dispatch: DispatchTurn) -> list[Part]:
    """Return the rows of the parent up to the turn in which it dispatched the forked agent, without the report of that agent.

    As after a crash, the parent waits for that report again.
    """
    call = {"execution_id": dispatch.parent.id, "evidence_id": dispatch.evidence_id}
    calling = (await connection.execute(_CALLING_MESSAGE, call)).one()
    # A call that is written as text is the only one of its message.
    call_ids = [call["id"] for call in calling.tool_calls or ()] or [calling.call_id]
    # The results have the next places in the conversation, in the order of the calls.
    first = calling.sequence_number + 1
    after, report = first + len(call_ids), first + call_ids.index(calling.call_id)
    place, started = messages.c.sequence_number, (llm_interactions.c.started_at, mcp_interactions.c.started_at)
    before_next_call = [sa.true() if dispatch.until is None else column < dispatch.until for column in started]
    read_again = (run_inputs.c.kind == InputKind.READ.value) & (run_inputs.c.name == dispatch.evidence_id)

    # Timeline events up to the last result: later ones (notes, a ceiling) belong to the next call.
    event, kept_events = timeline_events.c, sa.true()
    if dispatch.until is not None:
        of_turn = (messages.c.execution_id == dispatch.parent.id) & (place >= first) & (place < after)
        kept_events = event.created_at <= sa.select(sa.func.max(messages.c.created_at)).where(of_turn).scalar_subquery()
    # Without those of the turn that are opened again: of calls without a result, and interrupted ones. A result is in the conversation,
    # or is stored to be summarised first.
    placed = sa.select(messages.c.tool_call_id).where(messages.c.execution_id == dispatch.parent.id, messages.c.tool_call_id.is_not(None))
    answered = sa.select(mcp_interactions.c.call_id).where(
        mcp_interactions.c.execution_id == dispatch.parent.id, mcp_interactions.c.call_id.is_not(None)
    )
    event_call = event.metadata["call_id"].astext
    has_result = (event_call != calling.call_id) & event_call.in_(sa.union(placed, answered))
    is_result = event.event_type == TimelineEventType.TOOL_RESULT.value
    opened_again = (event.created_at >= calling.created_at) & sa.case((is_result, ~has_result), else_=event.status.in_(_STOPPED))
    return [
        (messages, (place < after) & (place != report), _uncompacted(dispatch.turn)),
        (llm_interactions, before_next_call[0], {}),
        (mcp_interactions, before_next_call[1] & mcp_interactions.c.call_id.is_distinct_from(calling.call_id), {}),
        (timeline_events, kept_events & ~opened_again, {}),
        (run_inputs, (run_inputs.c.turn <= dispatch.turn) & ~read_again, {}),
    ]


def _uncompacted(turn: int) -> Changes:
    """Return the changes that restore messages as the call `turn` was sent them: whole, if only later calls compacted them."""
    later = messages.c.compacted_before_turn > turn
    return {
        "content": sa.case((later, messages.c.original_content), else_=messages.c.content),
        "original_content": sa.case((later, sa.null()), else_=messages.c.original_content),
        "compacted_before_turn": sa.case((later, sa.null()), else_=messages.c.compacted_before_turn),
    }
