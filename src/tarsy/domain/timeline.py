"""The timeline of an investigation, as the dashboard shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from tarsy.domain.status import TimelineStatus


class TimelineEventType(StrEnum):
    LLM_THINKING = "llm_thinking"
    LLM_RESPONSE = "llm_response"
    LLM_TOOL_CALL = "llm_tool_call"
    TOOL_RESULT = "tool_result"
    MCP_TOOL_SUMMARY = "mcp_tool_summary"
    FINAL_ANALYSIS = "final_analysis"
    EXECUTIVE_SUMMARY = "executive_summary"
    ERROR = "error"
    WARNING = "warning"
    USER_QUESTION = "user_question"
    CODE_EXECUTION = "code_execution"
    GOOGLE_SEARCH_RESULT = "google_search_result"
    URL_CONTEXT_RESULT = "url_context_result"
    PROVIDER_FALLBACK = "provider_fallback"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One event; `position` orders the whole session, `sequence_number` one execution."""

    id: str
    session_id: str
    stage_id: str | None
    execution_id: str | None
    sequence_number: int
    event_type: TimelineEventType
    status: TimelineStatus
    content: str
    created_at: datetime
    completed_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # Assigned by the database in the order of commits; 0 before the event is stored.
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineClose:
    """The end of a streaming event. An event is closed once: a second close has no effect."""

    event_id: str
    status: TimelineStatus
    content: str
    completed_at: datetime
    # Added to the event's own metadata.
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # The type if it is known only at the end: text beside tool calls is a response, text alone the final analysis.
    event_type: TimelineEventType | None = None

    def of(self, event: TimelineEvent) -> TimelineEvent:
        """Return the closed event."""
        return replace(
            event,
            status=self.status,
            content=self.content,
            completed_at=self.completed_at,
            metadata={**event.metadata, **self.metadata},
            event_type=self.event_type or event.event_type,
        )
