"""The timeline of a session, and its trace: every recorded call of a model or tool."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import Usage, View
from tarsy.db.run.trace import LLMCall
from tarsy.domain.conversation import Role
from tarsy.domain.interaction import LLMInteractionKind, MCPInteractionKind
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.usage import TokenUsage


class ExecutionInTreeView(View):
    id: UUID
    agent_name: str
    # For a sub-agent: the execution that started it, the evidence id of the tool call that did, and its task.
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
    # The id by which agents cite the result of the event's tool call.
    evidence_id: str | None
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    completed_at: datetime | None


class Timeline(View):
    events: list[TimelineEventView]
    # The executions of the events, each before its sub-agents.
    executions: list[ExecutionInTreeView]
    # Subscribe from this live event on to miss none.
    last_event_id: int
    # The `after` of the next page; absent on the last one.
    next_after: int | None


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
    # Whether `usage` is an estimate, because the call was cut off before its vendor reported the tokens.
    usage_estimated: bool
    error_code: str | None
    error_message: str | None
    started_at: datetime
    duration_ms: int
    first_chunk_ms: int | None
    # US dollars; absent if the price was not known.
    cost_usd: float | None


class MCPCall(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID
    kind: MCPInteractionKind
    server: str
    tool: str | None
    # The id by which agents cite the result; absent for lists of tools, and for calls of versions without ids.
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
    # The executions of the calls, each before its sub-agents.
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
    # Shortened later to make room in the model's context window.
    compacted_later: bool


class LLMCallDetail(LLMCallItem):
    request_hash: str
    # Everything sent besides the conversation: offered tools, settings.
    request: dict[str, Any]
    # The received chunks, with text merged; absent if there were none.
    response: dict[str, Any] | None
    # The messages exactly as they were sent.
    conversation: list[SentMessageView]

    @classmethod
    def of(cls, call: LLMCall) -> "LLMCallDetail":
        return cls.build(
            call.interaction,
            usage=call.interaction.usage or TokenUsage(),
            request={key: value for key, value in call.interaction.request.items() if key != "messages"},
            conversation=[SentMessageView.build(sent.body, sent) for sent in call.conversation],
        )


class MCPCallDetail(MCPCall):
    call_id: str | None
    arguments: str | None
    result: dict[str, Any] | None
