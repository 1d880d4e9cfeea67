"""The tools of one execution on their MCP servers. Every failure is a result with words for the model; `masked` hides the secrets in it."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import structlog

from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import Clock, milliseconds_since
from tarsy.kit.groups import for_each
from tarsy.tools.answers import CallResult
from tarsy.tools.content import clip_content, render
from tarsy.tools.failures import ToolServerError
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
