"""Inputs of a run: whatever reaches it besides its model and its tools. Each is stored under the track and the turn that it reached.

A run that is continued or replayed gets the inputs it had, never new ones: without this it would quietly become another run. A new kind
is a value here with its two lines below; how it is stored, exported, recorded and played follows.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar, assert_never

from tarsy.domain.note import Note, NoteKind


class InputKind(StrEnum):
    NOW = "now"
    READ = "read"
    CEILING = "ceiling"
    NOTE = "note"
    CUT_SHORT = "cut_short"


@dataclass(frozen=True, slots=True)
class Now:
    """The time that a request states."""

    at: datetime


@dataclass(frozen=True, slots=True)
class ReadAt:
    """When the result of a tool call was read."""

    evidence_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CeilingMet:
    """A call that was not made because it did not fit under a ceiling: of the conversation itself (`about` is empty), or what `about` names."""

    about: str
    # Whose ceiling it was: a session's, a stage's, an agent's, a day's or a month's; and of what.
    account: str
    limit: str
    # In words for people: `its ceiling of $0.50`, and what stood against it.
    told: str
    detail: str = ""
    # How many tokens the conclusion may be told; 0: as many as its model can be.
    room: int = 0


@dataclass(frozen=True, slots=True)
class Heard:
    """A note that the agent was told before its next call. `held`: it had concluded, and was asked to look at its answer again."""

    note: Note
    held: bool = False


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An entry of the timeline that was still growing, with the words that it had."""

    event_type: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def call_id(self) -> str | None:
        """The tool call whose result it was to show."""
        return self.metadata.get("call_id")


@dataclass(frozen=True, slots=True)
class CutShort:
    """An agent was stopped for good while its session went on. Its turn is that of the model call that it did not come to, or not to the end of."""

    # By a person; otherwise its time was up.
    cancelled: bool
    # In words for people: what had run out.
    told: str = ""
    # Whether anything had been said by then.
    begun: bool = True
    # Tool calls of its last answer whose results had no place in its conversation yet.
    waiting: tuple[str, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


RunInput = Now | ReadAt | CeilingMet | Heard | CutShort
SomeInput = TypeVar("SomeInput", bound=RunInput, covariant=True)  # noqa: PLC0105 - a value that is only read


@dataclass(frozen=True, slots=True)
class PlacedInput(Generic[SomeInput]):
    """An input under the conversation and the turn, counted from 0, that it reached."""

    track: str
    turn: int
    value: SomeInput


_CEILING_FIELDS = ("account", "limit", "told", "detail")
AnyInput = PlacedInput[RunInput]
InputPlace = tuple[int, InputKind, str]


def place_of(turn: int, value: RunInput) -> InputPlace:
    """What makes an input the same in another run of the same conversation: its turn, its kind, and which of that kind it is."""
    match value:
        case Now():
            return turn, InputKind.NOW, ""
        case ReadAt(evidence_id):
            return turn, InputKind.READ, evidence_id
        case CeilingMet(about):
            return turn, InputKind.CEILING, about
        case Heard(note):
            return turn, InputKind.NOTE, note.id
        case CutShort():
            return turn, InputKind.CUT_SHORT, ""
        case _:
            assert_never(value)


def input_fields(value: RunInput) -> Mapping[str, Any]:
    """What an input says, beside its place, as it is stored and recorded."""
    match value:
        case Now(at) | ReadAt(at=at):
            return {"at": at.isoformat()}
        case CeilingMet():
            return {name: getattr(value, name) for name in _CEILING_FIELDS} | {"room": value.room}
        case Heard(note, held):
            told = {"kind": note.kind.value, "author": note.author, "text": note.text, "at": note.at.isoformat()}
            return {"number": note.number, **told, "held": held}
        case CutShort():
            return {**asdict(value), "waiting": list(value.waiting), "unfinished": [asdict(one) for one in value.unfinished]}
        case _:
            assert_never(value)


def input_of(kind: InputKind, name: str, fields: Mapping[str, Any]) -> RunInput:
    """An input as it was stored.

    Raises:
        ValueError: the fields are not those of an input of that kind.
    """
    match kind:
        case InputKind.NOW:
            return Now(_moment(fields))
        case InputKind.READ:
            return ReadAt(name, _moment(fields))
        case InputKind.CEILING:
            return CeilingMet(name, **{key: str(fields.get(key, "")) for key in _CEILING_FIELDS}, room=int(fields.get("room", 0)))
        case InputKind.NOTE:
            return _heard(fields)
        case InputKind.CUT_SHORT:
            return _cut_short(fields)
        case _:
            assert_never(kind)


def _moment(fields: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(fields["at"])
    except (KeyError, TypeError) as error:
        raise ValueError("an input that tells a time says it as `at`") from error


def _heard(fields: Mapping[str, Any]) -> Heard:
    try:
        kind, number, author, text = NoteKind(fields["kind"]), int(fields["number"]), str(fields["author"]), str(fields["text"])
        return Heard(Note(number=number, kind=kind, author=author, text=text, at=_moment(fields)), held=bool(fields["held"]))
    except (KeyError, TypeError) as error:
        raise ValueError("an input that is a note has `number`, `kind`, `author`, `text`, `at` and `held`") from error


def _cut_short(fields: Mapping[str, Any]) -> CutShort:
    try:
        unfinished = tuple(Unfinished(one["event_type"], one["content"], one["metadata"]) for one in fields["unfinished"])
        begun, waiting = bool(fields["begun"]), tuple(map(str, fields["waiting"]))
        return CutShort(bool(fields["cancelled"]), str(fields["told"]), begun, waiting, unfinished)
    except (KeyError, TypeError) as error:
        raise ValueError("an input that cut an agent short has `cancelled`, `told`, `begun`, `waiting` and `unfinished`") from error
