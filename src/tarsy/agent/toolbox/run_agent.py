"""The built-in tool `tarsy.run_agent`: starts a sub-agent. Each call is an execution of its own, and its result is the report of that agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.toolbox import CallRefusedError, OnOutput, ToolWrapper
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import Wait
from tarsy.domain.tool import RUN_AGENT_TOOL, ToolCatalog, ToolDefinition, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import Clock, milliseconds_since


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentTask:
    """A sub-agent to start: the evidence id of the call that starts it, which agent, its task, and the results it is given."""

    dispatched_by: str
    agent: ResolvedAgentConfig
    task: str
    context_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of a sub-agent; with `waits`, it has not ended yet."""

    text: str
    failed: bool = False
    waits: Wait | None = None


class Dispatcher(Protocol):
    """Starts sub-agents and waits for them. One that was started before is continued, one that has ended is read back."""

    async def dispatch(self, task: SubAgentTask) -> Report:
        """Raises:
        CallRefusedError: there is no such result to hand over.
        """
        ...


class DispatchingTools(ToolWrapper):
    """Adds `run_agent` to an agent's tools. `ids` gives the evidence id of each call."""

    def __init__(
        self, inner: ToolExecutor, agents: Sequence[ResolvedAgentConfig], dispatcher: Dispatcher, ids: Mapping[str, str], clock: Clock
    ) -> None:
        super().__init__(inner)
        self._agents = {agent.agent_name: agent for agent in agents}
        self._dispatcher = dispatcher
        self._ids = ids
        self._clock = clock
        self._definition = _definition(tuple(self._agents))

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        # A recording may list it as it was; the configured agents count.
        others = tuple(tool for tool in catalog.tools if tool.name != RUN_AGENT_TOOL)
        return ToolCatalog((*others, self._definition), catalog.warnings, catalog.listings)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        if call.name != RUN_AGENT_TOOL:
            return await super().execute(call, on_output)
        started_at, started = self._clock.now(), self._clock.monotonic()
        try:
            report = await self._dispatcher.dispatch(self._task(call))
        except CallRefusedError as refusal:
            return ToolResult(call=call, content=str(refusal), is_error=True, refused=True, started_at=started_at)
        duration = milliseconds_since(started, self._clock)
        return ToolResult(
            call=call, content=report.text, is_error=report.failed, waits=report.waits, started_at=started_at, duration_ms=duration
        )

    def _task(self, call: ToolCall) -> SubAgentTask:
        read = parse_arguments(call.arguments, self._definition.parameters_schema)
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        agent, task = self._agents.get(read["name"]), str(read["task"]).strip()
        if agent is None:
            raise CallRefusedError(f'There is no agent "{read["name"]}" to send; {did_you_mean(read["name"], self._agents)}')
        if not task:
            raise CallRefusedError("The agent was not sent: its task is empty. Write what it is to find out.")
        context_ids = tuple(dict.fromkeys(str(name).strip("[] ") for name in read.get("context_ids") or ()))
        return SubAgentTask(dispatched_by=self._ids[call.id], agent=agent, task=task, context_ids=context_ids)


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
