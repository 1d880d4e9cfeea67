"""Tools of a recording: the same results for the same calls, without any server."""

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.recording import RecordedCatalog, RecordedResults, RecordedTool, Recording
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolName, ToolResult, listings_of
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.tools.masking import Masker

_TAG = re.compile(r" ~\w{1,8}\]")


class RecordedToolServers:
    """Opens the tools that an execution had when it was recorded; with `live_model`, a model may make other calls than the recorded ones."""

    def __init__(self, recording: Recording, *, live_model: bool = False) -> None:
        self._live_model = live_model
        self._catalogs = {catalog.track: catalog for catalog in reversed(recording.catalogs)}
        self._results = RecordedResults(recording.tools)

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AbstractAsyncContextManager["RecordedTools"]:
        del agent, tag
        return nullcontext(self.tools(place.track, servers))

    def tools(self, track: str, servers: Mapping[str, ResolvedMcpServer]) -> "RecordedTools":
        maskers = {name: Masker.for_server(server.masking) for name, server in servers.items()} if self._live_model else None
        return RecordedTools(track, self._catalogs.get(track, RecordedCatalog(track=track)), self._results, maskers)


class RecordedTools:
    """The tools of one recorded execution. A call that was not recorded is an error.

    `maskers` are those of the servers if a live model makes the calls, and None if the recorded model makes them again.
    """

    def __init__(self, track: str, catalog: RecordedCatalog, results: RecordedResults, maskers: Mapping[str, Masker] | None) -> None:
        self._track = track
        self._catalog = ToolCatalog(catalog.tools, catalog.warnings)
        self._results = results
        self._maskers = maskers

    async def list_tools(self) -> ToolCatalog:
        return replace(self._catalog, listings=listings_of(self._catalog.tools, datetime.now(UTC)))

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        del on_output  # progress is not recorded
        now = datetime.now(UTC)
        if found := self._results.find(self._track, call) or self._find_by_id(call):
            return found.as_result(call, now)
        # A call that was refused for its arguments left no result: it is refused again.
        tool = self._catalog.find(call.name)
        arguments = parse_arguments(call.arguments, tool.parameters_schema) if tool else None
        if isinstance(arguments, ArgumentProblem):
            return ToolResult.refusal(call, arguments.message, now)
        return ToolResult(call=call, content=f"The recording holds no result for this call of {call.name}.", is_error=True, started_at=now)

    def _find_by_id(self, call: ToolCall) -> RecordedTool | None:
        """Return the call with the same id though its arguments were recorded differently: masked as its server's results are."""
        found, name = self._results.with_id(self._track, call), ToolName.parse(call.name)
        if found is None or self._maskers is None:
            return found
        # A live model may use the id for another call.
        masker = self._maskers.get(name.server) if name else None
        return found if masker and _without_tags(masker.mask(call.arguments)) == _without_tags(found.arguments) else None


def _without_tags(text: str) -> str:
    """Remove the tags of masked values, which differ between installations."""
    return _TAG.sub("]", text)
