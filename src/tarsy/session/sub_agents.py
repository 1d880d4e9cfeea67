"""Sub-agents: each is an execution below its parent's, started, continued or read back, and reported to the parent as a tool result."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import anyio

from tarsy.agent.execution import AgentServices, ExecutionResult, StopState
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.prompt.fence import result_line
from tarsy.agent.toolbox.run_agent import DispatchingTools, Report, SubAgentTask
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.domain.claim import Claim
from tarsy.domain.evidence import AnsweredCall, Evidence, call_number, sub_agent_prefix
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord
from tarsy.domain.recording import sub_track_of
from tarsy.domain.run_input import AnyInput, CutShort
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.session.run_scope import RunScope

# Results of a sub-agent that its report lists: as many as fit on a page. All of them can be cited.
_MOST_NAMED = 40
_ENDED = {RunStatus.CANCELLED: "was stopped by a person", RunStatus.TIMED_OUT: "ran out of time"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The part of a stage's job that only a sub-agent has."""

    track: str
    evidence_prefix: str
    task: str
    # How many sub-agents its parent may run at once, and shares its budget among.
    at_once: int
    # Results that it is given, by their ids.
    given: Mapping[str, Evidence]


RunSubAgent = Callable[[Dispatch, ExecutionRecord, ResolvedAgentConfig, StopState], Awaitable[ExecutionResult]]


@dataclass(frozen=True, slots=True)
class ParentAgent:
    """The execution that starts sub-agents, with those it has started before and the documents it may hand over."""

    claim: Claim
    record: ExecutionRecord
    track: str
    documents: Mapping[str, str]
    config: ResolvedAgentConfig
    stopping: StopState


class SubAgents:
    """Starts the sub-agents of one execution; `run` runs one in its own scope."""

    def __init__(self, services: AgentServices, recorded_inputs: Sequence[AnyInput], parent: ParentAgent, run: RunSubAgent) -> None:
        self._services = services
        self._recorded_inputs = recorded_inputs
        self._parent = parent
        self._run = run
        self._begun = {child.execution.agent_index: child for child in parent.record.children}
        self._limiter = anyio.CapacityLimiter(parent.config.orchestrator.max_concurrent_agents)
        # When the first was started, in loop time. Continued after a crash, sub-agents have their time anew.
        self._first: float | None = None

    def around(self, tools: ToolExecutor, ids: Mapping[str, str]) -> ToolExecutor:
        """Return the tools of an agent, with `run_agent` if it may start others."""
        agents = self._parent.config.sub_agents
        return DispatchingTools(tools, agents, self, ids, self._services.clock) if agents else tools

    async def dispatch(self, task: SubAgentTask) -> Report:
        parent, number = self._parent, call_number(task.dispatched_by)
        wanted = [name for name in task.context_ids if name not in parent.documents]
        found = await self._services.results.cited(parent.record.execution.id, wanted)
        given = {one.id: one for one in found if not one.refused}
        if missing := [name for name in wanted if name not in given]:
            raise CallRefusedError(f"The agent was not sent: there is no result {', '.join(missing)} to hand over.")
        child = self._begun.get(number) or await self._begin(task, number)
        dispatch = Dispatch(
            track=sub_track_of(parent.track, number, task.agent.agent_name),
            evidence_prefix=sub_agent_prefix(task.dispatched_by),
            task=child.execution.task or task.task,
            at_once=parent.config.orchestrator.max_concurrent_agents,
            given={name: given[name] for name in wanted},
        )
        async with self._limiter:
            result = await self._run_limited(dispatch, child, task.agent)
        if result.waits:
            return Report(text=result.waits.reason, waits=result.waits)
        return report_of(task.agent.agent_name, result, await self._services.results.answered(child.execution.id))

    async def _run_limited(self, dispatch: Dispatch, child: ExecutionRecord, config: ResolvedAgentConfig) -> ExecutionResult:
        """Run a sub-agent until its own time or that of all of them together is up, or as far as it came when it was recorded."""
        settings, now = self._parent.config.orchestrator, anyio.current_time()
        seconds: float | None = None
        if not any(one.track == dispatch.track and isinstance(one.value, CutShort) for one in self._recorded_inputs):
            self._first = self._first if self._first is not None else now
            together = None if settings.max_budget is None else max(self._first + settings.max_budget - now, 0.0)
            seconds = min((limit for limit in (settings.agent_timeout, together) if limit is not None), default=None)
        message = f"it did not end within {settings.agent_timeout:g} s" if settings.agent_timeout is not None else ""
        if settings.max_budget is not None and seconds is not None and seconds != settings.agent_timeout:
            message = f"the time for all agents that were sent, {settings.max_budget:g} s, was used up"
        scope = RunScope(StopState(parent=self._parent.stopping, timeout_message=message))
        async with scope.limited(seconds):
            return await self._run(dispatch, child, config, scope.stopping)
        return ExecutionResult(status=RunStatus.TIMED_OUT, error=scope.stopping.timeout_message)

    async def _begin(self, task: SubAgentTask, number: int) -> ExecutionRecord:
        """Store a new execution below its parent's."""
        parent, config = self._parent.record.execution, task.agent
        child = AgentExecution(
            id=str(uuid4()),
            session_id=parent.session_id,
            stage_id=parent.stage_id,
            agent_name=config.agent_name,
            agent_index=number,
            llm_backend=config.llm_backend.value,
            llm_provider=config.provider.name,
            model_name=config.provider.model,
            tool_calling=config.tool_calling.value,
            status=RunStatus.PENDING,
            parent_execution_id=parent.id,
            dispatched_by=task.dispatched_by,
            # The same when it is continued: the stored call is masked too.
            task=self._services.mask(task.task),
        )
        await self._services.journal.commit(Step(claim=self._parent.claim, executions=(child,)))
        return ExecutionRecord(child)


def report_of(name: str, result: ExecutionResult, answered: Sequence[AnsweredCall]) -> Report:
    """Return what the parent agent reads: the sub-agent's analysis or why there is none, and the ids of its results."""
    results = "It has no results of its own."
    if answered:
        lines = [result_line(one.evidence_id, one.tool, one.arguments, None) for one in answered[:_MOST_NAMED]]
        more = [f"and {len(answered) - _MOST_NAMED} more"] if len(answered) > _MOST_NAMED else []
        results = "\n".join(("Its results, which you can read and cite by their ids:", *lines, *more))
    if result.status is RunStatus.COMPLETED and result.final_analysis.strip():
        return Report(text=f"{name} reports:\n{result.final_analysis.strip()}\n\n{results}")
    reason = result.error or "it came to no conclusion"
    return Report(text=f"{name} {_ENDED.get(result.status, 'failed')}: {reason}. It has concluded nothing.\n\n{results}", failed=True)
