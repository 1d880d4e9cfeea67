"""Tool servers that an agent was meant to have and has not: it is told why, and people see it on the timeline."""

from collections.abc import Sequence

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.wrapper import ToolWrapper
from tarsy.domain.tool import ToolCatalog


class AbsentServers(ToolWrapper):
    def __init__(self, inner: ToolExecutor, reasons: Sequence[str]) -> None:
        super().__init__(inner)
        self._reasons = reasons

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        # A replayed run was told before.
        new = tuple(reason for reason in self._reasons if reason not in catalog.warnings)
        return ToolCatalog(catalog.tools, (*catalog.warnings, *new), catalog.listings)
