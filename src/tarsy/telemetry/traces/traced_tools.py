"""The span of a tool call. While the call is made, what speaks MCP writes it into the request's `_meta`."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from time import perf_counter

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.kit.trace_context import traceparent
from tarsy.telemetry.metrics import MOST_VALUES
from tarsy.telemetry.ports import Tools, ToolServers
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.histograms import Key
from tarsy.telemetry.traces.ids import new_span_id
from tarsy.telemetry.traces.run_book import RunBook
from tarsy.telemetry.traces.span import OpenSpan
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
        self._place = tracing.below(session_id, execution_id)

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        name, common, metered = _series(call.name)
        span, started = OpenSpan(name, self._place, new_span_id(), common=common), perf_counter()
        before = traceparent.set(span.header)
        try:
            result = await self._inner.execute(call, on_output)
            span.error = _error(result)
        finally:
            traceparent.reset(before)
            span.told = {names.TOOL_CALL: call.id, names.ERROR: span.error} if span.error else {names.TOOL_CALL: call.id}
            span.end()
        self._tracing.instruments.tool.record(perf_counter() - started, (*metered, (names.ERROR, span.error)) if span.error else metered)
        return result


@lru_cache(MOST_VALUES)
def _series(tool: str) -> tuple[str, Key, Key]:
    """The name of the tool's spans, what all of them tell, and what is measured of them."""
    named = (names.TOOL, tool)
    return f"{names.EXECUTE_TOOL} {tool}", ((names.OPERATION, names.EXECUTE_TOOL), named, (names.TOOL_TYPE, names.EXTENSION)), (named,)


def _error(result: ToolResult) -> str | None:
    """The kind of error, if it was one; its words stay here."""
    if not result.is_error:
        return None
    return "timeout" if result.is_timeout else "refused" if result.refused else "tool_error"
