"""Stages of a chain, and the rule that decides their final status."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.status import RunStatus


class StageType(StrEnum):
    INVESTIGATION = "investigation"
    SYNTHESIS = "synthesis"
    EXEC_SUMMARY = "exec_summary"
    CHAT = "chat"
    SCORING = "scoring"
    ACTION = "action"
    CHALLENGE = "challenge"

    @property
    def concludes(self) -> bool:
        """Return whether the conclusions of its agents are part of the session's analysis."""
        return self in {StageType.INVESTIGATION, StageType.SYNTHESIS}


class ParallelType(StrEnum):
    MULTI_AGENT = "multi_agent"
    REPLICA = "replica"


class SuccessPolicy(StrEnum):
    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    id: str
    session_id: str
    stage_name: str
    stage_index: int
    stage_type: StageType
    expected_agent_count: int
    status: RunStatus
    parallel_type: ParallelType | None = None
    success_policy: SuccessPolicy | None = None
    # For a synthesis: the stage that it synthesises.
    referenced_stage_id: str | None = None
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageClose:
    stage_id: str
    status: RunStatus
    completed_at: datetime
    error_message: str | None = None


def stage_status(statuses: Sequence[RunStatus], policy: SuccessPolicy) -> RunStatus:
    """Decide the final status of a stage from those of its agents.

    If the policy is not met, it is the common status of the unsuccessful agents, or `failed` if they differ.
    """
    unsuccessful = {status for status in statuses if status is not RunStatus.COMPLETED}
    if not unsuccessful or (policy is SuccessPolicy.ANY and RunStatus.COMPLETED in statuses):
        return RunStatus.COMPLETED
    return unsuccessful.pop() if len(unsuccessful) == 1 else RunStatus.FAILED
