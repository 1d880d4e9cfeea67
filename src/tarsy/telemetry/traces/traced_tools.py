"""The span of a tool call. While the call is made, what speaks MCP writes it into the request's `_meta`."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from time import perf_counter

from opentelemetry.util.types import AttributeValue

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.kit.trace_context import traceparent
from tarsy.telemetry.ports import Tools, ToolServers
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.run_book import RunBook
from tarsy.telemetry.traces.tracing import Tracing


class TracedToolServers:
    def __init__(self, inner: ToolServers, tracing: Tracing, book: RunBook) -> None:
        self._inner = inner
        self._tracing = tracing
        self._book = book

    @asynccontextmanager
    async def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AsyncGenerator[Tools]:
        session_id = self._book.session_of(execution_id)
        async with self._inner.open(agent, servers, execution_id=execution_id, track=track) as tools:
            yield TracedTools(tools, self._tracing, session_id=session_id, execution_id=execution_id) if session_id else tools


class TracedTools:
    def __init__(self, inner: Tools, tracing: Tracing, *, session_id: str, execution_id: str) -> None:
        self._inner = inner
        self._tracing = tracing
        self._parent = tracing.parent(session_id, execution_id)

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        told: dict[str, AttributeValue] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL: call.name,
            names.TOOL_CALL: call.id,
            names.TOOL_TYPE: names.EXTENSION,
        }
        span, started = self._tracing.begin(f"{names.EXECUTE_TOOL} {call.name}", self._parent, told), perf_counter()
        before = traceparent.set(span.header)
        try:
            result = await self._inner.execute(call, on_output)
            error = _error(result)
            if error:
                span.fail(error)
        finally:
            traceparent.reset(before)
            span.end()
        metered = ((names.TOOL, call.name), (names.ERROR, error)) if error else ((names.TOOL, call.name),)
        self._tracing.instruments.tool.record(perf_counter() - started, metered)
        return result


def _error(result: ToolResult) -> str | None:
    """The kind of error, if it was one; its words stay here."""
    if not result.is_error:
        return None
    return "timeout" if result.is_timeout else "refused" if result.refused else "tool_error"
