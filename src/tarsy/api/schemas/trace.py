"""What went over the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import Usage, View
from tarsy.db.interactions import LLMCall, Trace
from tarsy.domain.conversation import Role
from tarsy.domain.interaction import LLMInteractionKind, MCPInteractionKind


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


class MCPCallItem(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID
    kind: MCPInteractionKind
    server: str
    tool: str | None
    is_error: bool
    error_message: str | None
    started_at: datetime
    duration_ms: int


class TraceList(View):
    """Every call of a session, each kind oldest first, without bodies."""

    llm: list[LLMCallItem]
    mcp: list[MCPCallItem]

    @classmethod
    def of(cls, trace: Trace) -> "TraceList":
        return cls.model_validate(trace)


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
        interaction = call.interaction
        conversation = [
            SentMessageView(
                role=sent.body.role,
                content=sent.body.content,
                tool_calls=[ToolCallView.model_validate(tool_call) for tool_call in sent.body.tool_calls],
                tool_call_id=sent.body.tool_call_id,
                tool_name=sent.body.tool_name,
                compacted_later=sent.compacted_later,
            )
            for sent in call.conversation
        ]
        return cls(
            **LLMCallItem.model_validate(interaction).model_dump(exclude={"usage"}),
            usage=Usage.of(interaction.usage),
            request_hash=interaction.request_hash,
            request=_without_messages(interaction.request),
            response=dict(interaction.response) if interaction.response is not None else None,
            conversation=conversation,
        )


def _without_messages(request: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in request.items() if key != "messages"}


class MCPCallDetail(MCPCallItem):
    call_id: str | None
    arguments: str | None
    result: dict[str, Any] | None
