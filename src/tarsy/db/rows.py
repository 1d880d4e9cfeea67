"""Pure module: rows from domain values and back, for what a run writes."""

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

Row = dict[str, Any]


def stage_row(stage: Stage) -> Row:
    return asdict(stage)


def stage_of(row: sa.RowMapping) -> Stage:
    values = _fields(Stage, row)
    values["stage_type"] = StageType(row["stage_type"])
    values["status"] = RunStatus(row["status"])
    values["parallel_type"] = ParallelType(row["parallel_type"]) if row["parallel_type"] else None
    values["success_policy"] = SuccessPolicy(row["success_policy"]) if row["success_policy"] else None
    return Stage(**values)


def execution_row(execution: AgentExecution) -> Row:
    return asdict(execution)


def execution_of(row: sa.RowMapping) -> AgentExecution:
    values = _fields(AgentExecution, row)
    values["status"] = RunStatus(row["status"])
    return AgentExecution(**values)


def message_row(message: Message, session_id: str) -> Row:
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


def message_of(row: sa.RowMapping) -> Message:
    calls = tuple(ToolCall(**call) for call in row["tool_calls"] or ())
    body = ConversationMessage(Role(row["role"]), row["content"], calls, row["tool_call_id"], row["tool_name"])
    return Message(
        id=row["id"], execution_id=row["execution_id"], sequence_number=row["sequence_number"], body=body, created_at=row["created_at"]
    )


def timeline_row(event: TimelineEvent) -> Row:
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


def timeline_of(row: sa.RowMapping) -> TimelineEvent:
    values = _fields(TimelineEvent, row)
    values["event_type"] = TimelineEventType(row["event_type"])
    values["status"] = TimelineStatus(row["status"])
    return TimelineEvent(**values)


def llm_interaction_row(interaction: LLMInteraction) -> Row:
    row = {name: getattr(interaction, name) for name in _names(LLMInteraction) if name != "usage"}
    return {**row, **asdict(interaction.usage)}


def mcp_interaction_row(interaction: MCPInteraction) -> Row:
    return {name: getattr(interaction, name) for name in _names(MCPInteraction)}


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(kind.__dataclass_fields__)


def _fields(kind: type[Any], row: sa.RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in _names(kind)}
