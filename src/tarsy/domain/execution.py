"""One agent's work in a stage."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tarsy.domain.period_budget import BudgetWait
from tarsy.domain.status import RunStatus


class AgentType(StrEnum):
    DEFAULT = "default"
    SYNTHESIS = "synthesis"
    EXEC_SUMMARY = "exec_summary"
    SCORING = "scoring"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExecution:
    id: str
    session_id: str
    stage_id: str
    agent_name: str
    agent_index: int
    llm_backend: str
    llm_provider: str
    model_name: str
    tool_calling: str
    status: RunStatus
    # For a sub-agent: the execution that sent it, by which of its calls (an evidence id), and to do what. Its index is then the number of that call.
    parent_execution_id: str | None = None
    dispatched_by: str | None = None
    task: str | None = None
    # A person asked that this agent alone should stop.
    cancel_requested: bool = False
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """What an execution waits for, in words for people, and for how long."""

    reason: str
    seconds: float
    # Where a period's budget did not let it begin: room in that wakes it before.
    budget: BudgetWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionChange:
    """A move of an execution, or a change of the model it speaks to."""

    execution_id: str
    at: datetime
    status: RunStatus | None = None
    error_message: str | None = None
    llm_provider: str | None = None
    llm_backend: str | None = None
    model_name: str | None = None

    @property
    def started_at(self) -> datetime | None:
        return self.at if self.status is RunStatus.ACTIVE else None

    @property
    def completed_at(self) -> datetime | None:
        return self.at if self.status and self.status is not RunStatus.ACTIVE else None

    def of(self, execution: AgentExecution) -> AgentExecution:
        """The execution, changed."""
        told = {name: value for name in _CHANGED if (value := getattr(self, name)) is not None}
        return replace(execution, **told)


_CHANGED = ("status", "error_message", "llm_provider", "llm_backend", "model_name", "started_at", "completed_at")
