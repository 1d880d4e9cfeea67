"""Agents that an agent sends: each an execution of its own below its parent's, begun, continued or read back, and told to the parent as a report."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import anyio

from tarsy.agent.execution import ExecutionResult, Stopping
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.prompt.fence import result_line
from tarsy.agent.toolbox.run_agent import Errand, Report, SendingTools
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedOrchestrator
from tarsy.domain.claim import Claim
from tarsy.domain.evidence import AnsweredCall, Evidence, call_number, sub_agent_prefix
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord
from tarsy.domain.recording import sub_track_of
from tarsy.domain.run_input import CutShort
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.session.dependencies import Dependencies, RunScope

# Results of an agent that its parent is told of by name: as many as fit on a page, and all of them can be cited.
_MOST_NAMED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What sets an agent that was sent apart from one of the plan."""

    track: str
    evidence_prefix: str
    task: str
    # How many its sender may have out at once, and so share what it may use among.
    at_once: int
    # Results that it was given, by their ids.
    given: Mapping[str, Evidence]


RunAgent = Callable[[Sent, ExecutionRecord, ResolvedAgentConfig, Stopping], Awaitable[ExecutionResult]]


@dataclass(frozen=True, slots=True)
class Sender:
    """The execution that sends: where its own agents hang, and what it may hand over."""

    claim: Claim
    record: ExecutionRecord
    track: str
    documents: Mapping[str, str]
    config: ResolvedAgentConfig
    stopping: Stopping


class SubAgents:
    """Sends the agents of one execution; `run` runs one in its own scope."""

    def __init__(self, dependencies: Dependencies, sender: Sender, run: RunAgent) -> None:
        self._dependencies = dependencies
        self._sender = sender
        self._run = run
        self._begun = {child.execution.agent_index: child for child in sender.record.children}
        self._room = anyio.CapacityLimiter(sender.config.orchestrator.max_concurrent_agents)
        self._time = _SharedTime(sender.config.orchestrator)

    def around(self, tools: ToolExecutor, ids: Mapping[str, str]) -> ToolExecutor:
        """The tools of an agent, with the sending of others where it may send any."""
        agents = self._sender.config.sub_agents
        return SendingTools(tools, agents, self, ids, self._dependencies.clock) if agents else tools

    async def send(self, errand: Errand) -> Report:
        number = call_number(errand.dispatched_by)
        given = await self._given(errand)
        child = self._begun.get(number) or await self._begin(errand, number)
        sent = Sent(
            track=sub_track_of(self._sender.track, number, errand.agent.agent_name),
            evidence_prefix=sub_agent_prefix(errand.dispatched_by),
            task=child.execution.task or errand.task,
            at_once=self._sender.config.orchestrator.max_concurrent_agents,
            given=given,
        )
        async with self._room:
            result = await self._limited(sent, child, errand.agent)
        if result.waits:
            return Report(text=result.waits.reason, waits=result.waits)
        return report_of(errand.agent.agent_name, result, await self._dependencies.results.answered(child.execution.id))

    async def _limited(self, sent: Sent, child: ExecutionRecord, config: ResolvedAgentConfig) -> ExecutionResult:
        """Run it for as long as it may, or as far as it came when it was recorded; its end is then an observation of its parent."""
        recorded = self._dependencies.place_of(child.execution.session_id).recorded_inputs
        was_cut = any(one.track == sent.track and isinstance(one.value, CutShort) for one in recorded)
        seconds = None if was_cut else self._time.left()
        scope = RunScope(Stopping(whole=self._sender.stopping, out_of_time=self._time.told(seconds)))
        async with scope.limited(seconds):
            return await self._run(sent, child, config, scope.stopping)
        return ExecutionResult(status=RunStatus.TIMED_OUT, error=scope.stopping.out_of_time)

    async def _begin(self, errand: Errand, number: int) -> ExecutionRecord:
        parent, config = self._sender.record.execution, errand.agent
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
            dispatched_by=errand.dispatched_by,
            # The same when it is continued: the stored call holds it masked too.
            task=self._dependencies.mask(errand.task),
        )
        await self._dependencies.journal.commit(Step(claim=self._sender.claim, executions=(child,)))
        return ExecutionRecord(child)

    async def _given(self, errand: Errand) -> dict[str, Evidence]:
        """The results that the agent is given to read."""
        wanted = [name for name in errand.context_ids if name not in self._sender.documents]
        found = await self._dependencies.results.cited(self._sender.record.execution.id, wanted)
        given = {one.id: one for one in found if not one.refused}
        if missing := [name for name in wanted if name not in given]:
            raise CallRefusedError(f"The agent was not sent: there is no result {', '.join(missing)} to hand over.")
        return {name: given[name] for name in wanted}


class _SharedTime:
    """How long agents may be out: each by itself, and all of one parent together, from when the first was sent. Continued, they have it anew."""

    def __init__(self, settings: ResolvedOrchestrator) -> None:
        self._settings = settings
        self._first: float | None = None

    def left(self) -> float | None:
        """Seconds for one that is sent now; None: as long as the session has."""
        now = anyio.current_time()
        self._first = self._first if self._first is not None else now
        together = self._settings.max_budget
        limits = (self._settings.agent_timeout, None if together is None else max(self._first + together - now, 0.0))
        return min((limit for limit in limits if limit is not None), default=None)

    def told(self, seconds: float | None) -> str:
        settings = self._settings
        if settings.max_budget is not None and seconds is not None and seconds != settings.agent_timeout:
            return f"the time for all agents that were sent, {settings.max_budget:g} s, was used up"
        return f"it did not end within {settings.agent_timeout:g} s" if settings.agent_timeout is not None else ""


def report_of(name: str, result: ExecutionResult, answered: Sequence[AnsweredCall]) -> Report:
    """What the parent is told, with the ids that it may cite."""
    seen = _results(answered)
    if result.status is RunStatus.COMPLETED and result.final_analysis.strip():
        return Report(text=f"{name} reports:\n{result.final_analysis.strip()}\n\n{seen}")
    reason = result.error or "it came to no conclusion"
    return Report(text=f"{name} {_ENDED.get(result.status, 'failed')}: {reason}. It has concluded nothing.\n\n{seen}", failed=True)


_ENDED = {RunStatus.CANCELLED: "was stopped by a person", RunStatus.TIMED_OUT: "ran out of time"}


def _results(answered: Sequence[AnsweredCall]) -> str:
    if not answered:
        return "It has no results of its own."
    lines = [result_line(one.evidence_id, one.tool, one.arguments, None) for one in answered[:_MOST_NAMED]]
    more = [f"and {len(answered) - _MOST_NAMED} more"] if len(answered) > _MOST_NAMED else []
    return "\n".join(("Its results, which you can read and cite by their ids:", *lines, *more))
