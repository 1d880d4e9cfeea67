"""Follow-up chat: a conversation about a finished session, one answer at a time."""

from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.status import RunStatus

MAX_CHAT_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUserMessage:
    """A question; its answer is the `chat` stage that names it."""

    id: str
    chat_id: str
    session_id: str
    content: str
    author: str
    status: RunStatus
    stage_id: str | None = None
    error_message: str | None = None
    created_at: datetime
    completed_at: datetime | None = None
