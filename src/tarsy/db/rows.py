"""Rows from domain values and back, and JSON in a form that PostgreSQL can store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from typing import Any, Protocol, TypeVar, cast

import orjson
from pydantic import TypeAdapter

from tarsy.domain.citation import CheckedCitation, Citation
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.interaction import LLMInteraction
from tarsy.domain.note import Note
from tarsy.domain.run_input import AnyInput, InputKind, PlacedInput, input_fields, input_of, place_of
from tarsy.domain.session import AlertSession, SessionConclusion
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.usage import Spending, TokenUsage
from tarsy.domain.verdict import Confidence, JudgedVerdict, judged_fields, verdict_of
from tarsy.kit.text import storable

# Values by column.
NewRow = dict[str, Any]
Value = TypeVar("Value")

# Larger numbers do not fit into our JSON, and become text: tools name such limits in their schemas.
_INTEGERS = range(-(2**63), 2**64)
# The one character that JSON can escape and PostgreSQL cannot store.
_NUL = b"\\u0000"


class Row(Protocol):
    """A row as SQLAlchemy's mappings and JSON objects have it."""

    def __getitem__(self, key: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


def json_text(value: Any) -> str:
    """Return a JSON value as text that PostgreSQL can store."""
    return as_stored(value)[1]


def as_stored(value: Any) -> tuple[Any, str]:
    """Return a JSON value as PostgreSQL can store it, and as text.

    Nearly every value can be stored as it is; the text shows it faster than a walk through all its parts.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:
        text = _NUL
    if _NUL in text:
        value = storable_json(value)
        text = orjson.dumps(value)
    return value, text.decode()


def storable_json(value: Any) -> Any:
    """Return a JSON value with every string and number storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence):
        return [storable_json(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, int) and value not in _INTEGERS:
        return str(value)
    return value


def read(kind: type[Value], row: Row, **computed: object) -> Value:
    """Return a dataclass made of the columns named like its fields and of the `computed` values, each checked against its type."""
    return _adapter(kind).validate_python({**dict(row), **computed})


@cache
def _adapter(kind: type[Value]) -> TypeAdapter[Value]:
    return TypeAdapter(kind)


@cache
def _field_names(kind: type[object]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))  # pyright: ignore[reportArgumentType] - only of dataclasses


def columns(value: object) -> NewRow:
    """Return the fields of a dataclass by name, not copied: bodies are large."""
    return {name: getattr(value, name) for name in _field_names(type(value))}


def session_of(row: Row) -> AlertSession:
    return read(AlertSession, row, verdict=judged_of(row["verdict"]))


def conclusion_row(found: SessionConclusion) -> NewRow:
    """Return the columns of a conclusion that have a value, and the words by which its verdict is searched."""
    values: NewRow = {
        "final_analysis": found.final_analysis,
        "analysis_is_partial": found.analysis_is_partial,
        "analysis_partial_reason": found.analysis_partial_reason,
    }
    if found.citations:
        values["citations"] = asdict(found.citations)
    if found.citations and found.verdict:
        verdict = found.verdict.verdict
        affected = str(verdict.object or "")
        values |= {
            "verdict": judged_fields(found.verdict),
            "verdict_outcome": verdict.outcome.value,
            "verdict_confidence": found.verdict.confidence.value,
            "verdict_object": affected or None,
            # Slashes part the names of an object: the parser would take the whole for a path.
            "verdict_words": f"{affected} {verdict.mechanism}".replace("/", " "),
        }
    return storable_json(values)


def judged_of(fields: Mapping[str, Any] | None) -> JudgedVerdict | None:
    if fields is None:
        return None
    return JudgedVerdict(verdict_of(fields), Confidence(fields["confidence"]), fields["confidence_reason"])


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
    return read(Message, row, body=message_body_of(dict(row)))


def message_body_of(fields: Mapping[str, Any]) -> ConversationMessage:
    """Return a message from its columns, or from the JSON of a request, which leaves out what is empty."""
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in fields.get("tool_calls") or ())
    return ConversationMessage(
        Role(fields["role"]), fields.get("content") or "", calls, fields.get("tool_call_id"), fields.get("tool_name")
    )


def llm_interaction_row(interaction: LLMInteraction) -> NewRow:
    row = columns(interaction)
    # As text: amounts stay exact on their way through JSON.
    cost = None if interaction.cost_usd is None else str(interaction.cost_usd)
    price = {name: str(value) for name, value in asdict(interaction.price).items()} if interaction.price else None
    return {**row, **columns(row.pop("usage")), "cost_usd": cost, "price": price}


def llm_interaction_of(row: Row) -> LLMInteraction:
    return read(LLMInteraction, row, usage=usage_of(row))


# Sums over model calls. A call that used no tokens, usually a failed one, costs nothing and lacks no price.
SPENDING_SUMS = """sum(cost_usd) AS cost_usd, count(*) FILTER (WHERE cost_usd IS NULL AND total_tokens > 0) AS unpriced_calls,
    count(*) FILTER (WHERE usage_estimated AND total_tokens > 0) AS estimated_calls"""


def spending_of(row: Row) -> Spending:
    return Spending(row["cost_usd"], int(row["unpriced_calls"] or 0), int(row["estimated_calls"] or 0))


def usage_of(row: Row) -> TokenUsage:
    # Sums are decimals.
    return TokenUsage(**{name: int(row[name]) for name in _field_names(TokenUsage)})


def citation_row(made: ExecutionCitation, session_id: str) -> NewRow:
    checked = made.checked
    found_start, found_end = checked.found_at or (None, None)
    return {
        **columns(checked.citation),
        "session_id": session_id,
        "execution_id": made.execution_id,
        "number": made.number,
        "status": checked.status.value,
        "reason": checked.reason,
        "nearest": checked.nearest,
        "found_start": found_start,
        "found_end": found_end,
    }


def citation_of(row: Row) -> CheckedCitation:
    found_at = (row["found_start"], row["found_end"]) if row["found_start"] is not None else None
    return read(CheckedCitation, row, citation=read(Citation, row), found_at=found_at)


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
    """Return a note from its row, or from the JSON of a step's statement, where its time is text."""
    return read(Note, row, text=row["content"], at=row["created_at"])
