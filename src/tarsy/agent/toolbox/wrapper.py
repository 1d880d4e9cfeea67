"""The base of the wrappers around the tools of an execution."""

from tarsy.agent.ports import ToolExecutor
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import OnOutput, ToolCatalog, ToolResult


class ToolWrapper:
    """A ToolExecutor around another one that passes everything on; subclasses override what they do differently."""

    def __init__(self, inner: ToolExecutor) -> None:
        self._inner = inner

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        return await self._inner.execute(call, on_output)
