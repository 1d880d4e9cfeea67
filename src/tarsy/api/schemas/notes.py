"""What reaches an investigation from outside."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Request, StorableText, View
from tarsy.domain.note import MAX_HINT_CHARACTERS, NoteKind, NoteState, SessionNote


class Hint(Request):
    """An engineer's hint to the agents."""

    text: Annotated[StorableText, Field(min_length=1, max_length=MAX_HINT_CHARACTERS, pattern=r"\S")]


class NoteView(View):
    # `NOTE1`: by this agents cite it.
    id: str
    session_id: UUID
    kind: NoteKind
    author: str
    text: str
    created_at: datetime
    # Too late: the investigation ended before any agent could be told. It can be asked as a question.
    state: NoteState
    # The agents that were told, by name.
    told: list[str]

    @classmethod
    def of(cls, given: SessionNote) -> Self:
        return cls.shown(given.note, given, created_at=given.note.at)


class Notes(View):
    notes: list[NoteView]

    @classmethod
    def of(cls, given: list[SessionNote]) -> Self:
        return cls(notes=[NoteView.of(one) for one in given])
