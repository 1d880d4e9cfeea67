"""Notes: what reaches a running investigation from outside, a person's hint or an update of the incident's alerts."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.evidence import note_id
from tarsy.domain.status import SessionStatus

# Some three pages: a hint is a lead, not a document.
MAX_HINT_CHARACTERS = 10_000
# More hints than this would steer the investigation instead of helping it.
MAX_HINTS = 50


class NoteKind(StrEnum):
    # Written by an authenticated person.
    HINT = "hint"
    # Alerts joined the incident, or were resolved.
    ALERTS = "alerts"
    # All alerts of the incident are resolved.
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note, masked. The notes of a session are numbered from 1 in the order in which they were stored."""

    number: int
    kind: NoteKind
    author: str
    text: str
    at: datetime

    @property
    def id(self) -> str:
        """Return the evidence id by which agents cite the note."""
        return note_id(self.number)


class NoteState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    # The investigation ended before any agent received it.
    TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """A note with its state of delivery."""

    note: Note
    session_id: str
    state: NoteState
    # The names of the agents that received it.
    delivered_to: tuple[str, ...] = ()


def note_state(deliveries: int, status: SessionStatus) -> NoteState:
    """Return the state of a note that `deliveries` agents received, in a session with `status`."""
    if deliveries:
        return NoteState.DELIVERED
    return NoteState.TOO_LATE if status.is_final else NoteState.WAITING
