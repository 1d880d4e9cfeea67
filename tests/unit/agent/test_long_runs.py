"""A long investigation: what a turn costs does not grow with the number of turns before it."""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import FrameType

import pytest

from support.agent_scenario import PROVIDER, Scenario, agent, calls, chain, says, stage
from support.memory_run import MemoryRun
from tarsy.domain.conversation import ToolCall
from tarsy.domain.status import RunStatus
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolDefinition, ToolResult

pytestmark = pytest.mark.growth

TRACK = "0.look/1.Investigator"
SMALL = PROVIDER.model_copy(update={"context_window": 16_000})
TURNS = 200
PER_TURN = 7


class TalkativeTools:
    """Tools with much to say, which note how many functions were called, and how much memory was taken, until each of their calls."""

    def __init__(self) -> None:
        self.called = 0
        self.work: list[int] = []
        self.memory: list[int] = []

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.logs", "Read a pod's log.", {"type": "object"}, read_only=True),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        self.work.append(self.called)
        self.memory.append(tracemalloc.get_traced_memory()[0])
        return ToolResult(call=call, content=f"line of {call.id}\n" * 60, started_at=datetime.now(UTC))

    def count(self, _frame: FrameType, event: str, _argument: object) -> None:
        """A profile function: what a machine's load cannot change, unlike seconds."""
        if event in {"call", "c_call"}:
            self.called += 1


def _native(turn: int) -> list[object]:
    return [calls(f"c{turn}-{number}", "k8s.logs", pod=f"{turn}-{number}") for number in range(PER_TURN)]


def _react(turn: int) -> list[object]:
    return [f'Thought: Pod {turn} is next.\nAction: k8s.logs\nAction Input: {{"pod": "{turn}"}}']


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    """It walks through everything that other tests have left in memory, whenever it likes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(("speaking", "asks"), [(ToolCalling.NATIVE, _native), (ToolCalling.REACT, _react)])
async def test_the_last_fifty_turns_cost_no_more_than_the_first(speaking: ToolCalling, asks: Callable[[int], list[object]]) -> None:
    answered = [says(TRACK, turn, *asks(turn)) for turn in range(TURNS)]
    config = agent(max_iterations=TURNS + 1, provider=SMALL, tool_calling=speaking)
    tools = TalkativeTools()
    run = MemoryRun(Scenario(chain(stage(config)), [*answered, says(TRACK, TURNS, "Final Answer: Done.")]), TRACK, tools=tools)
    sys.setprofile(tools.count)
    try:
        result = await run.go_on()
    finally:
        sys.setprofile(None)
    assert result.status is RunStatus.COMPLETED
    per_turn = len(tools.work) // TURNS
    assert per_turn == (PER_TURN if speaking is ToolCalling.NATIVE else 1)
    begins = tools.work[::per_turn]
    # The first fifty fill the model's window; from there on every turn makes room for itself.
    early, late = begins[100] - begins[50], begins[199] - begins[149]
    assert late < 1.5 * early, f"fifty turns took {early} function calls, the last {late}"
    assert max(len(call.request.get("messages", ())) for call in run.journal.llm) < 300, "what is sent does not grow either"


async def test_what_a_turn_leaves_in_memory_does_not_grow() -> None:
    turns = 150
    tools = TalkativeTools()
    answered = [says(TRACK, turn, *_react(turn)) for turn in range(turns)]
    config = agent(max_iterations=turns + 1, provider=SMALL, tool_calling=ToolCalling.REACT)
    run = MemoryRun(Scenario(chain(stage(config)), [*answered, says(TRACK, turns, "Final Answer: Done.")]), TRACK, tools=tools)
    tracemalloc.start()
    try:
        assert (await run.go_on()).status is RunStatus.COMPLETED
    finally:
        tracemalloc.stop()
    # The journal of this test keeps everything that was written, which is in proportion, too.
    early, late = tools.memory[99] - tools.memory[49], tools.memory[149] - tools.memory[99]
    assert late < 2 * early, f"fifty turns took {early} bytes, the last fifty {late}"
