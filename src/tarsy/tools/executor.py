"""The tools of one execution: opened, called, masked and closed. Every failure of a call is a result with words for the model."""

import difflib
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol

import anyio
import structlog

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.tool import LOST_CALL, OnOutput, Tag, ToolCatalog, ToolDefinition, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import SystemClock, milliseconds_since
from tarsy.kit.groups import for_each, single_errors
from tarsy.kit.text import clip_at_word, in_thread_if_long
from tarsy.tools.failures import ToolServerError
from tarsy.tools.masking import Masker
from tarsy.tools.messages import CallResult, clip_content, render
from tarsy.tools.pool import CLOSE_SECONDS, ConnectionPool
from tarsy.tools.server import LostCall, ReadPin, ToolServer

log = structlog.get_logger(__name__)

# How much of a tool's progress is shown: characters, and pieces, each of which is masked and published.
MAX_OUTPUT = 256 * 1024
MAX_PIECES = 1_000

# How many tool names are suggested for a wrong one.
MAX_SUGGESTIONS = 5


# ---- opening and closing


class McpToolServers:
    """Opens the tools of executions on the configured MCP servers; `env` fills in the templates of their configuration.

    With a pool, executions share their connections to servers whose configuration allows it. With `read_pin`, a server with `pin: strict` can
    be used only if its tools are the accepted ones.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        pool: ConnectionPool | None = None,
        read_pin: ReadPin | None = None,
    ) -> None:
        # Read when an execution opens its tools: a reload may have changed it.
        self._env = os.environ if env is None else env
        self._pool = pool
        self._read_pin = read_pin

    def open(
        self,
        agent: ResolvedAgentConfig,
        servers: Mapping[str, ResolvedMcpServer],
        *,
        place: ExecutionPlace,
        tag: Tag | None = None,
    ) -> AbstractAsyncContextManager["MaskedTools"]:
        """Open the tools that `agent` may use, connected on first use. A server without a configuration is a KeyError."""
        return self.open_servers(
            {name: servers[name] for name in agent.mcp_servers},
            call_timeout=agent.tool_call_timeout,
            execution_id=place.execution_id,
            filters=agent.tool_filters,
            tag=tag,
        )

    @asynccontextmanager
    async def open_servers(
        self,
        configs: Mapping[str, ResolvedMcpServer],
        *,
        call_timeout: float,
        execution_id: str,
        filters: Mapping[str, tuple[str, ...]] | None = None,
        tag: Tag | None = None,
    ) -> AsyncGenerator["MaskedTools"]:
        """Open the tools of these servers, limited to those in `filters`; `tag` is that of the session."""
        allowed = {name: frozenset(tools) for name, tools in (filters or {}).items()}
        async with AsyncExitStack() as stack:
            if self._pool is None:
                # An error of the caller must reach it as itself, not in a group.
                stack.enter_context(single_errors())
            tasks = self._pool.tasks if self._pool else await stack.enter_async_context(anyio.create_task_group())
            servers = {
                name: ToolServer(
                    config,
                    allowed=allowed.get(name),
                    env=self._env,
                    execution_id=execution_id,
                    tasks=tasks,
                    pool=self._pool,
                    read_pin=self._read_pin,
                )
                for name, config in configs.items()
            }
            try:
                executor = McpToolExecutor(servers, call_timeout=call_timeout)
                yield MaskedTools(executor, {name: server.masker.tagged(tag) for name, server in servers.items()}, tag)
            finally:
                await close_all(list(servers.values()))


async def close_all(servers: Sequence[ToolServer]) -> None:
    """End all connections at once, orderly while that is quick, even if the owner is cancelled."""
    if not servers:
        return
    with anyio.move_on_after(CLOSE_SECONDS, shield=True):
        await for_each(servers, ToolServer.close, name=lambda server: f"close {server.name}")
    for server in servers:
        server.abort()


async def probe(tools: "UnmaskedTools", server: ResolvedMcpServer) -> str | None:
    """Make the call that the configuration names for a test of the server; return why it failed, or None."""
    if server.probe is None:
        return None
    call = ToolCall("probe", str(ToolName(server.name, server.probe.tool)), json.dumps(server.probe.arguments))
    result = await tools.execute(call, lambda _output: None)
    return f"Tool server '{server.name}' is connected, but the probe {call.name} failed: {result.content}" if result.is_error else None


# ---- masking


class UnmaskedTools(Protocol):
    """Tools whose results may hold secrets."""

    async def list_tools(self) -> ToolCatalog: ...

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult: ...


class MaskedTools:
    """The innermost wrapper of tools: nothing that a server sends leaves it unmasked. `maskers` are those of the servers."""

    def __init__(self, inner: UnmaskedTools, maskers: Mapping[str, Masker], tag: Tag | None = None) -> None:
        self._inner = inner
        self._maskers = maskers
        # For calls that name no server of ours.
        self._strict = Masker.for_group("all").tagged(tag)

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        """Run one call. Its name, arguments, progress and result are masked."""
        name = ToolName.parse(call.name)
        masker = self._maskers.get(name.server, self._strict) if name else self._strict
        progress = masker.stream(by_words=False)

        def show(masked: str) -> None:
            if masked:
                on_output(masked)

        try:
            result = await self._inner.execute(call, lambda output: show(progress.feed(output)))
        finally:
            show(progress.finish())
        arguments = await in_thread_if_long(masker.mask, call.arguments)
        content = await in_thread_if_long(masker.mask, result.content)
        return replace(result, call=replace(call, name=masker.mask(call.name), arguments=arguments), content=content)


# ---- calling


class McpToolExecutor:
    """Lists and calls the tools of the servers that an agent may use."""

    def __init__(self, servers: Mapping[str, ToolServer], *, call_timeout: float) -> None:
        self._servers = servers
        self._call_timeout = call_timeout
        self._clock = SystemClock()

    async def list_tools(self) -> ToolCatalog:
        """Connect to all servers at once and return their tools."""
        servers = list(self._servers.values())
        await for_each(servers, ToolServer.ensure_listed, name=lambda server: f"list {server.name}")
        return ToolCatalog(
            tools=tuple(tool for server in servers for tool in server.tools),
            warnings=tuple(server.problem for server in servers if server.problem is not None),
            listings=tuple(server.listing for server in servers if server.listing is not None),
        )

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        """Run one call. Failures are results; `on_output` gets the tool's progress."""
        started = self._clock.monotonic()
        pending = ToolResult(call=call, content="", started_at=self._clock.now())
        result = await self._checked_call(pending, on_output)
        return replace(result, duration_ms=milliseconds_since(started, self._clock))

    async def _checked_call(self, pending: ToolResult, on_output: OnOutput) -> ToolResult:
        """Check the call against the tools of its server, then make it."""
        call = pending.call

        def refused(reason: str) -> ToolResult:
            return ToolResult.refusal(call, reason, pending.started_at)

        name = ToolName.parse(call.name)
        known = ", ".join(self._servers) or "none"
        if name is None:
            return refused(f"'{call.name}' is not a tool: names are written server.tool. Tool servers: {known}.")
        server = self._servers.get(name.server)
        if server is None:
            return refused(f"There is no tool server '{name.server}'. Tool servers: {known}.")
        await server.ensure_listed()
        tool = next((tool for tool in server.tools if tool.name == call.name.strip()), None)
        if tool is None and server.problem:
            return refused(f"'{call.name}' cannot be used. {server.problem}")
        if tool is None:
            names = [tool.name for tool in server.tools]
            close = difflib.get_close_matches(call.name, names, n=MAX_SUGGESTIONS, cutoff=0.5) or names[:MAX_SUGGESTIONS]
            hint = f" Did you mean: {', '.join(close)}?" if close else " It offers no tools."
            return refused(f"'{call.name}' is not a tool that may be used on server '{server.name}'.{hint}")
        arguments = parse_arguments(call.arguments, tool.parameters_schema)
        if isinstance(arguments, ArgumentProblem):
            return refused(arguments.message)
        return await self._call(pending, server, tool, arguments, on_output)

    async def _call(
        self, pending: ToolResult, server: ToolServer, tool: ToolDefinition, arguments: Mapping[str, Any], on_output: OnOutput
    ) -> ToolResult:
        timeout = min(self._call_timeout, server.call_timeout or self._call_timeout)
        result: CallResult | LostCall | None = None
        try:
            with anyio.move_on_after(timeout):
                result = await server.call(tool, arguments, limited_output(on_output))
        except ToolServerError as error:
            log.warning("tool.failed", tool=tool.name, kind=type(error).__name__)
            return replace(pending, content=str(error), is_error=True)
        if isinstance(result, CallResult):
            return replace(pending, content=clip_content(render(result)), is_error=bool(result.is_error))
        # It is unknown whether the call took effect.
        advice = f"{LOST_CALL}: {'it can be called again without harm' if tool.safe_to_repeat else 'check before calling it again'}."
        if isinstance(result, LostCall):
            return replace(pending, content=f"{result.error}. {result.recovery} {advice}", is_error=True)
        text = f"{tool.name} did not finish within {timeout:g} s and was abandoned. {advice} Ask for less, or use another tool."
        return replace(pending, content=text, is_error=True, is_timeout=True)


def limited_output(on_output: OnOutput) -> OnOutput:
    """Pass on a tool's progress up to `MAX_OUTPUT` characters and `MAX_PIECES` pieces."""
    left, pieces = MAX_OUTPUT, MAX_PIECES

    def limited(text: str) -> None:
        nonlocal left, pieces
        if left <= 0:
            return
        pieces -= 1
        if len(text) > left or not pieces:
            text = f"{clip_at_word(text, left).rstrip()}\n… [more output is not shown]\n"
            left = 0
        left -= len(text)
        on_output(text)

    return limited
