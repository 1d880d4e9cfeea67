"""The built-in tool `tarsy.run_agent`: each call starts a sub-agent, an execution below its parent's, and its result is the report of that agent."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import anyio

from tarsy.agent.execution import AgentServices, ExecutionResult, StopState
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.prompt.fence import result_line
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.agent.toolbox.wrapper import ToolWrapper
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.evidence import AnsweredCall, Evidence, call_number, sub_agent_prefix
from tarsy.domain.history import ExecutionRecord
from tarsy.domain.recording import sub_track_of
from tarsy.domain.run_input import AnyInput, CutShort
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.domain.tool import RUN_AGENT_TOOL, OnOutput, ToolCatalog, ToolDefinition, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import milliseconds_since
from tarsy.session.plan import pending_execution
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
    # By the ids of its tool calls.
    evidence_ids: Mapping[str, str]
    config: ResolvedAgentConfig
    stopping: StopState


class SubAgents(ToolWrapper):
    """Adds `run_agent` to the tools of an agent. `run` runs a sub-agent in its own scope.

    A sub-agent that was started before is continued, one that has ended is read back.
    """

    def __init__(
        self, inner: ToolExecutor, services: AgentServices, recorded_inputs: Sequence[AnyInput], parent: ParentAgent, run: RunSubAgent
    ) -> None:
        super().__init__(inner)
        self._agents = {agent.agent_name: agent for agent in parent.config.sub_agents}
        self._definition = _definition(tuple(self._agents))
        self._services = services
        self._recorded_inputs = recorded_inputs
        self._parent = parent
        self._run = run
        self._begun = {child.execution.agent_index: child for child in parent.record.children}
        self._limiter = anyio.CapacityLimiter(parent.config.orchestrator.max_concurrent_agents)
        # When the first was started, in loop time. Continued after a crash, sub-agents have their time anew.
        self._first: float | None = None

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        # A recording may list it as it was; the configured agents count.
        others = tuple(tool for tool in catalog.tools if tool.name != RUN_AGENT_TOOL)
        return replace(catalog, tools=(*others, self._definition))

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        if call.name != RUN_AGENT_TOOL:
            return await super().execute(call, on_output)
        clock = self._services.clock
        started_at, started = clock.now(), clock.monotonic()
        try:
            report = await self._dispatch(call, started_at)
        except CallRefusedError as refusal:
            return ToolResult.refusal(call, str(refusal), started_at)
        return replace(report, duration_ms=milliseconds_since(started, clock))

    async def _dispatch(self, call: ToolCall, started_at: datetime) -> ToolResult:
        """Start or continue the sub-agent that a call asks for, and return its report.

        Raises:
            CallRefusedError: the arguments are wrong, or there is no such result to hand over.
        """
        read = parse_arguments(call.arguments, self._definition.parameters_schema)
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        config, task = self._agents.get(read["name"]), str(read["task"]).strip()
        if config is None:
            raise CallRefusedError(f'There is no agent "{read["name"]}" to send; {did_you_mean(read["name"], self._agents)}')
        if not task:
            raise CallRefusedError("The agent was not sent: its task is empty. Write what it is to find out.")
        parent = self._parent
        dispatched_by = parent.evidence_ids[call.id]
        number = call_number(dispatched_by)
        context_ids = dict.fromkeys(str(name).strip("[] ") for name in read.get("context_ids") or ())
        wanted = [name for name in context_ids if name not in parent.documents]
        found = await self._services.results.cited(parent.record.execution.id, wanted)
        given = {one.id: one for one in found if not one.refused}
        if missing := [name for name in wanted if name not in given]:
            raise CallRefusedError(f"The agent was not sent: there is no result {', '.join(missing)} to hand over.")
        child = self._begun.get(number) or await self._begin(config, task, dispatched_by)
        dispatch = Dispatch(
            track=sub_track_of(parent.track, number, config.agent_name),
            evidence_prefix=sub_agent_prefix(dispatched_by),
            task=child.execution.task or task,
            at_once=parent.config.orchestrator.max_concurrent_agents,
            given={name: given[name] for name in wanted},
        )
        async with self._limiter:
            result = await self._run_limited(dispatch, child, config)
        if result.waits:
            return ToolResult(call=call, content=result.waits.reason, waits=result.waits, started_at=started_at)
        concluded = result.status is RunStatus.COMPLETED and bool(result.final_analysis.strip())
        text = _report(config.agent_name, result, await self._services.results.answered(child.execution.id), concluded=concluded)
        return ToolResult(call=call, content=text, is_error=not concluded, started_at=started_at)

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

    async def _begin(self, config: ResolvedAgentConfig, task: str, dispatched_by: str) -> ExecutionRecord:
        """Store a new execution below its parent's."""
        parent = self._parent.record.execution
        child = replace(
            pending_execution(config, parent.session_id, parent.stage_id, call_number(dispatched_by)),
            parent_execution_id=parent.id,
            dispatched_by=dispatched_by,
            # The same when it is continued: the stored call is masked too.
            task=self._services.mask(task),
        )
        await self._services.journal.commit(Step(claim=self._parent.claim, executions=(child,)))
        return ExecutionRecord(child)


def _report(name: str, result: ExecutionResult, answered: Sequence[AnsweredCall], *, concluded: bool) -> str:
    """Return what the parent agent reads: the sub-agent's analysis or why there is none, and the ids of its results."""
    results = "It has no results of its own."
    if answered:
        lines = [result_line(one.evidence_id, one.tool, one.arguments, None) for one in answered[:_MOST_NAMED]]
        more = [f"and {len(answered) - _MOST_NAMED} more"] if len(answered) > _MOST_NAMED else []
        results = "\n".join(("Its results, which you can read and cite by their ids:", *lines, *more))
    if concluded:
        return f"{name} reports:\n{result.final_analysis.strip()}\n\n{results}"
    reason = result.error or "it came to no conclusion"
    return f"{name} {_ENDED.get(result.status, 'failed')}: {reason}. It has concluded nothing.\n\n{results}"


def _definition(names: Sequence[str]) -> ToolDefinition:
    properties = {
        # No enumeration: a wrong name is answered with the right ones.
        "name": {"type": "string", "description": f"The agent to send: {', '.join(names)}."},
        "task": {"type": "string", "description": "What it is to find out, complete in itself: it sees nothing of this conversation."},
        "context_ids": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Ids of results, such as A2, that it is given to read.",
        },
    }
    return ToolDefinition(
        name=RUN_AGENT_TOOL,
        description="Send another agent to work on a task, and get its report. Several calls in one turn run at the same time.",
        parameters_schema={"type": "object", "properties": properties, "required": ["name", "task"]},
        # True of the call itself: the sub-agent is bounded by its own tools, and repeating the call continues it.
        read_only=True,
        idempotent=True,
    )
