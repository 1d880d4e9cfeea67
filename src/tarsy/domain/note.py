"""Notes: what reaches an investigation from outside while it runs. An engineer's hint, or news of the incident's alerts."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.evidence import note_id
from tarsy.domain.status import SessionStatus

# Some three pages: a hint is a lead, not a document.
MAX_HINT_CHARACTERS = 10_000
# A conversation that is told more than this is no longer an investigation of its own.
MAX_HINTS = 50


class NoteKind(StrEnum):
    # What a person who is let in says to the agents.
    HINT = "hint"
    # Alerts that joined the incident, or are over.
    ALERTS = "alerts"
    # Nothing of the incident fires any more.
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Masked. Notes of a session are counted from 1, in the order in which they were stored."""

    number: int
    kind: NoteKind
    author: str
    text: str
    at: datetime

    @property
    def id(self) -> str:
        """By which agents cite it."""
        return note_id(self.number)

    @property
    def trusted(self) -> bool:
        """Whether agents may follow it; what alerts say is only evidence."""
        return self.kind is NoteKind.HINT


class NoteState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    # The investigation ended before any agent could be told.
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """A note with what became of it."""

    note: Note
    session_id: str
    state: NoteState
    # The agents that were told, by name.
    delivered_to: tuple[str, ...] = ()


def note_state(told: int, status: SessionStatus) -> NoteState:
    """What became of a note that so many agents were told of, in a session of this status."""
    if told:
        return NoteState.DELIVERED
    return NoteState.TOO_LATE if status.is_final else NoteState.WAITING
