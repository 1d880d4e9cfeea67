"""Tools that TARSy itself brings along, beside those of the servers."""

from collections.abc import Sequence
from typing import Protocol

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.wrapper import OnOutput, ToolWrapper
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolResult
from tarsy.kit.clock import Clock, milliseconds_since


class CallRefusedError(Exception):
    """A built-in tool cannot do what it was asked; the text is for the model."""


class BuiltInTool(Protocol):
    @property
    def definition(self) -> ToolDefinition: ...

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

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        offered = tuple(tool.definition for tool in self._tools.values() if tool.is_offered(catalog))
        return ToolCatalog((*catalog.tools, *offered), catalog.warnings, catalog.listings)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            return await super().execute(call, on_output)
        started_at, started = self._clock.now(), self._clock.monotonic()
        try:
            content = await tool.run(call.arguments)
        except CallRefusedError as refusal:
            return ToolResult(call=call, content=str(refusal), is_error=True, refused=True, started_at=started_at)
        return ToolResult(call=call, content=content, started_at=started_at, duration_ms=milliseconds_since(started, self._clock))
