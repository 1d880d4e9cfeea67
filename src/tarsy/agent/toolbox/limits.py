"""How much an execution may ask of its tool servers at a time. Limits of a server over all sessions belong here too."""

import anyio

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.wrapper import OnOutput, ToolWrapper
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolResult

# A model that asks for thirty things at once should not open thirty connections.
MAX_CONCURRENT_TOOLS = 8


class LimitedTools(ToolWrapper):
    """Lets so many calls through at once; the others wait, and the time they wait is their iteration's."""

    def __init__(self, inner: ToolExecutor) -> None:
        super().__init__(inner)
        self._limiter = anyio.CapacityLimiter(MAX_CONCURRENT_TOOLS)

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        async with self._limiter:
            return await super().execute(call, on_output)
