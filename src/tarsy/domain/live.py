"""Live events: what subscribers are told, and on which channel.

Persistent events are stored and delivered exactly once and in order; transient ones are delivered if the listener keeps up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

SESSIONS_CHANNEL = "sessions"
INCIDENTS_CHANNEL = "incidents"
_SHARED = frozenset({SESSIONS_CHANNEL, INCIDENTS_CHANNEL})
_SESSION_PREFIX = "session:"


class UnknownChannelError(LookupError):
    """The caller named a channel that does not exist, or may not be listened to."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"There is no channel {channel[:80]!r}; there are 'incidents', 'sessions' and 'session:<id>'.")


def session_channel(session_id: str) -> str:
    return f"{_SESSION_PREFIX}{session_id}"


def session_of(channel: str) -> str | None:
    """The session a channel belongs to; None for a shared channel.

    Raises:
        UnknownChannelError: no such channel can exist.
    """
    if channel in _SHARED:
        return None
    identity = channel.removeprefix(_SESSION_PREFIX)
    if identity == channel or not _is_canonical(identity):
        raise UnknownChannelError(channel)
    return identity


def _is_canonical(identity: str) -> bool:
    """Two spellings for one channel would be two feeds."""
    try:
        return str(UUID(identity)) == identity
    except ValueError:
        return False


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
    PAUSES_CHANGED = "pauses.changed"
    INCIDENT_CHANGED = "incident.changed"
    NOTE_CREATED = "note.created"


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
