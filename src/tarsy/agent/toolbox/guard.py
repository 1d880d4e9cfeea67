"""The outermost wrapper: whatever a model asks for, and whatever breaks on the way, it gets an answer."""

from collections.abc import Callable

import structlog

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.react.feedback import format_unknown_tool
from tarsy.agent.toolbox.wrapper import OnOutput, ToolWrapper
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolResult
from tarsy.kit.clock import Clock

log = structlog.get_logger(__name__)


class GuardedTools(ToolWrapper):
    """Refuses tools that do not exist; a bug in a wrapper or an adapter ends the call, not the investigation."""

    def __init__(self, inner: ToolExecutor, *, tool_calling: ToolCalling, mask: Callable[[str], str], clock: Clock) -> None:
        super().__init__(inner)
        self._tool_calling = tool_calling
        self._mask = mask
        self._clock = clock
        self._catalog = ToolCatalog()

    async def list_tools(self) -> ToolCatalog:
        self._catalog = await super().list_tools()
        return self._catalog

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        started_at = self._clock.now()
        if self._catalog.find(call.name) is None:
            content = format_unknown_tool(call.name, self._catalog.tools, self._tool_calling)
            return ToolResult(call=call, content=content, is_error=True, refused=True, started_at=started_at)
        try:
            return await super().execute(call, on_output)
        except ClaimLostError:
            raise
        except Exception as error:  # cancellation passes: it is no Exception
            log.exception("tool.broke", tool=call.name)
            return ToolResult(call=call, content=f"{call.name} broke: {self._mask(str(error))}", is_error=True, started_at=started_at)
