"""Pure module: what subscribers are told of each thing that is written. The shapes here are the wire format of live events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.claim import WorkKind
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.live import SESSIONS_CHANNEL, LiveEvent, LiveEventType, session_channel
from tarsy.domain.pause import Pause
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose, TimelineEvent


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def timeline_created(event: TimelineEvent) -> LiveEvent:
    payload = {
        "session_id": event.session_id,
        "event": {
            "id": event.id,
            "stage_id": event.stage_id,
            "execution_id": event.execution_id,
            "sequence_number": event.sequence_number,
            "event_type": event.event_type.value,
            "status": event.status.value,
            "content": event.content,
            "metadata": dict(event.metadata),
            "created_at": _iso(event.created_at),
            "completed_at": _iso(event.completed_at),
        },
    }
    return LiveEvent(session_channel(event.session_id), LiveEventType.TIMELINE_CREATED, payload)


def timeline_completed(session_id: str, close: TimelineClose) -> LiveEvent:
    payload = {
        "session_id": session_id,
        "event_id": close.event_id,
        "event_type": close.event_type.value if close.event_type else None,
        "status": close.status.value,
        "content": close.content,
        "metadata": dict(close.metadata),
        "completed_at": _iso(close.completed_at),
    }
    return LiveEvent(session_channel(session_id), LiveEventType.TIMELINE_COMPLETED, payload)


def session_status(
    session_id: str, status: SessionStatus, *, alert_type: str, at: datetime, waiting_reason: str | None = None
) -> tuple[LiveEvent, LiveEvent]:
    """A status move, for the session's own watchers and for those of the list."""
    payload = {"session_id": session_id, "status": status.value, "alert_type": alert_type, "at": _iso(at), "waiting_reason": waiting_reason}
    return (
        LiveEvent(session_channel(session_id), LiveEventType.SESSION_STATUS, payload),
        LiveEvent(SESSIONS_CHANNEL, LiveEventType.SESSION_STATUS, payload),
    )


def session_completed(session_id: str, close: SessionClose, *, alert_type: str) -> tuple[LiveEvent, LiveEvent]:
    """The end of a session. Only its own watchers get the texts: the list does not need them."""
    payload: Mapping[str, Any] = {
        "session_id": session_id,
        "status": close.status.value,
        "alert_type": alert_type,
        "at": _iso(close.completed_at),
        "error_message": close.error_message,
        "analysis_is_partial": close.analysis_is_partial,
        "analysis_partial_reason": close.analysis_partial_reason,
    }
    texts = {"final_analysis": close.final_analysis, "executive_summary": close.executive_summary}
    return (
        LiveEvent(session_channel(session_id), LiveEventType.SESSION_COMPLETED, {**payload, **texts}),
        LiveEvent(SESSIONS_CHANNEL, LiveEventType.SESSION_COMPLETED, payload),
    )


def _stage_payload(stage: Stage) -> dict[str, Any]:
    return {
        "session_id": stage.session_id,
        "stage_id": stage.id,
        "stage_name": stage.stage_name,
        "stage_index": stage.stage_index,
        "stage_type": stage.stage_type.value,
        "expected_agent_count": stage.expected_agent_count,
        "referenced_stage_id": stage.referenced_stage_id,
        "status": stage.status.value,
        "started_at": _iso(stage.started_at),
    }


def stage_started(stage: Stage) -> tuple[LiveEvent, LiveEvent]:
    payload = _stage_payload(stage)
    return (
        LiveEvent(session_channel(stage.session_id), LiveEventType.STAGE_STARTED, payload),
        LiveEvent(SESSIONS_CHANNEL, LiveEventType.STAGE_STARTED, payload),
    )


def stage_completed(session_id: str, close: StageClose) -> LiveEvent:
    payload = {
        "session_id": session_id,
        "stage_id": close.stage_id,
        "status": close.status.value,
        "error_message": close.error_message,
        "completed_at": _iso(close.completed_at),
    }
    return LiveEvent(session_channel(session_id), LiveEventType.STAGE_COMPLETED, payload)


def execution_status(session_id: str, change: ExecutionChange) -> LiveEvent:
    payload = {
        "session_id": session_id,
        "execution_id": change.execution_id,
        "status": change.status.value if change.status else None,
        "error_message": change.error_message,
        "llm_provider": change.llm_provider,
        "model_name": change.model_name,
        "at": _iso(change.at),
    }
    return LiveEvent(session_channel(session_id), LiveEventType.EXECUTION_STATUS, payload)


def interaction_created(interaction: LLMInteraction | MCPInteraction) -> LiveEvent:
    """Says that there is something to look at; the bodies are fetched by the clients that want them."""
    payload = {
        "session_id": interaction.session_id,
        "interaction_id": interaction.id,
        "execution_id": interaction.execution_id,
        "interaction_type": "llm" if isinstance(interaction, LLMInteraction) else "mcp",
        "duration_ms": interaction.duration_ms,
        "failed": interaction.error_message is not None,
    }
    return LiveEvent(session_channel(interaction.session_id), LiveEventType.INTERACTION_CREATED, payload)


def paused(pauses: Sequence[Pause]) -> LiveEvent:
    """Everything that is paused now; an empty list when nothing is."""
    told = [
        {
            "chain_id": pause.chain_id,
            "since": _iso(pause.since),
            "actor": pause.actor,
            "reason": pause.reason,
            "parks_running": pause.parks_running,
        }
        for pause in pauses
    ]
    return LiveEvent(SESSIONS_CHANNEL, LiveEventType.PAUSES_CHANGED, {"pauses": told})


def chat_message(message: ChatUserMessage, *, status: RunStatus | None = None) -> LiveEvent:
    payload = {
        "session_id": message.session_id,
        "message_id": message.id,
        "content": message.content,
        "author": message.author,
        "status": (status or message.status).value,
        "stage_id": message.stage_id,
        "error_message": message.error_message,
        "created_at": _iso(message.created_at),
    }
    return LiveEvent(session_channel(message.session_id), LiveEventType.CHAT_MESSAGE, payload)


def work_completed(session_id: str, kind: WorkKind, subject_id: str, close: WorkClose) -> LiveEvent:
    """The end of a chat answer or of a scoring."""
    payload = {
        "session_id": session_id,
        "work": kind,
        "message_id": subject_id,
        "status": close.status.value,
        "error_message": close.error_message,
        "at": _iso(close.completed_at),
    }
    return LiveEvent(session_channel(session_id), LiveEventType.CHAT_MESSAGE, payload)
