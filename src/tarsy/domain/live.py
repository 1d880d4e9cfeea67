"""Live events: what subscribers are told, and on which channel.

Persistent events are stored and delivered exactly once and in order; transient ones are delivered if the listener keeps up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SESSIONS_CHANNEL = "sessions"


def session_channel(session_id: str) -> str:
    return f"session:{session_id}"


class LiveEventType(StrEnum):
    TIMELINE_CREATED = "timeline_event.created"
    TIMELINE_COMPLETED = "timeline_event.completed"
    SESSION_STATUS = "session.status"
    SESSION_COMPLETED = "session.completed"
    STAGE_STARTED = "stage.started"
    STAGE_COMPLETED = "stage.completed"
    CHAT_MESSAGE = "chat.message"
    INTERACTION_CREATED = "interaction.created"
    EXECUTION_STATUS = "execution.status"


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """A persistent event on its way to the outbox; its id is given when it is stored."""

    channel: str
    type: LiveEventType
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredLiveEvent:
    """A persistent event with the id that orders its channel: ids of a channel have no gap and follow commit order."""

    channel: str
    id: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamDelta:
    """A piece of a streaming timeline event's text, and where in the text it belongs (in characters)."""

    session_id: str
    event_id: str
    offset: int
    delta: str
