"""The tools of a forked investigation: what was recorded for a call, and the case's world for calls that were never made."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from tarsy.agent.ports import ToolExecutor
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.evals.worlds.tool_servers import WorldServers, case_of
from tarsy.kit.clock import Clock, SystemClock


class ForkedServers:
    """Opens the worlds of forked cases; `recordings` by the case's name."""

    def __init__(self, recordings: Mapping[str, Recording], inner: WorldServers, clock: Clock | None = None) -> None:
        self._recordings = recordings
        self._inner = inner
        self._clock = clock or SystemClock()

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager[ToolExecutor]:
        opened = self._inner.open(agent, servers, execution_id=execution_id, track=track)
        cases = {case_of(server) for server in servers.values()}
        recorded = [tool for case in cases for tool in self._recordings[case].tools if tool.track == track]
        return self._forked(opened, {_key(tool.call_id, tool.name, tool.arguments): tool for tool in recorded})

    @asynccontextmanager
    async def _forked(
        self, opened: AbstractAsyncContextManager[ToolExecutor], recorded: Mapping[tuple[str, str, str], RecordedTool]
    ) -> AsyncGenerator[ToolExecutor]:
        async with opened as world:
            yield ForkedTools(recorded, world, self._clock)


class ForkedTools:
    """The same call may have been made twice and answered differently: each gets the answer that it had."""

    def __init__(self, recorded: Mapping[tuple[str, str, str], RecordedTool], world: ToolExecutor, clock: Clock) -> None:
        self._recorded = recorded
        self._world = world
        self._clock = clock

    async def list_tools(self) -> ToolCatalog:
        return await self._world.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        # The arguments count besides the id: another model may call its first call what this one called its own.
        found = self._recorded.get(_key(call.id, call.name, call.arguments))
        if found is None:
            return await self._world.execute(call, on_output)
        return ToolResult(
            call=call,
            content=found.content,
            is_error=found.is_error,
            is_timeout=found.is_timeout,
            started_at=self._clock.now(),
            duration_ms=found.duration_ms,
        )


def _key(call_id: str, name: str, arguments: str) -> tuple[str, str, str]:
    try:
        return call_id, name, json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call_id, name, arguments.strip()
