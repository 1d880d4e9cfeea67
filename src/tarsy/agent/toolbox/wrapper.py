"""A ToolExecutor around another one."""

from collections.abc import Callable

from tarsy.agent.ports import ToolExecutor
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolResult

OnOutput = Callable[[str], None]


class ToolWrapper:
    """Passes everything on: a wrapper says only what it does differently."""

    def __init__(self, inner: ToolExecutor) -> None:
        self._inner = inner

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        return await self._inner.execute(call, on_output)
