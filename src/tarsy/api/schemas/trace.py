"""Which agent sent which."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import Usage, View
from tarsy.db.run.timeline import TimelinePage
from tarsy.db.run.trace import LLMCall
from tarsy.domain.conversation import Role
from tarsy.domain.interaction import LLMInteractionKind, MCPInteractionKind
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEventType


class ExecutionInTreeView(View):
    id: UUID
    agent_name: str
    # For a sub-agent: the execution that sent it, the evidence id of the call that did, and what it was sent to do.
    parent_execution_id: UUID | None
    dispatched_by: str | None
    task: str | None


class TimelineEventView(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID | None
    # Orders the session; also the id of the live event that announced it.
    position: int
    sequence_number: int
    event_type: TimelineEventType
    # By which agents cite the result that the event is about, or brings.
    evidence_id: str | None
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    completed_at: datetime | None


class Timeline(View):
    events: list[TimelineEventView]
    # The agents that the events' `execution_id` names, each before those that it sent.
    executions: list[ExecutionInTreeView]
    # Subscribe from this live event on to miss nothing.
    last_event_id: int
    # Give it back as `after` for the next page; absent on the last one.
    next_after: int | None

    @classmethod
    def of(cls, page: TimelinePage) -> "Timeline":
        return cls.model_validate(page)


class LLMCallItem(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID
    kind: LLMInteractionKind
    turn: int
    provider: str
    model: str
    message_count: int
    usage: Usage
    error_code: str | None
    error_message: str | None
    started_at: datetime
    duration_ms: int
    first_chunk_ms: int | None
    # US dollars; absent when the model's price was not known.
    cost_usd: float | None


class MCPCall(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID
    kind: MCPInteractionKind
    server: str
    tool: str | None
    # By which agents cite the result; absent for lists of tools, and for calls from before there were ids.
    evidence_id: str | None
    is_error: bool
    error_message: str | None
    started_at: datetime
    duration_ms: int


class MCPCallItem(MCPCall):
    # The beginning of its arguments, masked as they were stored; absent for lists of tools.
    arguments_start: str | None


class TraceList(View):
    """Every call of a session, each kind oldest first, without bodies."""

    llm: list[LLMCallItem]
    mcp: list[MCPCallItem]
    # The agents that the calls' `execution_id` names, each before those that it sent.
    executions: list[ExecutionInTreeView]


class ToolCallView(View):
    id: str
    name: str
    arguments: str


class SentMessageView(View):
    role: Role
    content: str
    tool_calls: list[ToolCallView]
    tool_call_id: str | None
    tool_name: str | None
    # Shortened since then to make room in the model's window.
    compacted_later: bool


class LLMCallDetail(LLMCallItem):
    request_hash: str
    # Everything sent beside the conversation: tools on offer, settings.
    request: dict[str, Any]
    # The chunks as they came, text merged; absent when nothing came.
    response: dict[str, Any] | None
    # The messages exactly as they were sent.
    conversation: list[SentMessageView]

    @classmethod
    def of(cls, call: LLMCall) -> "LLMCallDetail":
        return cls.shown(
            call.interaction,
            usage=Usage.of(call.interaction.usage),
            request={key: value for key, value in call.interaction.request.items() if key != "messages"},
            conversation=[SentMessageView.shown(sent.body, sent) for sent in call.conversation],
        )


class MCPCallDetail(MCPCall):
    call_id: str | None
    arguments: str | None
    result: dict[str, Any] | None
