"""Questions about a session, scores, notes, and forks."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Name, Request, StorableText, View
from tarsy.domain.followup import MAX_CHAT_CHARACTERS
from tarsy.domain.llm import ProviderType
from tarsy.domain.note import MAX_HINT_CHARACTERS, NoteKind, NoteState, SessionNote
from tarsy.domain.status import RunStatus

QuestionText = Annotated[StorableText, Field(min_length=1, max_length=MAX_CHAT_CHARACTERS, pattern=r"\S")]
HintText = Annotated[StorableText, Field(min_length=1, max_length=MAX_HINT_CHARACTERS, pattern=r"\S")]


class Question(Request):
    content: QuestionText


class ChatMessage(View):
    """A question. Its answer is the chat stage `stage_id`, on the session's timeline."""

    id: UUID
    content: str
    author: str
    status: RunStatus
    stage_id: UUID | None
    error_message: str | None
    created_at: datetime
    completed_at: datetime | None


class ChatMessages(View):
    messages: list[ChatMessage]


class Score(View):
    id: UUID
    status: RunStatus
    requested_by: str
    total_score: int | None
    analysis: str | None
    missing_tools: str | None
    error_message: str | None
    stage_id: UUID | None
    created_at: datetime
    completed_at: datetime | None


class Hint(Request):
    """An engineer's hint to the agents."""

    text: HintText


class NoteView(View):
    # `NOTE1`: the id by which agents cite it.
    id: str
    session_id: UUID
    kind: NoteKind
    author: str
    text: str
    created_at: datetime
    # `too_late`: the investigation ended before any agent could read it. It can be asked as a question.
    state: NoteState
    # The agents that read it, by name.
    told: list[str]

    @classmethod
    def of(cls, given: SessionNote) -> Self:
        return cls.build(given.note, given, created_at=given.note.at, told=given.delivered_to)


class Notes(View):
    notes: list[NoteView]


class ForkRequest(Request):
    """The step to continue from, and what changes from there."""

    execution_id: UUID = Field(description="The agent's execution, also a sub-agent's, as listed in the session and its trace.")
    turn: int = Field(ge=0, le=2**31 - 1, description="The model call to repeat, as numbered in the trace; the first is 0.")
    model: Name | None = Field(default=None, description="The configured provider that continues; absent: the session's own models.")
    hint: HintText | None = Field(default=None, description="A hint that its agents read before the first new call.")


class ModelItem(View):
    """A model that TARSy can use now."""

    # Its name in the configuration.
    name: str
    type: ProviderType
    model: str


class ModelList(View):
    models: list[ModelItem]
