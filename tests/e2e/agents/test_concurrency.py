"""The tools of one answer really run at the same time, at most as many as allowed, and their results are in the order of the calls."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest

from support.agent_scenario import SUMMARY, Scenario, agent, calls, chain, says, stage
from tarsy.agent.toolbox.toolbox import MAX_CONCURRENT_TOOLS
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolResult

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"


class MeetingTools:
    """Tools that come back only when as many as may run at once are under way, and then the last first."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.running = 0
        self.most = 0
        self._started = 0
        self._gathered = [anyio.Event() for _ in range(total)]
        self._done = [anyio.Event() for _ in range(total)]

    def open(self, *_: object, **__: object) -> AbstractAsyncContextManager["MeetingTools"]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator["MeetingTools"]:
        yield self

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods.", {"type": "object"}, read_only=True),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        place, self._started = self._started, self._started + 1
        last_of_group = min(self.total, (place // MAX_CONCURRENT_TOOLS + 1) * MAX_CONCURRENT_TOOLS) - 1
        self.running += 1
        self.most = max(self.most, self.running)
        if place == last_of_group:
            self._gathered[last_of_group].set()
        with anyio.fail_after(60):
            await self._gathered[last_of_group].wait()
            if place < last_of_group:
                await self._done[place + 1].wait()
        self.running -= 1
        self._done[place].set()
        return ToolResult(call=call, content=f"pods of {call.id}", started_at=datetime.now(UTC))


@pytest.mark.parametrize("count", [2, MAX_CONCURRENT_TOOLS, 2 * MAX_CONCURRENT_TOOLS + 3])
async def test_the_calls_of_an_answer_overlap_up_to_the_limit_and_keep_their_order(database_url: str, count: int) -> None:
    tools = MeetingTools(count)
    ids = [f"c{number}" for number in range(count)]
    scenario = Scenario(
        chain(stage(agent(iteration_timeout=100.0))),
        [says(TRACK, 0, *(calls(call_id, "k8s.pods", n=call_id) for call_id in ids)), says(TRACK, 1, "Done."), says(END, 0, "Done.")],
        servers=tools,
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert tools.most == min(count, MAX_CONCURRENT_TOOLS)
    results = [message for message in recording.outcome.conversations[TRACK] if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ids
    assert [message["content"].splitlines()[2] for message in results] == [f"pods of {call_id}" for call_id in ids]
    assert {tool.call_id: tool.content for tool in recording.tools} == {call_id: f"pods of {call_id}" for call_id in ids}


class Ledger:
    """Tools that note when they begin and end; the reading ones end only when all that may overlap have begun."""

    def __init__(self, overlapping: int) -> None:
        self.noted: list[str] = []
        self._waiting = overlapping
        self._together = anyio.Event()

    @asynccontextmanager
    async def open(self, *_: object, **__: object) -> AsyncGenerator["Ledger"]:
        yield self

    async def list_tools(self) -> ToolCatalog:
        changing = ToolDefinition("k8s.scale", "Scale.", {"type": "object"})
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods.", {"type": "object"}, read_only=True), changing))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        self.noted.append(f"{call.id} begins")
        if call.name == "k8s.pods" and self._waiting:
            self._waiting -= 1
            if self._waiting == 0:
                self._together.set()
            with anyio.fail_after(60):
                await self._together.wait()
        await anyio.lowlevel.checkpoint()
        self.noted.append(f"{call.id} ends")
        return ToolResult(call=call, content=call.id, started_at=datetime.now(UTC))


async def test_a_call_that_may_change_something_waits_for_those_before_it_and_those_after_wait_for_it(database_url: str) -> None:
    tools = Ledger(overlapping=2)
    asked = [("a", "k8s.pods"), ("b", "k8s.pods"), ("c", "k8s.scale"), ("d", "k8s.scale"), ("e", "k8s.pods")]
    scenario = Scenario(
        chain(stage(agent(iteration_timeout=100.0))),
        [says(TRACK, 0, *(calls(call_id, name, n=call_id) for call_id, name in asked)), says(TRACK, 1, "Done."), says(END, 0, "Done.")],
        servers=tools,
    )
    await scenario.play(database_url)
    assert sorted(tools.noted[:2]) == ["a begins", "b begins"]
    assert sorted(tools.noted[2:4]) == ["a ends", "b ends"]
    assert tools.noted[4:] == [f"{call_id} {what}" for call_id in "cde" for what in ("begins", "ends")]
