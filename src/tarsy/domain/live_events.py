"""Live events: the channels, and the payloads that are published when something is stored. The payloads are the wire format.

Persistent events are stored in the outbox and delivered in order. Text in progress is not stored: each reader is sent what it lacks.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, cast
from uuid import UUID

from tarsy.domain.approval import Approval
from tarsy.domain.claim import CHAT_ANSWER, WorkKind
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.incident import Incident
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.note import Note
from tarsy.domain.session import SessionClose, SessionConclusion
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose, TimelineEvent
from tarsy.domain.verdict import judged_fields
from tarsy.domain.work import Pause

SESSIONS_CHANNEL = "sessions"
INCIDENTS_CHANNEL = "incidents"
_SESSION_PREFIX = "session:"


class UnknownChannelError(LookupError):
    """The caller named a channel that does not exist, or that it may not subscribe to."""

    def __init__(self, channel: str) -> None:
        super().__init__(f"There is no channel {channel[:80]!r}; there are 'incidents', 'sessions' and 'session:<id>'.")


def session_channel(session_id: str) -> str:
    return f"{_SESSION_PREFIX}{session_id}"


def session_of(channel: str) -> str | None:
    """Return the session that a channel belongs to; None for a shared channel.

    Raises:
        UnknownChannelError: no such channel can exist.
    """
    if channel in {SESSIONS_CHANNEL, INCIDENTS_CHANNEL}:
        return None
    session_id = channel.removeprefix(_SESSION_PREFIX)
    try:
        # Only the canonical spelling: two spellings of one channel would be two feeds.
        is_channel = session_id != channel and str(UUID(session_id)) == session_id
    except ValueError:
        is_channel = False
    if not is_channel:
        raise UnknownChannelError(channel)
    return session_id


class LiveEventType(StrEnum):
    TIMELINE_CREATED = "timeline_event.created"
    TIMELINE_COMPLETED = "timeline_event.completed"
    SESSION_STATUS = "session.status"
    SESSION_CONCLUDED = "session.concluded"
    SESSION_COMPLETED = "session.completed"
    STAGE_STARTED = "stage.started"
    STAGE_COMPLETED = "stage.completed"
    CHAT_MESSAGE = "chat.message"
    INTERACTION_CREATED = "interaction.created"
    EXECUTION_STATUS = "execution.status"
    PAUSES_CHANGED = "pauses.changed"
    INCIDENT_CHANGED = "incident.changed"
    NOTE_CREATED = "note.created"
    APPROVAL_CHANGED = "approval.changed"


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """A persistent event before it is stored; the outbox assigns its id."""

    channel: str
    type: LiveEventType
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredLiveEvent:
    """A persistent event with its id. The ids of a channel have no gaps and follow the order of commits."""

    channel: str
    id: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamDelta:
    """A piece of a streaming timeline event's text; `offset` is its position in the text, in characters."""

    session_id: str
    event_id: str
    offset: int
    delta: str


def _fields(value: object, *names: str, **further: Any) -> dict[str, Any]:
    """Return `further` and the named fields of `value` as JSON has them."""
    return {name: _plain(content) for name, content in {**further, **{name: getattr(value, name) for name in names}}.items()}


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping():
            return dict(cast("Mapping[str, Any]", value))
        case _:
            return value


def _session_event(session_id: str, kind: LiveEventType, payload: Mapping[str, Any]) -> LiveEvent:
    return LiveEvent(session_channel(session_id), kind, {"session_id": session_id, **payload})


def _list_event(event: LiveEvent, *, without: Collection[str] = ()) -> LiveEvent:
    """Return a session's event for the subscribers of the session list."""
    return LiveEvent(SESSIONS_CHANNEL, event.type, {name: value for name, value in event.payload.items() if name not in without})


def timeline_created(event: TimelineEvent) -> LiveEvent:
    place, content = ("id", "stage_id", "execution_id", "sequence_number"), ("event_type", "status", "content", "metadata")
    fields = _fields(event, *place, *content, "created_at", "completed_at")
    return _session_event(event.session_id, LiveEventType.TIMELINE_CREATED, {"event": fields})


def timeline_completed(session_id: str, close: TimelineClose) -> LiveEvent:
    fields = _fields(close, "event_id", "event_type", "status", "content", "metadata", "completed_at")
    return _session_event(session_id, LiveEventType.TIMELINE_COMPLETED, fields)


def session_status(
    session_id: str, status: SessionStatus, *, alert_type: str, at: datetime, waiting_reason: str | None = None
) -> tuple[LiveEvent, LiveEvent]:
    """Return the events of a new status, for the session's channel and for the list."""
    payload = {"status": status.value, "alert_type": alert_type, "at": at.isoformat(), "waiting_reason": waiting_reason}
    event = _session_event(session_id, LiveEventType.SESSION_STATUS, payload)
    return event, _list_event(event)


