"""What a fork keeps of an agent that goes on in it: what it had left behind before a call that is made anew, or before a report that it waits for anew."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.tables import llm_interactions, mcp_interactions, messages, run_inputs, timeline_events
from tarsy.domain.fork import ForkPlace, Sending
from tarsy.domain.run_input import InputKind
from tarsy.domain.status import TimelineStatus
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

    sending: Sending
    said_at: datetime
    call_id: str
    places: range
    # That of the report.
    place: int


async def read_dispatch(connection: AsyncConnection, sending: Sending) -> Dispatch:
    call = {"execution_id": sending.sender.id, "evidence_id": sending.evidence_id}
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
    of_turn = (messages.c.execution_id == sent.sending.sender.id) & (place >= sent.places.start) & (place < sent.places.stop)
    return timeline_events.c.created_at <= sa.select(sa.func.max(messages.c.created_at)).where(of_turn).scalar_subquery()


def _awaited(sent: Dispatch) -> Condition:
    """Entries of that turn which the one who goes on opens anew: those of calls without a result, and what was cut off."""
    is_result = timeline_events.c.event_type == TimelineEventType.TOOL_RESULT.value
    has_result = (sent.call_id != _EVENT_CALL) & _EVENT_CALL.in_(_answered_calls(sent.sending.sender.id))
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
