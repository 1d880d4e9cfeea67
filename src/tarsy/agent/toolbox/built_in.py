"""Tools that TARSy itself brings along, beside those of the servers."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.wrapper import OnOutput, ToolWrapper
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import BUILT_IN_SERVER, ToolCatalog, ToolDefinition, ToolListing, ToolResult
from tarsy.kit.clock import Clock, milliseconds_since

# Stands before the names of built-in tools, where others have their server's name.
SERVER = BUILT_IN_SERVER


class CallRefusedError(Exception):
    """A built-in tool cannot do what it was asked; the text is for the model."""


class BuiltInTool(Protocol):
    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def is_recorded(self) -> bool:
        """Whether it looks at the outside: then it is listed like a server's tool, and a replay has its results from the recording."""
        ...

    def is_offered(self, catalog: ToolCatalog) -> bool:
        """Whether the tool is of any use beside these."""
        ...

    async def run(self, arguments: str) -> str:
        """Do it, and return words for the model.

        Raises:
            CallRefusedError: the arguments cannot be met.
        """
        ...


class BuiltInTools(ToolWrapper):
    """Adds built-in tools to those of the servers."""

    def __init__(self, inner: ToolExecutor, tools: Sequence[BuiltInTool], *, clock: Clock) -> None:
        super().__init__(inner)
        self._tools = {tool.definition.name: tool for tool in tools}
        self._clock = clock
        # What was recorded of a built-in tool comes as a server's.
        self._of_servers: frozenset[str] = frozenset()

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        self._of_servers = frozenset(tool.name for tool in catalog.tools)
        offered = [tool for tool in self._tools.values() if tool.is_offered(catalog)]
        tools = (*catalog.tools, *(tool.definition for tool in offered))
        return ToolCatalog(tools, catalog.warnings, (*catalog.listings, *self._listings(offered)))

    def _listings(self, offered: Sequence[BuiltInTool]) -> Iterator[ToolListing]:
        names = tuple(tool.definition.name.removeprefix(f"{SERVER}.") for tool in offered if tool.is_recorded)
        if names:
            yield ToolListing(server=SERVER, tools=names, error=None, started_at=self._clock.now(), duration_ms=0)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None or call.name in self._of_servers:
            return await super().execute(call, on_output)
        started_at, started = self._clock.now(), self._clock.monotonic()
        try:
            content = await tool.run(call.arguments)
        except CallRefusedError as refusal:
            return ToolResult(call=call, content=str(refusal), is_error=True, refused=True, started_at=started_at)
        return ToolResult(call=call, content=content, started_at=started_at, duration_ms=milliseconds_since(started, self._clock))
