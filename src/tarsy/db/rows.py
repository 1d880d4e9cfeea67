"""Rows from domain values and back, and JSON in a form that PostgreSQL can store."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast
from uuid import UUID

import orjson
from pydantic import TypeAdapter

from tarsy.db.driver import Row
from tarsy.domain.citation import CheckedCitation, Citation, CitationCounts, CitationStatus
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.execution import AgentExecution
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.note import Note, NoteKind
from tarsy.domain.run_input import AnyInput, InputKind, PlacedInput, input_fields, input_of, place_of
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import Stage
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.usage import Spending, TokenUsage
from tarsy.domain.verdict import Confidence, JudgedVerdict, judged_fields, verdict_of
from tarsy.kit.text import storable

_INTEGERS = range(-(2**63), 2**64)


# As JSON spells the one character that can be written, and not be stored.
_NUL = b"\\u0000"


def json_text(value: Any) -> str:
    """A JSON value as text that PostgreSQL can store. Nearly all can be written as they are; what cannot, or should not, is made storable."""
    return as_stored(value)[1]


def as_stored(value: Any) -> tuple[Any, str]:
    """A JSON value as PostgreSQL can store it (nearly always itself, which its text tells sooner than looking at each part would), and that text."""
    text = _text(value)
    if _NUL in text:
        value = storable_json(value)
        text = orjson.dumps(value)
    return value, text.decode()


def _text(value: Any) -> bytes:
    """A value as JSON; what has none is told by a NUL."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return _NUL


