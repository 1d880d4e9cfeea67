"""The toolbox of an execution: small wrappers around the tool servers, one concern each, and the built-in tools."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import anyio
import structlog

from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.prompt.nudges import dry_run_result
from tarsy.agent.react.feedback import format_unknown_tool
from tarsy.agent.toolbox.approval import Approvals, ApprovedTools
from tarsy.agent.toolbox.wrapper import ToolWrapper
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import BUILT_IN_SERVER, LOST_CALL, OnOutput, ToolCalling, ToolCatalog, ToolDefinition, ToolListing, ToolResult
from tarsy.kit.clock import Clock, milliseconds_since

log = structlog.get_logger(__name__)

# A model that makes thirty calls at once should not open thirty connections.
MAX_CONCURRENT_TOOLS = 8


class LimitedTools(ToolWrapper):
    """Limits concurrent calls; the others wait, within the time of their iteration."""

    def __init__(self, inner: ToolExecutor) -> None:
        super().__init__(inner)
        self._limiter = anyio.CapacityLimiter(MAX_CONCURRENT_TOOLS)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        async with self._limiter:
            return await super().execute(call, on_output)


class BudgetedTools(ToolWrapper):
    """Refuses calls that do not fit under a ceiling. Calls that are refused here or further in do not count."""

    def __init__(self, inner: ToolExecutor, ceilings: Ceilings, *, clock: Clock) -> None:
        super().__init__(inner)
        self._ceilings = ceilings
        self._clock = clock

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        if met := self._ceilings.refusal(call):
            content = f"{call.name} was not called: this investigation has met {met.description}. Conclude with what you know."
            return ToolResult.refusal(call, content, self._clock.now())
        result = await super().execute(call, on_output)
        if result.refused or result.waits:
            self._ceilings.uncount_tool_call()
        return result


class TimedTools(ToolWrapper):
    """Ends calls that outlast a ceiling of time. Further in than approvals, so that the decision about a call stays with its result."""

    def __init__(self, inner: ToolExecutor, ceilings: Ceilings, *, clock: Clock) -> None:
        super().__init__(inner)
        self._ceilings = ceilings
        self._clock = clock

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        started_at, started = self._clock.now(), self._clock.monotonic()
        left = self._ceilings.seconds_left
        with anyio.move_on_after(math.inf if left is None else left):
            return await super().execute(call, on_output)
        content = f"{call.name} did not answer before the time of this investigation was up. {LOST_CALL}."
        waited = milliseconds_since(started, self._clock)
        # Not as a timeout of the tool: after several of those, an agent gives up, and here it has to conclude.
        return ToolResult(call=call, content=content, is_error=True, started_at=started_at, duration_ms=waited)


class CallRefusedError(Exception):
    """A built-in tool cannot run with these arguments; the text is for the model."""


class BuiltInTool(Protocol):
    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def is_recorded(self) -> bool:
        """Whether its results come from outside the session: then it is listed like a server's tool, and replayed from the recording."""
        ...

    def is_offered(self, catalog: ToolCatalog) -> bool:
        """Whether the tool is useful beside those of the catalog."""
        ...

    async def run(self, arguments: str) -> str:
        """Run the tool and return its result for the model.

        Raises:
            CallRefusedError: it cannot run with these arguments.
        """
        ...


