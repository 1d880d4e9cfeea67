"""The tools of one execution: opened, called, masked and closed."""

import difflib
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio
import structlog
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import Clock, SystemClock, milliseconds_since
from tarsy.kit.groups import for_each, single_errors
from tarsy.kit.text import in_thread_if_long
from tarsy.tools.failures import ToolServerError
from tarsy.tools.masking import Masker
from tarsy.tools.messages import CallResult, clip_content, render
from tarsy.tools.pool import ConnectionPool
from tarsy.tools.server import Lost, ToolServer

log = structlog.get_logger(__name__)

OnOutput = Callable[[str], None]

# What a tool may say while it runs, in characters.
MAX_OUTPUT = 256 * 1024

# As many as a model reads, and as a wrong name needs.
MAX_SUGGESTIONS = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to."""

    content: str
    is_error: bool = False
    is_timeout: bool = False
    refused: bool = False


class Output:
    """What a tool says while it runs, no more of it than a person would watch: the result has the last word."""

    def __init__(self, on_output: OnOutput) -> None:
        self._on_output = on_output
        self._left = MAX_OUTPUT

    def say(self, text: str) -> None:
        if self._left <= 0:
            return
        if len(text) > self._left:
            # Cut between words, so that no secret is cut in two and slips past its pattern.
            text = f"{text[: self._left].rsplit(None, 1)[0]}\n… [more output is not shown]\n"
            self._left = 0
        self._left -= len(text)
        self._on_output(text)


def refusal(text: str) -> Outcome:
    return Outcome(text, is_error=True, refused=True)


class McpToolExecutor:
    """Lists and runs the tools of the servers an agent may use."""

    def __init__(self, servers: Mapping[str, ToolServer], *, call_timeout: float, clock: Clock) -> None:
        self._servers = servers
        self._call_timeout = call_timeout
        self._clock = clock

    async def list_tools(self) -> ToolCatalog:
        """Connect to all servers at once and say what they offer."""
        servers = list(self._servers.values())
        await for_each(servers, ToolServer.ensure_listed, name=lambda server: f"list {server.name}")
        return ToolCatalog(
            tools=tuple(tool for server in servers for tool in server.tools),
            warnings=tuple(server.problem for server in servers if server.problem is not None),
            listings=tuple(server.listing for server in servers if server.listing is not None),
        )

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        """Run one call. Failures are results; `on_output` gets what the tool says while it runs."""
        started_at, started = self._clock.now(), self._clock.monotonic()
        name = ToolName.parse(call.name)
        server = self._servers.get(name.server) if name is not None else None
        outcome = self._without_server(call.name, name) if server is None else await self._on(server, call, on_output)
        return ToolResult(
            call=call,
            content=outcome.content,
            started_at=started_at,
            duration_ms=milliseconds_since(started, self._clock),
            is_error=outcome.is_error,
            is_timeout=outcome.is_timeout,
            refused=outcome.refused,
        )

    def _without_server(self, text: str, name: ToolName | None) -> Outcome:
        known = ", ".join(self._servers) or "none"
        if name is None:
            return refusal(f"'{text}' is not a tool: names are written server.tool. Tool servers: {known}.")
        return refusal(f"There is no tool server '{name.server}'. Tool servers: {known}.")

    async def _on(self, server: ToolServer, call: ToolCall, on_output: OnOutput) -> Outcome:
        """Check the call against what the server offers, then make it."""
        await server.ensure_listed()
        tool = next((tool for tool in server.tools if tool.name == call.name.strip()), None)
        if tool is None:
            return refusal(_no_such_tool(call.name, server))
        arguments = parse_arguments(call.arguments, tool.parameters_schema)
        if isinstance(arguments, ArgumentProblem):
            return refusal(arguments.message)
        return await self._made(server, tool, arguments, Output(on_output))

    async def _made(self, server: ToolServer, tool: ToolDefinition, arguments: Mapping[str, Any], output: Output) -> Outcome:
        timeout = min(self._call_timeout, server.call_timeout or self._call_timeout)
        result: CallResult | Lost | None = None
        try:
            with anyio.move_on_after(timeout):
                result = await server.call(tool, arguments, output.say)
        except ToolServerError as error:
            log.warning("tool.failed", tool=tool.name, kind=type(error).__name__)
            return Outcome(str(error), is_error=True)
        return _outcome(tool, result, timeout)


def _outcome(tool: ToolDefinition, result: CallResult | Lost | None, timeout: float) -> Outcome:
    if result is None:
        text = f"{tool.name} did not finish within {timeout:g} s and was abandoned. {_fate(tool)} Ask for less, or use another tool."
        return Outcome(text, is_error=True, is_timeout=True)
    if isinstance(result, Lost):
        return Outcome(f"{result.error}. {result.sequel} {_fate(tool)}", is_error=True)
    return Outcome(clip_content(render(result)), is_error=bool(result.is_error))


def _fate(tool: ToolDefinition) -> str:
    """What may have happened to a call whose end was not seen."""
    if tool.safe_to_repeat:
        return "It can be called again without harm."
    return "Whether it took effect is unknown: check before calling it again."


def _no_such_tool(name: str, server: ToolServer) -> str:
    if server.problem is not None:
        return f"'{name}' cannot be used. {server.problem}"
    names = [tool.name for tool in server.tools]
    close = difflib.get_close_matches(name, names, n=MAX_SUGGESTIONS, cutoff=0.5) or names[:MAX_SUGGESTIONS]
    hint = f" Did you mean: {', '.join(close)}?" if close else " It offers no tools."
    return f"'{name}' is not a tool that may be used on server '{server.name}'.{hint}"


class UnmaskedTools(Protocol):
    """Tools whose results are what their servers said, secrets and all."""

    async def list_tools(self) -> ToolCatalog: ...

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult: ...


class MaskedTools:
    """The innermost wrapper: nothing of a server leaves it unmasked. `maskers` are the servers' own."""

    def __init__(self, inner: UnmaskedTools, maskers: Mapping[str, Masker]) -> None:
        self._inner = inner
        self._maskers = maskers
        # For calls that name no server of ours.
        self._strict = Masker.for_group("all")

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        name = ToolName.parse(call.name)
        masker = self._maskers.get(name.server, self._strict) if name else self._strict
        said = masker.stream(by_words=False)

        def pass_on(masked: str) -> None:
            if masked:
                on_output(masked)

        try:
            result = await self._inner.execute(call, lambda output: pass_on(said.feed(output)))
        finally:
            pass_on(said.finish())
        shown, arguments = masker.mask(call.name), await in_thread_if_long(masker.mask, call.arguments)
        made = call if (shown, arguments) == (call.name, call.arguments) else replace(call, name=shown, arguments=arguments)
        content = await in_thread_if_long(masker.mask, result.content)
        # As a rule there was nothing to hide.
        return result if result.call is made and result.content == content else replace(result, call=made, content=content)