def storable_json(value: Any) -> Any:
    """A JSON value with every string storable, copied only as far as needed."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence):
        return [storable_json(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, int) and value not in _INTEGERS:
        return str(value)
    return value


# Values by column.
NewRow = dict[str, Any]
Value = TypeVar("Value")


def read(kind: type[Value], row: Row, **made: object) -> Value:
    """A value from the columns of the names of its fields, and from what was `made` of others; each is checked to be what the field says."""
    found = {**dict(row), **made}
    if isinstance(found.get("id"), UUID):
        # Text statements return uuid objects, tables strings.
        found = {name: str(value) if isinstance(value, UUID) else value for name, value in found.items()}
    return _adapter(kind).validate_python(found)


@cache
def _adapter(kind: type[Value]) -> TypeAdapter[Value]:
    return TypeAdapter(kind)


@cache
def _names(kind: type[object]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))  # pyright: ignore[reportArgumentType] - only of dataclasses


def columns(value: object) -> NewRow:
    """The fields of a value under their names, as they are: bodies are large, and need not be copied."""
    return {name: getattr(value, name) for name in _names(type(value))}


def stage_row(stage: Stage) -> NewRow:
    return columns(stage)


def stage_of(row: Row) -> Stage:
    return read(Stage, row)


def execution_row(execution: AgentExecution) -> NewRow:
    return columns(execution)


def execution_of(row: Row) -> AgentExecution:
    return read(AgentExecution, row)


def message_row(message: Message, session_id: str) -> NewRow:
    body = message.body
    return {
        "id": message.id,
        "session_id": session_id,
        "execution_id": message.execution_id,
        "sequence_number": message.sequence_number,
        "role": body.role.value,
        "content": body.content,
        "tool_calls": [columns(call) for call in body.tool_calls] or None,
        "tool_call_id": body.tool_call_id,
        "tool_name": body.tool_name,
        "created_at": message.created_at,
    }


def message_of(row: Row) -> Message:
    calls = tuple(ToolCall(**call) for call in row["tool_calls"] or ())
    body = ConversationMessage(Role(row["role"]), row["content"], calls, row["tool_call_id"], row["tool_name"])
    return Message(
        id=row["id"], execution_id=row["execution_id"], sequence_number=row["sequence_number"], body=body, created_at=row["created_at"]
    )


def timeline_row(event: TimelineEvent) -> NewRow:
    return columns(event)


def timeline_of(row: Row) -> TimelineEvent:
    return read(TimelineEvent, row)


def llm_interaction_row(interaction: LLMInteraction) -> NewRow:
    row = columns(interaction)
    # As text: amounts stay exact on their way through JSON.
    cost = None if interaction.cost_usd is None else str(interaction.cost_usd)
    price = {name: str(value) for name, value in asdict(interaction.price).items()} if interaction.price else None
    return {**row, **columns(row.pop("usage")), "cost_usd": cost, "price": price}


def llm_interaction_of(row: Row) -> LLMInteraction:
    return read(LLMInteraction, row, usage=usage_of(row))


# Sums over model calls, in dollars as text: amounts stay exact on their way through JSON. Those that used no tokens, failed ones mostly, cost nothing and miss no price.
SPENDING_SUMS = "sum(cost_usd)::text AS cost_usd, count(*) FILTER (WHERE cost_usd IS NULL AND total_tokens > 0) AS unpriced_calls"


def spending_of(row: Row) -> Spending:
    cost: str | None = row["cost_usd"]
    return Spending(None if cost is None else Decimal(cost), row["unpriced_calls"] or 0)


def usage_of(row: Row) -> TokenUsage:
    # Sums are decimals.
    return TokenUsage(**{name: int(row[name]) for name in _names(TokenUsage)})


def mcp_interaction_row(interaction: MCPInteraction) -> NewRow:
    return columns(interaction)


def mcp_interaction_of(row: Row) -> MCPInteraction:
    return read(MCPInteraction, row)


def citation_row(made: ExecutionCitation, session_id: str) -> NewRow:
    checked, citation = made.checked, made.checked.citation
    found_start, found_end = checked.found_at or (None, None)
    return {
        "session_id": session_id,
        "execution_id": made.execution_id,
        "number": made.number,
        "start": citation.start,
        "end": citation.end,
        "evidence_id": citation.evidence_id,
        "quotation": citation.quotation,
        "status": checked.status.value,
        "reason": checked.reason,
        "nearest": checked.nearest,
        "found_start": found_start,
        "found_end": found_end,
    }


def citation_of(row: Row) -> CheckedCitation:
    found_at = (row["found_start"], row["found_end"]) if row["found_start"] is not None else None
    return CheckedCitation(
        citation=Citation(row["evidence_id"], row["quotation"], row["start"], row["end"]),
        status=CitationStatus(row["status"]),
        reason=row["reason"],
        found_at=found_at,
        nearest=row["nearest"],
    )


def input_row(given: ExecutionInput, session_id: str) -> NewRow:
    placed = given.placed
    turn, kind, name = place_of(placed.turn, placed.value)
    return {
        "session_id": session_id,
        "execution_id": given.execution_id,
        "track": placed.track,
        "turn": turn,
        "kind": kind.value,
        "name": name,
        "fields": dict(input_fields(placed.value)),
    }


def placed_input_of(row: Row) -> AnyInput:
    return PlacedInput(row["track"], row["turn"], input_of(InputKind(row["kind"]), row["name"], row["fields"]))


def note_of(row: Row) -> Note:
    """A note as it is stored, or as the statement of a step tells of it, with its time as text."""
    at = row["created_at"]
    return Note(
        number=row["number"],
        kind=NoteKind(row["kind"]),
        author=row["author"],
        text=row["content"],
        at=datetime.fromisoformat(at) if isinstance(at, str) else at,
    )


def session_of(row: Row) -> AlertSession:
    return read(AlertSession, row, verdict=judged_of(row["verdict"]))


def checked_values(judged: JudgedVerdict | None, counts: CitationCounts) -> dict[str, Any]:
    """What checking made of a session's analysis, as its columns hold it."""
    citations = orjson.dumps(asdict(counts)).decode()
    if judged is None:
        return {"citations": citations, **dict.fromkeys(("verdict", "outcome", "confidence", "object", "words"))}
    affected = storable(str(judged.verdict.object or ""))
    return {
        "citations": citations,
        "verdict": orjson.dumps(storable_json(judged_fields(judged))).decode(),
        "outcome": judged.verdict.outcome.value,
        "confidence": judged.confidence.value,
        "object": affected or None,
        "words": f"{affected} {storable(judged.verdict.mechanism)}".replace("/", " "),
    }


def judged_of(fields: Mapping[str, Any] | None) -> JudgedVerdict | None:
    if fields is None:
        return None
    return JudgedVerdict(verdict_of(fields), Confidence(fields["confidence"]), fields["confidence_reason"])


def chat_message_of(row: Row) -> ChatUserMessage:
    return read(ChatUserMessage, row)


def score_of(row: Row) -> SessionScore:
    return read(SessionScore, row)
