"""Inputs of a run: everything that reaches it besides answers of its model and its tools, stored under its track and turn.

A run that is resumed or replayed receives its stored inputs, never new ones; otherwise it would become another run. A new kind needs a class
here, and its cases in `place_of`, `input_fields` and `input_of`; storage, export, recording and replay use those.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar, assert_never

from tarsy.domain.approval import CallDecided, CallDecision
from tarsy.domain.note import Note, NoteKind


class InputKind(StrEnum):
    NOW = "now"
    READ = "read"
    CEILING = "ceiling"
    NOTE = "note"
    CUT_SHORT = "cut_short"
    TOOLS = "tools"
    APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class Now:
    """The current time as a request states it."""

    at: datetime


@dataclass(frozen=True, slots=True)
class ReadAt:
    """When the result of a tool call was read."""

    evidence_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CeilingMet:
    """A call that was not made because it did not fit under a ceiling.

    `about` names the call; it is empty for a model call of the conversation itself.
    """

    about: str
    # The ceiling's owner (session, stage, agent, day or month) and what it limits.
    account: str
    limit: str
    # For people: `its ceiling of $0.50`, and how much of it was used.
    description: str
    detail: str = ""
    # The most input tokens the conclusion may have; 0: no limit besides the model's own.
    room: int = 0


@dataclass(frozen=True, slots=True)
class DeliveredNote:
    """A note that the agent received before its next call. `held`: the agent had concluded, and was asked to review its answer."""

    note: Note
    held: bool = False


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A timeline event that was still streaming, with its text so far."""

    event_type: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def call_id(self) -> str | None:
        """The tool call whose result the event was to show."""
        return self.metadata.get("call_id")


@dataclass(frozen=True, slots=True)
class CutShort:
    """An agent was stopped for good while its session went on.

    Its turn is that of the model call that the agent did not make or did not finish.
    """

    # Stopped by a person; otherwise the agent's time was up.
    cancelled: bool
    # For people: which time limit was reached.
    reason: str = ""
    # Whether the agent had made any model call.
    begun: bool = True
    # Tool calls of the last answer whose results are not part of the conversation.
    waiting: tuple[str, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The tool servers list other tools than before the last call: the names of all tools, before and after."""

    before: tuple[str, ...]
    after: tuple[str, ...]


RunInput = Now | ReadAt | CeilingMet | DeliveredNote | CutShort | ToolsChanged | CallDecided
SomeInput = TypeVar("SomeInput", bound=RunInput, covariant=True)  # noqa: PLC0105 - a value that is only read


@dataclass(frozen=True, slots=True)
class PlacedInput(Generic[SomeInput]):
    """An input with the conversation and the turn (counted from 0) that it reached."""

    track: str
    turn: int
    value: SomeInput


AnyInput = PlacedInput[RunInput]
InputPlace = tuple[int, InputKind, str]


def place_of(turn: int, value: RunInput) -> InputPlace:  # noqa: PLR0911 - a case for each kind
    """Return the key of an input within its conversation: its turn, its kind, and its name among inputs of that kind."""
    match value:
        case Now():
            return turn, InputKind.NOW, ""
        case ReadAt(evidence_id):
            return turn, InputKind.READ, evidence_id
        case CeilingMet(about):
            return turn, InputKind.CEILING, about
        case DeliveredNote(note):
            return turn, InputKind.NOTE, note.id
        case CutShort():
            return turn, InputKind.CUT_SHORT, ""
        case ToolsChanged():
            return turn, InputKind.TOOLS, ""
        case CallDecided(evidence_id):
            return turn, InputKind.APPROVAL, evidence_id
        case _:
            assert_never(value)


def input_fields(value: RunInput) -> Mapping[str, Any]:
    """Return the fields of an input as they are stored and recorded, without those of its place."""
    match value:
        case Now(at) | ReadAt(at=at):
            return {"at": at.isoformat()}
        case CeilingMet():
            return {
                "account": value.account,
                "limit": value.limit,
                "told": value.description,
                "detail": value.detail,
                "room": value.room,
            }
        case DeliveredNote(note, held):
            return {
                "number": note.number,
                "kind": note.kind.value,
                "author": note.author,
                "text": note.text,
                "at": note.at.isoformat(),
                "held": held,
            }
        case CutShort():
            return {
                "cancelled": value.cancelled,
                "told": value.reason,
                "begun": value.begun,
                "waiting": list(value.waiting),
                "unfinished": [asdict(event) for event in value.unfinished],
            }
        case ToolsChanged(before, after):
            return {"before": list(before), "after": list(after)}
        case CallDecided():
            return {"decision": value.decision.value, "actor": value.actor, "reason": value.reason}
        case _:
            assert_never(value)


def input_of(kind: InputKind, name: str, fields: Mapping[str, Any]) -> RunInput:  # noqa: C901, PLR0911 - a case for each kind
    """Rebuild an input from its stored fields.

    Raises:
        ValueError: the fields are not those of an input of that kind.
    """
    match kind:
        case InputKind.NOW:
            return Now(_moment(fields))
        case InputKind.READ:
            return ReadAt(name, _moment(fields))
        case InputKind.CEILING:
            account, limit, description, detail = (str(fields.get(key, "")) for key in ("account", "limit", "told", "detail"))
            try:
                room = int(fields.get("room", 0))
            except (TypeError, OverflowError) as error:
                raise ValueError("an input that met a ceiling has a number as `room`") from error
            return CeilingMet(name, account, limit, description, detail, room)
        case InputKind.NOTE:
            try:
                note_kind, number, author, text = (
                    NoteKind(fields["kind"]),
                    int(fields["number"]),
                    str(fields["author"]),
                    str(fields["text"]),
                )
                note = Note(number=number, kind=note_kind, author=author, text=text, at=_moment(fields))
                return DeliveredNote(note, held=bool(fields["held"]))
            except (KeyError, TypeError, OverflowError) as error:
                raise ValueError("an input that is a note has `number`, `kind`, `author`, `text`, `at` and `held`") from error
        case InputKind.CUT_SHORT:
            try:
                unfinished = tuple(Unfinished(one["event_type"], one["content"], one["metadata"]) for one in fields["unfinished"])
                begun, waiting = bool(fields["begun"]), tuple(map(str, fields["waiting"]))
                return CutShort(bool(fields["cancelled"]), str(fields["told"]), begun, waiting, unfinished)
            except (KeyError, TypeError) as error:
                raise ValueError("an input that cut an agent short has `cancelled`, `told`, `begun`, `waiting` and `unfinished`") from error
        case InputKind.TOOLS:
            try:
                return ToolsChanged(tuple(map(str, fields["before"])), tuple(map(str, fields["after"])))
            except (KeyError, TypeError) as error:
                raise ValueError("an input that changes the tools has `before` and `after`") from error
        case InputKind.APPROVAL:
            return CallDecided(name, CallDecision(fields.get("decision", "")), str(fields.get("actor", "")), str(fields.get("reason", "")))
        case _:
            assert_never(kind)


def _moment(fields: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(fields["at"])
    except (KeyError, TypeError) as error:
        raise ValueError("an input with a time has it in `at`") from error