# A server that was told to end gets this long, its process tree included, before its connection is cut.
CLOSE_SECONDS = 10.0


class McpToolServers:
    """The way to every configured MCP server; `env` fills in the templates of their configuration.

    With a pool, executions share their connections to servers whose configuration says so.
    """

    def __init__(self, *, env: Mapping[str, str] | None = None, clock: Clock | None = None, pool: ConnectionPool | None = None) -> None:
        # As it is when an execution opens its tools: a reload may have changed it.
        self._env = os.environ if env is None else env
        self._clock = clock or SystemClock()
        self._pool = pool

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str = ""
    ) -> AbstractAsyncContextManager[MaskedTools]:
        """The tools `agent` may use, connected on first use. A name without a configuration is an operator's mistake: KeyError."""
        del track  # recordings know an execution by it, servers do not
        return self.open_servers(
            {name: servers[name] for name in agent.mcp_servers},
            call_timeout=agent.tool_call_timeout,
            execution_id=execution_id,
            filters=agent.tool_filters,
        )

    @asynccontextmanager
    async def open_servers(
        self,
        configs: Mapping[str, ResolvedMcpServer],
        *,
        call_timeout: float,
        execution_id: str,
        filters: Mapping[str, tuple[str, ...]] | None = None,
    ) -> AsyncGenerator[MaskedTools]:
        """The tools of these servers, narrowed by `filters`."""
        allowed = {name: frozenset(tools) for name, tools in (filters or {}).items()}
        async with nullcontext(self._pool.tasks) if self._pool else _own_tasks() as tasks:
            servers = {
                name: ToolServer(
                    config,
                    allowed=allowed.get(name),
                    env=self._env,
                    execution_id=execution_id,
                    tasks=tasks,
                    clock=self._clock,
                    pool=self._pool,
                )
                for name, config in configs.items()
            }
            try:
                executor = McpToolExecutor(servers, call_timeout=call_timeout, clock=self._clock)
                yield MaskedTools(executor, {name: server.masker for name, server in servers.items()})
            finally:
                await close_all(list(servers.values()))


@asynccontextmanager
async def _own_tasks() -> AsyncGenerator[TaskGroup]:
    # What the owner raises must reach it as itself, not as one of a group.
    with single_errors():
        async with anyio.create_task_group() as tasks:
            yield tasks


async def close_all(servers: Sequence[ToolServer]) -> None:
    """End all connections at once, orderly while that is quick; not even a cancelled owner leaves one behind."""
    if not servers:
        return
    with anyio.move_on_after(CLOSE_SECONDS, shield=True):
        await for_each(servers, ToolServer.close, name=lambda server: f"close {server.name}")
    for server in servers:
        server.abort()