def session_concluded(session_id: str, found: SessionConclusion) -> LiveEvent:
    """Return the event of what a session has found, before its executive summary is written."""
    verdict = judged_fields(found.verdict) if found.verdict else None
    fields = _fields(found, "final_analysis", "analysis_is_partial", "analysis_partial_reason", verdict=verdict)
    return _session_event(session_id, LiveEventType.SESSION_CONCLUDED, fields)


def session_completed(session_id: str, close: SessionClose, *, alert_type: str) -> tuple[LiveEvent, LiveEvent]:
    """Return the events of a session's end, for the session's channel and, without the texts, for the list."""
    texts = ("final_analysis", "executive_summary")
    names = ("status", "error_message", "analysis_is_partial", "analysis_partial_reason", *texts)
    verdict = judged_fields(close.verdict) if close.verdict else None
    fields = _fields(close, *names, alert_type=alert_type, at=close.completed_at, verdict=verdict)
    event = _session_event(session_id, LiveEventType.SESSION_COMPLETED, fields)
    return event, _list_event(event, without=texts)


def stage_started(stage: Stage) -> tuple[LiveEvent, LiveEvent]:
    names = ("stage_name", "stage_index", "stage_type", "expected_agent_count", "referenced_stage_id", "status", "started_at")
    event = _session_event(stage.session_id, LiveEventType.STAGE_STARTED, _fields(stage, *names, stage_id=stage.id))
    return event, _list_event(event)


def stage_completed(session_id: str, close: StageClose) -> LiveEvent:
    fields = _fields(close, "stage_id", "status", "error_message", "completed_at")
    return _session_event(session_id, LiveEventType.STAGE_COMPLETED, fields)


def execution_status(session_id: str, change: ExecutionChange) -> LiveEvent:
    fields = _fields(change, "execution_id", "status", "error_message", "llm_provider", "model_name", "at")
    return _session_event(session_id, LiveEventType.EXECUTION_STATUS, fields)


def interaction_created(interaction: LLMInteraction | MCPInteraction) -> LiveEvent:
    """Return the event of a model or tool call, without its bodies: clients fetch those they need."""
    kind = "llm" if isinstance(interaction, LLMInteraction) else "mcp"
    failed = interaction.error_message is not None
    fields = _fields(interaction, "execution_id", "duration_ms", interaction_id=interaction.id, interaction_type=kind, failed=failed)
    return _session_event(interaction.session_id, LiveEventType.INTERACTION_CREATED, fields)


def note_created(session_id: str, note: Note) -> LiveEvent:
    """Return the event of a new note. Its delivery to an agent is an event of that agent's timeline."""
    return _session_event(session_id, LiveEventType.NOTE_CREATED, {"note": _fields(note, "number", "kind", "author", "text", "at")})


def approval_changed(approval: Approval) -> tuple[LiveEvent, LiveEvent]:
    """Return the events of a call that waits for a person or was decided about, for the session's channel and for the list.

    They are without the arguments, which may be long: clients fetch them.
    """
    names = ("server", "tool", "state", "expires_at", "decided_by")
    event = _session_event(approval.session_id, LiveEventType.APPROVAL_CHANGED, _fields(approval, *names, approval_id=approval.id))
    return event, _list_event(event)


def pauses_changed(pauses: Sequence[Pause]) -> LiveEvent:
    """Return the event with all present pauses; an empty list: nothing is paused."""
    fields = [_fields(pause, "chain_id", "since", "actor", "reason", "parks_running") for pause in pauses]
    return LiveEvent(SESSIONS_CHANNEL, LiveEventType.PAUSES_CHANGED, {"pauses": fields})


def incident_changed(incident: Incident, at: datetime) -> LiveEvent:
    """Return the event of a new or changed incident, with all that a list shows of it."""
    names = ("state", "title", "severity", "source", "firing", "alerts", "deliveries", "opened_at", "resolved_at")
    fields = _fields(incident, *names, incident_id=incident.id, last_session_id=incident.session_id, at=at)
    return LiveEvent(INCIDENTS_CHANNEL, LiveEventType.INCIDENT_CHANGED, fields)


def chat_message(message: ChatUserMessage, *, status: RunStatus | None = None) -> LiveEvent:
    names = ("content", "author", "stage_id", "error_message", "created_at")
    fields = _fields(message, *names, message_id=message.id, status=status or message.status)
    return _session_event(message.session_id, LiveEventType.CHAT_MESSAGE, fields)


def work_completed(session_id: str, kind: WorkKind, subject_id: str, close: WorkClose) -> tuple[LiveEvent, ...]:
    """Return the events of the end of a chat answer or a scoring: for the session's channel, and that of an answer for the list, too."""
    fields = _fields(close, "status", "error_message", work=kind, message_id=subject_id, at=close.completed_at)
    event = _session_event(session_id, LiveEventType.CHAT_MESSAGE, fields)
    return (event, _list_event(event)) if kind == CHAT_ANSWER else (event,)
