"""Pure module: rows from domain values and back, for what a run writes."""

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from tarsy.db.driver import Row
from tarsy.domain.citation import CheckedCitation, Citation, CitationStatus
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.price import Price, Spending
from tarsy.domain.run_input import AnyInput, InputKind, PlacedInput, input_fields, input_of, place_of
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.usage import TokenUsage

# Values by column.
NewRow = dict[str, Any]


def stage_row(stage: Stage) -> NewRow:
    return asdict(stage)


def stage_of(row: Row) -> Stage:
    return Stage(
        id=row["id"],
        session_id=row["session_id"],
        stage_name=row["stage_name"],
        stage_index=row["stage_index"],
        stage_type=StageType(row["stage_type"]),
        expected_agent_count=row["expected_agent_count"],
        status=RunStatus(row["status"]),
        parallel_type=ParallelType(row["parallel_type"]) if row["parallel_type"] else None,
        success_policy=SuccessPolicy(row["success_policy"]) if row["success_policy"] else None,
        referenced_stage_id=row["referenced_stage_id"],
        error_message=row["error_message"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
    )


def execution_row(execution: AgentExecution) -> NewRow:
    return asdict(execution)


def execution_of(row: Row) -> AgentExecution:
    return AgentExecution(
        id=row["id"],
        session_id=row["session_id"],
        stage_id=row["stage_id"],
        agent_name=row["agent_name"],
        agent_index=row["agent_index"],
        llm_backend=row["llm_backend"],
        llm_provider=row["llm_provider"],
        model_name=row["model_name"],
        parent_execution_id=row["parent_execution_id"],
        dispatched_by=row["dispatched_by"],
        task=row["task"],
        tool_calling=row["tool_calling"],
        status=RunStatus(row["status"]),
        cancel_requested=row["cancel_requested"],
        error_message=row["error_message"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
    )


def message_row(message: Message, session_id: str) -> NewRow:
    body = message.body
    return {
        "id": message.id,
        "session_id": session_id,
        "execution_id": message.execution_id,
        "sequence_number": message.sequence_number,
        "role": body.role.value,
        "content": body.content,
        "tool_calls": [asdict(call) for call in body.tool_calls] or None,
        "tool_call_id": body.tool_call_id,
        "tool_name": body.tool_name,
        "created_at": message.created_at,
    }


def message_of(row: Row) -> Message:
    calls = tuple(ToolCall(**call) for call in row["tool_calls"] or ())
    body = ConversationMessage(Role(row["role"]), row["content"], calls, row["tool_call_id"], row["tool_name"])
    return Message(
        id=row["id"], execution_id=row["execution_id"], sequence_number=row["sequence_number"], body=body, created_at=row["created_at"]
    )


def timeline_row(event: TimelineEvent) -> NewRow:
    return {
        "id": event.id,
        "session_id": event.session_id,
        "stage_id": event.stage_id,
        "execution_id": event.execution_id,
        "sequence_number": event.sequence_number,
        "position": event.position,
        "event_type": event.event_type.value,
        "status": event.status.value,
        "content": event.content,
        "metadata": event.metadata,
        "created_at": event.created_at,
        "completed_at": event.completed_at,
    }


def timeline_of(row: Row) -> TimelineEvent:
    return TimelineEvent(
        id=row["id"],
        session_id=row["session_id"],
        stage_id=row["stage_id"],
        execution_id=row["execution_id"],
        sequence_number=row["sequence_number"],
        event_type=TimelineEventType(row["event_type"]),
        status=TimelineStatus(row["status"]),
        content=row["content"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        metadata=row["metadata"],
        position=row["position"],
    )


def llm_interaction_row(interaction: LLMInteraction) -> NewRow:
    return {
        "id": interaction.id,
        "session_id": interaction.session_id,
        "stage_id": interaction.stage_id,
        "execution_id": interaction.execution_id,
        "kind": interaction.kind.value,
        "track": interaction.track,
        "turn": interaction.turn,
        "provider": interaction.provider,
        "model": interaction.model,
        "request_hash": interaction.request_hash,
        "message_count": interaction.message_count,
        "request": interaction.request,
        "response": interaction.response,
        **asdict(interaction.usage),
        "error_code": interaction.error_code,
        "error_message": interaction.error_message,
        "started_at": interaction.started_at,
        "duration_ms": interaction.duration_ms,
        "first_chunk_ms": interaction.first_chunk_ms,
        # As text: it stays exact on its way through JSON.
        "cost_usd": None if interaction.cost_usd is None else str(interaction.cost_usd),
        "price": _price_row(interaction.price),
    }


def _price_row(price: Price | None) -> NewRow | None:
    return {name: str(value) for name, value in asdict(price).items()} if price else None


def _price_of(stored: Mapping[str, str] | None) -> Price | None:
    return Price(**{name: Decimal(value) for name, value in stored.items()}) if stored else None


def llm_interaction_of(row: Row) -> LLMInteraction:
    return LLMInteraction(
        id=row["id"],
        session_id=row["session_id"],
        stage_id=row["stage_id"],
        execution_id=row["execution_id"],
        kind=LLMInteractionKind(row["kind"]),
        track=row["track"],
        turn=row["turn"],
        provider=row["provider"],
        model=row["model"],
        request_hash=row["request_hash"],
        message_count=row["message_count"],
        request=row["request"],
        response=row["response"],
        usage=usage_of(row),
        error_code=row["error_code"],
        error_message=row["error_message"],
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        first_chunk_ms=row["first_chunk_ms"],
        price=_price_of(row["price"]),
    )


# Sums over model calls. Those that used no tokens, failed ones mostly, cost nothing and miss no price.
SPENDING_SUMS = "sum(cost_usd) AS cost_usd, count(*) FILTER (WHERE cost_usd IS NULL AND total_tokens > 0) AS unpriced_calls"


def spending_of(row: Row) -> Spending:
    return Spending(row["cost_usd"], row["unpriced_calls"] or 0)


def usage_of(row: Row) -> TokenUsage:
    return TokenUsage(
        input_tokens=int(row["input_tokens"]),
        output_tokens=int(row["output_tokens"]),
        total_tokens=int(row["total_tokens"]),
        thinking_tokens=int(row["thinking_tokens"]),
        cached_tokens=int(row["cached_tokens"]),
    )


def mcp_interaction_row(interaction: MCPInteraction) -> NewRow:
    return {
        "id": interaction.id,
        "session_id": interaction.session_id,
        "stage_id": interaction.stage_id,
        "execution_id": interaction.execution_id,
        "kind": interaction.kind.value,
        "server": interaction.server,
        "tool": interaction.tool,
        "call_id": interaction.call_id,
        "evidence_id": interaction.evidence_id,
        "arguments": interaction.arguments,
        "result": interaction.result,
        "is_error": interaction.is_error,
        "error_message": interaction.error_message,
        "started_at": interaction.started_at,
        "duration_ms": interaction.duration_ms,
    }


def mcp_interaction_of(row: Row) -> MCPInteraction:
    return MCPInteraction(
        id=row["id"],
        session_id=row["session_id"],
        stage_id=row["stage_id"],
        execution_id=row["execution_id"],
        kind=MCPInteractionKind(row["kind"]),
        server=row["server"],
        tool=row["tool"],
        call_id=row["call_id"],
        evidence_id=row["evidence_id"],
        arguments=row["arguments"],
        result=row["result"],
        is_error=row["is_error"],
        error_message=row["error_message"],
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
    )


def citation_row(made: ExecutionCitation, session_id: str) -> NewRow:
    checked, citation = made.checked, made.checked.citation
    found_start, found_end = checked.found_at or (None, None)
    return {
        "session_id": session_id,
        "execution_id": made.execution_id,
        "number": made.number,
        "start": citation.start,
        "end": citation.end,
        "evidence_id": citation.evidence_id,
        "quotation": citation.quotation,
        "status": checked.status.value,
        "reason": checked.reason,
        "nearest": checked.nearest,
        "found_start": found_start,
        "found_end": found_end,
    }


def citation_of(row: Row) -> CheckedCitation:
    found_at = (row["found_start"], row["found_end"]) if row["found_start"] is not None else None
    return CheckedCitation(
        citation=Citation(row["evidence_id"], row["quotation"], row["start"], row["end"]),
        status=CitationStatus(row["status"]),
        reason=row["reason"],
        found_at=found_at,
        nearest=row["nearest"],
    )


def input_row(given: ExecutionInput, session_id: str) -> NewRow:
    placed = given.placed
    turn, kind, name = place_of(placed.turn, placed.value)
    return {
        "session_id": session_id,
        "execution_id": given.execution_id,
        "track": placed.track,
        "turn": turn,
        "kind": kind.value,
        "name": name,
        "fields": dict(input_fields(placed.value)),
    }


def placed_input_of(row: Row) -> AnyInput:
    return PlacedInput(row["track"], row["turn"], input_of(InputKind(row["kind"]), row["name"], row["fields"]))
