"""Tools of a recording: the same results for the same calls, without any server."""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.recording import RecordedCatalog, RecordedTool, Recording
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolListing, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments


class RecordedToolServers:
    """Opens the tools that an execution had when it was recorded."""

    def __init__(self, recording: Recording) -> None:
        self._catalogs = {catalog.track: catalog for catalog in reversed(recording.catalogs)}
        # Of several that match, the first.
        self._calls = {(tool.name, tool.track, tool.call_id): tool for tool in reversed(recording.tools)}
        self._by_arguments = {(tool.name, _canonical(tool.arguments)): tool for tool in reversed(recording.tools)}

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AbstractAsyncContextManager["RecordedTools"]:
        del agent, servers, tag
        return nullcontext(RecordedTools(self, place.track))

    def catalog(self, track: str) -> RecordedCatalog | None:
        return self._catalogs.get(track)

    def result(self, track: str, call: ToolCall) -> RecordedTool | None:
        """Return the same call, or, for a model that deviates from the recording, one of the same tool with the same arguments."""
        exact = self._calls.get((call.name, track, call.id))
        return exact or self._by_arguments.get((call.name, _canonical(call.arguments)))

    def refusal(self, track: str, call: ToolCall) -> str | None:
        """Return what is wrong with a call's arguments, if anything."""
        catalog = self.catalog(track)
        tool = next((tool for tool in catalog.tools if tool.name == call.name), None) if catalog else None
        read = parse_arguments(call.arguments, tool.parameters_schema) if tool else None
        return read.message if isinstance(read, ArgumentProblem) else None


class RecordedTools:
    """The tools of one recorded execution. A call that was not recorded is an error."""

    def __init__(self, servers: RecordedToolServers, track: str) -> None:
        self._servers = servers
        self._track = track

    async def list_tools(self) -> ToolCatalog:
        catalog = self._servers.catalog(self._track)
        if catalog is None:
            return ToolCatalog()
        servers: dict[str, list[str]] = {}
        for tool in catalog.tools:
            if name := ToolName.parse(tool.name):
                servers.setdefault(name.server, []).append(name.tool)
        now = datetime.now(UTC)
        listings = tuple(
            ToolListing(server=server, tools=tuple(names), error=None, started_at=now, duration_ms=0) for server, names in servers.items()
        )
        return ToolCatalog(catalog.tools, catalog.warnings, listings)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        del on_output  # progress is not recorded
        found = self._servers.result(self._track, call)
        now = datetime.now(UTC)
        if found is None:
            # A call that was refused for its arguments left no result: it is refused again.
            refusal = self._servers.refusal(self._track, call)
            content = refusal or f"The recording holds no result for this call of {call.name}."
            return ToolResult(call=call, content=content, is_error=True, refused=refusal is not None, started_at=now)
        return ToolResult(
            call=call,
            content=found.content,
            is_error=found.is_error,
            is_timeout=found.is_timeout,
            started_at=now,
            duration_ms=found.duration_ms,
        )


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments.strip()
