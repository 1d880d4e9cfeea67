"""Ceilings of tool calls: how many are made, and how long they may take together."""

import math

import anyio

from tarsy.agent.ceilings.ceilings import Ceilings
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.wrapper import OnOutput, ToolWrapper
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolResult
from tarsy.kit.clock import Clock, milliseconds_since


class BudgetedTools(ToolWrapper):
    """Refuses calls that do not fit under a ceiling, and ends those that outlast one."""

    def __init__(self, inner: ToolExecutor, ceilings: Ceilings, *, clock: Clock) -> None:
        super().__init__(inner)
        self._ceilings = ceilings
        self._clock = clock

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        started_at, started = self._clock.now(), self._clock.monotonic()
        if met := self._ceilings.refusal(call):
            content = f"{call.name} was not called: this investigation has met {met.told}. Conclude with what you know."
            return ToolResult(call=call, content=content, is_error=True, refused=True, started_at=started_at)
        left = self._ceilings.seconds_left
        with anyio.move_on_after(math.inf if left is None else left):
            return await super().execute(call, on_output)
        content = f"{call.name} did not answer before the time of this investigation was up."
        waited = milliseconds_since(started, self._clock)
        return ToolResult(call=call, content=content, is_error=True, is_timeout=True, started_at=started_at, duration_ms=waited)
