"""Pure module: the analysis a session ends with, however it ends."""

from collections.abc import Sequence
from dataclasses import dataclass

from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import StageType


@dataclass(frozen=True, slots=True)
class StageConclusions:
    """The agents of a stage that completed, in their order, and what each of them concluded."""

    stage_type: StageType
    analyses: tuple[tuple[str, str], ...]


def conclusions_of(record: StageRecord) -> StageConclusions:
    """The conclusions of a stage as it is stored, ended or not."""
    # One that was stopped while its answer was being corrected has an analysis without having completed.
    analyses = tuple((one.execution.agent_name, one.conclusion) for one in record.executions if one.conclusion)
    return StageConclusions(record.stage.stage_type, analyses)


def concluding_executions(records: Sequence[StageRecord]) -> tuple[ExecutionRecord, ...]:
    """The executions whose conclusions make the best analysis."""
    for record in reversed(records):
        found = tuple(one for one in record.executions if one.conclusion)
        if record.stage.stage_type.concludes and found:
            return found
    return ()


def best_analysis(stages: Sequence[StageConclusions]) -> str | None:
    """The conclusions of the newest stage that has any, also when it has not ended; of several agents, all."""
    for stage in reversed(stages):
        if stage.stage_type.concludes and stage.analyses:
            if len(stage.analyses) == 1:
                return stage.analyses[0][1]
            return "\n\n".join(f"## {agent}\n\n{analysis}" for agent, analysis in stage.analyses)
    return None
