"""Tools and answers that never come back, for those who stop waiting for them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolResult

# Longer than any test may take: what waits for it is waiting for the cancellation.
FOR_EVER = 10_000.0


class StuckTools:
    """Tools that say something and never come back."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.stopped = anyio.Event()

    def open(self, *_: object, **__: object) -> AbstractAsyncContextManager["StuckTools"]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator["StuckTools"]:
        yield self

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods.", {"type": "object"}, read_only=True),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        assert call.name == "k8s.pods"
        on_output("half of ")
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.stopped.set()
        raise AssertionError("nobody wakes a stuck tool")
