"""Stages as they are stored, with what their agents concluded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Ran:
    """An agent and its conclusion, if that is not empty."""

    text: str
    status: RunStatus = RunStatus.COMPLETED
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


def stage_record(index: int, kind: StageType, *agents: Ran, status: RunStatus = RunStatus.COMPLETED) -> StageRecord:
    """A stage whose agents are named A, B and so on."""
    ended = Stage(
        id=f"s{index}",
        session_id="x",
        stage_name=kind,
        stage_index=index,
        stage_type=kind,
        expected_agent_count=len(agents),
        status=status,
    )
    return StageRecord(ended, tuple(_execution(ended, number, ran) for number, ran in enumerate(agents, start=1)))


def _execution(stage: Stage, number: int, ran: Ran) -> ExecutionRecord:
    execution = AgentExecution(
        id=f"{stage.id}e{number}",
        session_id="x",
        stage_id=stage.id,
        agent_name="ABCDEFGH"[number - 1],
        agent_index=number,
        llm_backend="langchain",
        llm_provider="p",
        model_name="m",
        tool_calling="native",
        status=ran.status,
    )
    event = TimelineEvent(
        id=f"{execution.id}t",
        session_id="x",
        stage_id=stage.id,
        execution_id=execution.id,
        sequence_number=1,
        event_type=TimelineEventType.FINAL_ANALYSIS,
        status=TimelineStatus.COMPLETED,
        content=ran.text,
        metadata=ran.metadata,
        created_at=NOW,
        completed_at=NOW,
    )
    return ExecutionRecord(execution, (event,) if ran.text else ())
