"""A recording of a session that did not go smoothly, played again: it says the same."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from support.agent_scenario import SUMMARY, Scenario, agent, answers, calls, chain, read_back, says, stage
from support.replaying import playing, replayed
from tarsy.agent.ports import ToolExecutor
from tarsy.domain.agent import ToolCalling
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import RecordedToolDefinition, Recording
from tarsy.domain.tool import ToolCatalog, ToolResult
from tarsy.tools.recorded import RecordedToolServers

TRACK = "0.look/1.Investigator"
END = says(f"1.{SUMMARY}", 0, "Disk.")


@dataclass
class HeldServers:
    """Recorded tools that never come back."""

    recording: Recording
    asked: anyio.Event = field(default_factory=anyio.Event)

    def open(self, *args: Any, **kwargs: Any) -> AbstractAsyncContextManager["HeldTools"]:
        return self._open(*args, **kwargs)

    @asynccontextmanager
    async def _open(self, *args: Any, **kwargs: Any) -> AsyncGenerator["HeldTools"]:
        async with RecordedToolServers(self.recording).open(*args, **kwargs) as tools:
            yield HeldTools(tools, self.asked)


@dataclass
class HeldTools:
    inner: ToolExecutor
    asked: anyio.Event

    async def list_tools(self) -> ToolCatalog:
        return await self.inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del call, on_output
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes a held tool")


async def _interrupted(database_url: str, scenario: Scenario) -> Recording:
    """Run a scenario, handed over to another process while its first tool runs."""
    tools = HeldServers(scenario.recording)
    async with playing(database_url, scenario.recording, tools) as running, anyio.create_task_group() as tasks:
        assert running.pool is not None
        await running.services.sessions.insert(scenario.session())
        tasks.start_soon(running.pool.run)
        await tools.asked.wait()
        running.pool.stop_now()
    async with playing(database_url, scenario.recording, RecordedToolServers(scenario.recording)) as running:
        assert running.pool is not None
        await running.pool.work_off(INVESTIGATION)
        return await read_back(running)


async def test_a_session_that_changed_hands_replays_like_one_that_did_not(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(tool_calling=ToolCalling.REACT))),
        [
            says(TRACK, 0, "Thought: Look.\nAction: k8s.pods\nAction Input: {}"),
            says(TRACK, 1, "Thought: Enough.\nFinal Answer: It is the disk."),
            END,
        ],
        [answers(TRACK, "react-3", "k8s.pods", "web-1 Evicted")],
    )
    recording = await _interrupted(database_url, scenario)
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "It is the disk."
    (catalog,) = recording.catalogs
    assert [tool.name for tool in catalog.tools] == ["k8s.pods", "k8s.logs"]
    assert await replayed(database_url, recording) == []


async def test_a_session_without_its_runbook_replays_the_same(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, "It is the disk."), END], runbook_url="https://elsewhere.example/runbook.md")
    assert await replayed(database_url, await scenario.play(database_url)) == []


async def test_results_that_were_summarised_side_by_side_replay_the_same(database_url: str) -> None:
    asked = [f"c{number}" for number in range(6)]
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, *(calls(one, "k8s.logs", pod=one) for one in asked)),
            *(says(f"{TRACK}/summary/{one}", 0, f"{one} is well.") for one in asked),
            says(TRACK, 1, "It is the disk."),
            END,
        ],
        [answers(TRACK, one, "k8s.logs", f"{one} is well\n" * 2_000, f'{{"pod": "{one}"}}') for one in asked],
    )
    assert await replayed(database_url, await scenario.play(database_url)) == []


async def test_a_call_that_was_refused_for_its_arguments_is_refused_again(database_url: str) -> None:
    schema = {"type": "object", "properties": {"pod": {"type": "string"}}, "required": ["pod"]}
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, calls("a", "k8s.logs", pot="web-1")),
            says(TRACK, 1, calls("b", "k8s.logs", pod="web-1")),
            says(TRACK, 2, "Disk."),
            END,
        ],
        [answers(TRACK, "b", "k8s.logs", "No space left on device")],
        catalog=(RecordedToolDefinition(name="k8s.logs", parameters_schema=schema, read_only=True),),
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    refused, given = (message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert "The call was not made: its arguments do not fit the tool." in refused
    assert "No space left on device" in given
    assert [tool.call_id for tool in recording.tools] == ["b"]
    assert await replayed(database_url, recording) == []
