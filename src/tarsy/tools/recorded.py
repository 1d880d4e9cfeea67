"""Tools out of a recording: the same results for the same calls, without any server."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime

from tarsy.config.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolListing, ToolName, ToolResult


class RecordedToolServers:
    """Opens the tools that an execution had when it was recorded."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager["RecordedTools"]:
        del agent, servers, execution_id
        return self._open(track)

    @asynccontextmanager
    async def _open(self, track: str) -> AsyncGenerator["RecordedTools"]:
        yield RecordedTools(self._recording, track)


class RecordedTools:
    """The tools of one recorded execution. A call that was never made is an error that says so, never an invention."""

    def __init__(self, recording: Recording, track: str) -> None:
        self._recording = recording
        self._track = track

    async def list_tools(self) -> ToolCatalog:
        catalog = next((catalog for catalog in self._recording.catalogs if catalog.track == self._track), None)
        if catalog is None:
            return ToolCatalog()
        tools = tuple(
            ToolDefinition(tool.name, tool.description, dict(tool.parameters_schema), tool.read_only, tool.idempotent)
            for tool in catalog.tools
        )
        return ToolCatalog(tools, catalog.warnings, _listings(tools))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output  # what a tool said while it ran is not recorded
        found = self._find(call)
        now = datetime.now(UTC)
        if found is None:
            content = f"The recording holds no result for this call of {call.name}."
            return ToolResult(call=call, content=content, is_error=True, started_at=now)
        return ToolResult(
            call=call,
            content=found.content,
            is_error=found.is_error,
            is_timeout=found.is_timeout,
            started_at=now,
            duration_ms=found.duration_ms,
        )

    def _find(self, call: ToolCall) -> RecordedTool | None:
        """The very call, or (for a model that goes its own way) any with the same tool and arguments."""
        same = (tool for tool in self._recording.tools if tool.name == call.name)
        candidates = list(same)
        exact = (tool for tool in candidates if tool.track == self._track and tool.call_id == call.id)
        alike = (tool for tool in candidates if _canonical(tool.arguments) == _canonical(call.arguments))
        return next(exact, None) or next(alike, None)


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments.strip()


def _listings(tools: tuple[ToolDefinition, ...]) -> tuple[ToolListing, ...]:
    servers: dict[str, list[str]] = {}
    for tool in tools:
        name = ToolName.parse(tool.name)
        if name:
            servers.setdefault(name.server, []).append(name.tool)
    now = datetime.now(UTC)
    return tuple(
        ToolListing(server=server, tools=tuple(names), error=None, started_at=now, duration_ms=0) for server, names in servers.items()
    )
