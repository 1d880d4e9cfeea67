"""Tools of a recording: the same results for the same calls, without any server."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.recording import RecordedCatalog, RecordedResults, Recording
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolResult, listings_of
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments


class RecordedToolServers:
    """Opens the tools that an execution had when it was recorded."""

    def __init__(self, recording: Recording) -> None:
        self._catalogs = {catalog.track: catalog for catalog in reversed(recording.catalogs)}
        self._results = RecordedResults(recording.tools)

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AbstractAsyncContextManager["RecordedTools"]:
        del agent, servers, tag
        return nullcontext(self.tools(place.track))

    def tools(self, track: str) -> "RecordedTools":
        return RecordedTools(track, self._catalogs.get(track, RecordedCatalog(track=track)), self._results)


class RecordedTools:
    """The tools of one recorded execution. A call that was not recorded is an error."""

    def __init__(self, track: str, catalog: RecordedCatalog, results: RecordedResults) -> None:
        self._track = track
        self._catalog = ToolCatalog(catalog.tools, catalog.warnings)
        self._results = results

    async def list_tools(self) -> ToolCatalog:
        return replace(self._catalog, listings=listings_of(self._catalog.tools, datetime.now(UTC)))

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        del on_output  # progress is not recorded
        now = datetime.now(UTC)
        # A model that deviates from the recording may make the same call at another place.
        if found := self._results.with_id(self._track, call) or self._results.with_arguments(call):
            return found.as_result(call, now)
        # A call that was refused for its arguments left no result: it is refused again.
        tool = self._catalog.find(call.name)
        arguments = parse_arguments(call.arguments, tool.parameters_schema) if tool else None
        if isinstance(arguments, ArgumentProblem):
            return ToolResult.refusal(call, arguments.message, now)
        return ToolResult(call=call, content=f"The recording holds no result for this call of {call.name}.", is_error=True, started_at=now)
