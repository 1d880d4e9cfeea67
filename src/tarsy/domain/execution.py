"""Executions: one run of one agent in a stage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from tarsy.domain.claim import Claim
from tarsy.domain.period_budget import BudgetWait
from tarsy.domain.status import RunStatus


class AgentType(StrEnum):
    DEFAULT = "default"
    SYNTHESIS = "synthesis"
    EXEC_SUMMARY = "exec_summary"
    SCORING = "scoring"
    ACTION = "action"

    @property
    def calls_tools(self) -> bool:
        return self in {AgentType.DEFAULT, AgentType.ACTION}


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
    # For a sub-agent: the execution that dispatched it, the evidence id of that call, and the task. Its `agent_index` is then the number of the call.
    parent_execution_id: str | None = None
    dispatched_by: str | None = None
    task: str | None = None
    # A person asked to stop this agent only.
    cancel_requested: bool = False
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an execution has to wait (for people), and for how long."""

    reason: str
    seconds: float
    # If the budget of a period had no room for it: room in that budget ends the wait early.
    budget: BudgetWait | None = None
    # A person has to decide: the decision ends the wait early, and other calls of the turn need not wait for it.
    for_approval: bool = False


def combined_wait(waits: Sequence[Wait]) -> Wait:
    """Return the wait after which a run is continued that has several: the longest, so that it is not continued too early.

    Those for an approval count only among themselves, and the shortest of them counts: continuing one too early costs little.
    """
    approvals = [wait for wait in waits if wait.for_approval]
    shortest = min(approvals, key=lambda wait: wait.seconds, default=None)
    longest = max((wait for wait in waits if not wait.for_approval), key=lambda wait: wait.seconds, default=None)
    return min((wait for wait in (longest, shortest) if wait), key=lambda wait: wait.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionChange:
    """A new status of an execution, or a new model."""

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

    @property
    def new_values(self) -> dict[str, Any]:
        """The fields of the execution that change, by name."""
        names = ("status", "error_message", "llm_provider", "llm_backend", "model_name", "started_at", "completed_at")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def of(self, execution: AgentExecution) -> AgentExecution:
        """Return the execution with this change applied."""
        return replace(execution, **self.new_values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlace:
    """Which execution this is, and the claim that fences its writes."""

    claim: Claim
    stage_id: str
    execution_id: str
    # Names the execution the same in every run of the session.
    track: str

    @property
    def session_id(self) -> str:
        return self.claim.session_id
