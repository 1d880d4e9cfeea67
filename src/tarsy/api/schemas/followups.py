"""Follow-up chat and scores."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Request, StorableText, View
from tarsy.domain.followup import MAX_CHAT_CHARACTERS
from tarsy.domain.status import RunStatus


class Question(Request):
    content: Annotated[StorableText, Field(min_length=1, max_length=MAX_CHAT_CHARACTERS, pattern=r"\S")]


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
