"""Live events: the channels, and the payload published for each thing that is stored."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, cast
from uuid import UUID

from tarsy.domain.claim import WorkKind
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.incident import Incident
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.note import Note
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose, TimelineEvent
from tarsy.domain.verdict import judged_fields
from tarsy.domain.work import Pause

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


# Most of what is told is plain already.
_PLAIN = frozenset({str, int, bool, type(None)})


def _plain(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        # Before it is asked whether it is some mapping, which takes ten times as long.
        case dict() | Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case _:
            return value


def _told(value: object, *names: str, **beside: Any) -> dict[str, Any]:
    """`beside`, and the fields of `value` as JSON has them."""
    told = {name: _plain(content) for name, content in beside.items()}
    for name in names:
        told[name] = _plain(getattr(value, name))
    return told


def _to_session(session_id: str, kind: LiveEventType, payload: Mapping[str, Any]) -> LiveEvent:
    return LiveEvent(session_channel(session_id), kind, {"session_id": session_id, **payload})


def _to_list(event: LiveEvent, *, without: Collection[str] = ()) -> LiveEvent:
    """What the watchers of the list are told of an event."""
    return LiveEvent(SESSIONS_CHANNEL, event.type, {name: value for name, value in event.payload.items() if name not in without})


def timeline_created(event: TimelineEvent) -> LiveEvent:
    place, said = ("id", "stage_id", "execution_id", "sequence_number"), ("event_type", "status", "content", "metadata")
    told = _told(event, *place, *said, "created_at", "completed_at")
    return _to_session(event.session_id, LiveEventType.TIMELINE_CREATED, {"event": told})


def timeline_completed(session_id: str, close: TimelineClose) -> LiveEvent:
    told = _told(close, "event_id", "event_type", "status", "content", "metadata", "completed_at")
    return _to_session(session_id, LiveEventType.TIMELINE_COMPLETED, told)


def session_status(
    session_id: str, status: SessionStatus, *, alert_type: str, at: datetime, waiting_reason: str | None = None
) -> tuple[LiveEvent, LiveEvent]:
    """A status move, for the session's own watchers and for those of the list."""
    payload = {"status": status.value, "alert_type": alert_type, "at": at.isoformat(), "waiting_reason": waiting_reason}
    event = _to_session(session_id, LiveEventType.SESSION_STATUS, payload)
    return event, _to_list(event)


def session_completed(session_id: str, close: SessionClose, *, alert_type: str) -> tuple[LiveEvent, LiveEvent]:
    """The end of a session. Only its own watchers get the texts: the list does not need them."""
    texts = ("final_analysis", "executive_summary")
    names = ("status", "error_message", "analysis_is_partial", "analysis_partial_reason", *texts)
    verdict = judged_fields(close.verdict) if close.verdict else None
    told = _told(close, *names, alert_type=alert_type, at=close.completed_at, verdict=verdict)
    event = _to_session(session_id, LiveEventType.SESSION_COMPLETED, told)
    return event, _to_list(event, without=texts)


def stage_started(stage: Stage) -> tuple[LiveEvent, LiveEvent]:
    names = ("stage_name", "stage_index", "stage_type", "expected_agent_count", "referenced_stage_id", "status", "started_at")
    event = _to_session(stage.session_id, LiveEventType.STAGE_STARTED, _told(stage, *names, stage_id=stage.id))
    return event, _to_list(event)


def stage_completed(session_id: str, close: StageClose) -> LiveEvent:
    told = _told(close, "stage_id", "status", "error_message", "completed_at")
    return _to_session(session_id, LiveEventType.STAGE_COMPLETED, told)


def execution_status(session_id: str, change: ExecutionChange) -> LiveEvent:
    told = _told(change, "execution_id", "status", "error_message", "llm_provider", "model_name", "at")
    return _to_session(session_id, LiveEventType.EXECUTION_STATUS, told)


def interaction_created(interaction: LLMInteraction | MCPInteraction) -> LiveEvent:
    """Says that there is something to look at; the bodies are fetched by the clients that want them."""
    kind = "llm" if isinstance(interaction, LLMInteraction) else "mcp"
    failed = interaction.error_message is not None
    told = _told(interaction, "execution_id", "duration_ms", interaction_id=interaction.id, interaction_type=kind, failed=failed)
    return _to_session(interaction.session_id, LiveEventType.INTERACTION_CREATED, told)


def note_created(session_id: str, note: Note) -> LiveEvent:
    """Something reached the investigation. That an agent was told, its timeline says."""
    return _to_session(session_id, LiveEventType.NOTE_CREATED, {"note": _told(note, "number", "kind", "author", "text", "at")})


def paused(pauses: Sequence[Pause]) -> LiveEvent:
    """Everything that is paused now; an empty list when nothing is."""
    told = [_told(pause, "chain_id", "since", "actor", "reason", "parks_running") for pause in pauses]
    return LiveEvent(SESSIONS_CHANNEL, LiveEventType.PAUSES_CHANGED, {"pauses": told})


def incident_changed(incident: Incident, at: datetime) -> LiveEvent:
    """An incident was opened, or something of it is different: everything that a list shows of it."""
    names = ("state", "title", "severity", "source", "firing", "alerts", "deliveries", "opened_at", "resolved_at")
    told = _told(incident, *names, incident_id=incident.id, last_session_id=incident.session_id, at=at)
    return LiveEvent(INCIDENTS_CHANNEL, LiveEventType.INCIDENT_CHANGED, told)


def chat_message(message: ChatUserMessage, *, status: RunStatus | None = None) -> LiveEvent:
    names = ("content", "author", "stage_id", "error_message", "created_at")
    told = _told(message, *names, message_id=message.id, status=status or message.status)
    return _to_session(message.session_id, LiveEventType.CHAT_MESSAGE, told)


def work_completed(session_id: str, kind: WorkKind, subject_id: str, close: WorkClose) -> LiveEvent:
    """The end of a chat answer or of a scoring."""
    told = _told(close, "status", "error_message", work=kind, message_id=subject_id, at=close.completed_at)
    return _to_session(session_id, LiveEventType.CHAT_MESSAGE, told)