class BuiltInTools(ToolWrapper):
    """Adds built-in tools to those of the servers."""

    def __init__(self, inner: ToolExecutor, tools: Sequence[BuiltInTool], *, clock: Clock) -> None:
        super().__init__(inner)
        self._tools = {tool.definition.name: tool for tool in tools}
        self._clock = clock
        # Those that a recording lists among the tools of the servers.
        self._recorded: frozenset[str] = frozenset()

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        self._recorded = frozenset(tool.name for tool in catalog.tools) & self._tools.keys()
        offered = {name: tool for name, tool in self._tools.items() if name in self._recorded or tool.is_offered(catalog)}
        # Once each and in the order of every run, also those that a recording lists.
        of_servers = (tool for tool in catalog.tools if tool.name not in offered)
        tools = (*of_servers, *(catalog.find(name) or tool.definition for name, tool in offered.items()))
        new = (name for name, tool in offered.items() if tool.is_recorded and name not in self._recorded)
        names = tuple(name.removeprefix(f"{BUILT_IN_SERVER}.") for name in new)
        listing = ToolListing(server=BUILT_IN_SERVER, tools=names, error=None, started_at=self._clock.now(), duration_ms=0)
        return ToolCatalog(tools, catalog.warnings, (*catalog.listings, *((listing,) if names else ())))

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None or (tool.is_recorded and call.name in self._recorded):
            return await super().execute(call, on_output)
        started_at, started = self._clock.now(), self._clock.monotonic()
        try:
            content = await tool.run(call.arguments)
        except CallRefusedError as refusal:
            return ToolResult.refusal(call, str(refusal), started_at)
        return ToolResult(call=call, content=content, started_at=started_at, duration_ms=milliseconds_since(started, self._clock))


class DryRunTools(ToolWrapper):
    """Refuses calls that may change something, and lets those pass that only read."""

    def __init__(self, inner: ToolExecutor, *, clock: Clock) -> None:
        super().__init__(inner)
        self._clock = clock
        self._catalog = ToolCatalog()

    async def list_tools(self) -> ToolCatalog:
        self._catalog = await super().list_tools()
        return self._catalog

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        tool = self._catalog.find(call.name)
        if tool and not tool.may_change:
            return await super().execute(call, on_output)
        return ToolResult.refusal(call, dry_run_result(call.name), self._clock.now())


class GuardedTools(ToolWrapper):
    """Refuses tools that do not exist; a bug in a wrapper or an adapter ends the call, not the investigation.

    `absent` are warnings about tool servers that the agent should have and has not.
    """

    def __init__(
        self, inner: ToolExecutor, absent: Sequence[str], *, tool_calling: ToolCalling, mask: Callable[[str], str], clock: Clock
    ) -> None:
        super().__init__(inner)
        self._absent = absent
        self._tool_calling = tool_calling
        self._mask = mask
        self._clock = clock
        self._catalog = ToolCatalog()

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        # The catalog of a replayed run has them already.
        new = tuple(warning for warning in self._absent if warning not in catalog.warnings)
        self._catalog = replace(catalog, warnings=(*catalog.warnings, *new))
        return self._catalog

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        started_at = self._clock.now()
        if self._catalog.find(call.name) is None:
            content = format_unknown_tool(call.name, self._catalog.tools, self._tool_calling)
            return ToolResult.refusal(call, content, started_at)
        try:
            return await super().execute(call, on_output)
        except ClaimLostError:
            raise
        except Exception as error:  # cancellation passes: it is no Exception
            log.exception("tool.broke", tool=call.name)
            content = f"{call.name} broke: {self._mask(str(error))}. {LOST_CALL}."
            return ToolResult(call=call, content=content, is_error=True, started_at=started_at)


def toolbox(  # noqa: PLR0913 - a parameter for each wrapper
    servers: ToolExecutor,
    built_in: Sequence[BuiltInTool],
    *,
    tool_calling: ToolCalling,
    ceilings: Ceilings | None = None,
    absent: Sequence[str] = (),
    mask: Callable[[str], str],
    clock: Clock,
    dispatching: Callable[[ToolExecutor], ToolExecutor] = lambda tools: tools,
    approvals: Approvals | None = None,
    dry_run: bool = False,
) -> ToolExecutor:
    """Wrap the tool servers, which mask their results; `absent` are warnings about missing servers, `dispatching` adds sub-agents.

    Outermost first: guard → budget → dry run → approval → time → built-in tools → sub-agents → limits → masking → MCP.
    """
    tools: ToolExecutor = BuiltInTools(dispatching(LimitedTools(servers)), built_in, clock=clock)
    if ceilings:
        tools = TimedTools(tools, ceilings, clock=clock)
    if approvals:
        tools = ApprovedTools(tools, approvals)
    if dry_run:
        tools = DryRunTools(tools, clock=clock)
    if ceilings:
        tools = BudgetedTools(tools, ceilings, clock=clock)
    return GuardedTools(tools, absent, tool_calling=tool_calling, mask=mask, clock=clock)
