"""One stage: a task per agent, begun or continued, and the outcome of all of them together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from tarsy.agent.execution import ExecutionResult, StopState
from tarsy.agent.ports import Journal
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.domain.execution import ExecutionChange, combined_wait
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import Stage, StageClose, stage_status
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.domain.work import Park
from tarsy.kit.clock import Clock
from tarsy.kit.groups import for_each
from tarsy.session.agent_runner import AgentRunner, StageJob
from tarsy.session.plan import pending_execution


@dataclass(frozen=True, slots=True)
class RanStage:
    """A stage whose agents have all ended. The caller stores its `close` in the step that follows; a worker that finds the stage open closes it."""

    results: Sequence[ExecutionResult]
    close: StageClose


@dataclass(frozen=True, slots=True)
class StageRunner:
    agents: AgentRunner
    journal: Journal
    clock: Clock

    async def run(self, job: StageJob, stopping: StopState) -> RanStage | Park:
        """Run the stage to its end, or until its agents have to wait. On cancellation, what is done is stored."""
        record = await self._begin(job)
        stage, planned = record.stage, job.planned
        job.ledger.open_stage(stage.id, planned.budget)
        found: dict[int, ExecutionResult] = {}

        async def run_one(agent: tuple[ExecutionRecord, ResolvedAgentConfig]) -> None:
            execution, config = agent
            found[execution.execution.agent_index] = await self.agents.run(job, stage, execution, config, stopping)

        agents = list(zip(record.executions, planned.agents, strict=True))
        await for_each(agents, run_one, name=lambda agent: f"agent {agent[1].agent_name}")
        results = [found[index] for index in sorted(found)]
        if parking := parking_of(results):
            return parking
        status = stage_status([result.status for result in results], planned.success_policy)
        errors = [
            f"{config.agent_name}: {result.error or result.status}"
            for config, result in zip(planned.agents, results, strict=True)
            if result.status is not RunStatus.COMPLETED
        ]
        error = None if status is RunStatus.COMPLETED else "; ".join(errors)
        close = StageClose(stage_id=stage.id, status=status, completed_at=self.clock.now(), error_message=error)
        return RanStage(results, close)

    async def _begin(self, job: StageJob) -> StageRecord:
        """Store the stage and its executions, unless an interrupted run did."""
        if job.stored:
            return job.stored
        now, planned = self.clock.now(), job.planned
        stage = Stage(
            id=str(uuid4()),
            session_id=job.session.id,
            stage_name=planned.name,
            stage_index=planned.index,
            stage_type=planned.stage_type,
            expected_agent_count=len(planned.agents),
            status=RunStatus.ACTIVE,
            parallel_type=planned.parallel_type,
            success_policy=planned.success_policy,
            referenced_stage_id=job.referenced_stage_id,
            started_at=now,
        )
        agents = enumerate(planned.agents, start=1)
        executions = tuple(pending_execution(config, stage.session_id, stage.id, index) for index, config in agents)
        await self.journal.commit(
            Step(
                claim=job.claim,
                stages=(stage,),
                executions=executions,
                opened=job.remarks,
                # Active at once, though their tool servers may take a while to start.
                execution_changes=tuple(ExecutionChange(execution_id=one.id, at=now, status=RunStatus.ACTIVE) for one in executions),
                stage_closes=job.ended,
                conclusion=job.conclusion,
            )
        )
        return StageRecord(stage, tuple(ExecutionRecord(execution) for execution in executions))


def parking_of(results: Sequence[ExecutionResult]) -> Park | None:
    """Return what a stage waits for whose agents have run as far as they can."""
    waits = [result.waits for result in results if result.waits]
    if not waits:
        return None
    reasons = dict.fromkeys(wait.reason for wait in waits)
    budget = next((wait.budget for wait in waits if wait.budget), None)
    return Park(" ".join(reasons), combined_wait(waits).seconds, budget=budget)


@dataclass(frozen=True, slots=True)
class Closing:
    """The executions and stages that end with a session."""

    executions: tuple[ExecutionChange, ...] = ()
    stages: tuple[StageClose, ...] = ()


def close_unfinished(records: Iterable[StageRecord], status: RunStatus, *, reason: str, at: datetime) -> Closing:
    """Close those of `records` that are open."""
    left = [record for record in records if not record.stage.status.is_final]
    open_executions = (
        one.execution for record in left for top in record.executions for one in top.tree if not one.execution.status.is_final
    )
    return Closing(
        tuple(ExecutionChange(execution_id=one.id, at=at, status=status, error_message=reason) for one in open_executions),
        tuple(StageClose(stage_id=record.stage.id, status=status, completed_at=at, error_message=reason) for record in left),
    )
