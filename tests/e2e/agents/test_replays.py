"""A recording of a session that did not go smoothly, played again: it says the same."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, answers, calls, chain, read_back, says, stage
from support.paths import FAULT_SERVER, TESTS
from support.replaying import playing, replay_recording, replayed
from tarsy.agent.ports import ToolExecutor
from tarsy.config.resolve.resolved import ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ApprovalPolicy, ToolCalling, ToolCatalog, ToolDefinition, ToolResult
from tarsy.llm.providers.replay import RecordingFiles, RecordingUnreadableError
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
    async with playing(database_url, SESSION_ID, scenario.recording, tools) as running, anyio.create_task_group() as tasks:
        await running.services.repositories.sessions.insert(scenario.session())
        tasks.start_soon(running.pool.run)
        await tools.asked.wait()
        running.pool.stop_now()
    async with playing(database_url, SESSION_ID, scenario.recording, RecordedToolServers(scenario.recording)) as running:
        await running.pool.run_waiting(INVESTIGATION)
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


@pytest.mark.parametrize("tool_calling", [ToolCalling.NATIVE, ToolCalling.REACT])
async def test_tools_that_change_reach_the_running_agent_and_the_session_replays_the_same(
    database_url: str, tool_calling: ToolCalling
) -> None:
    transport = ResolvedTransport(type="stdio", command=sys.executable, args=("-S", str(FAULT_SERVER)))
    servers = {
        "f": ResolvedMcpServer(
            name="f", approval=ApprovalPolicy.NEVER, transport=transport, masking=ResolvedMasking(enabled=True, pattern_groups=("all",))
        )
    }
    investigator = agent(mcp_servers=("f",), tool_calling=tool_calling)
    native = tool_calling is ToolCalling.NATIVE
    used = [
        calls(name, f"f.{name}") if native else f"Thought: Look.\nAction: f.{name}\nAction Input: {{}}"
        for name in ("grow", "grown", "shrink")
    ]
    scenario = Scenario(
        chain(stage(investigator), mcp_servers=servers, scoring=None),
        [
            *(says(TRACK, turn, made) for turn, made in enumerate(used)),
            says(TRACK, len(used), "It is the disk." if native else "Thought: Enough.\nFinal Answer: It is the disk."),
            END,
        ],
        real_tools=True,
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    conversation = [str(message["content"]) for message in recording.outcome.conversations[TRACK]]
    grown = "f__grown" if native else "f.grown"
    notes = [text.splitlines() for text in conversation if text.startswith("The available tools have changed.")]
    assert [lines[0].removeprefix("The available tools have changed. ") for lines in notes] == [
        f"New: {grown}.",
        f"No longer available: {grown}.",
    ]
    assert any("grown up" in text for text in conversation)
    assert ("- **f.grown**: does grown" in notes[0]) is not native
    assert "grown" not in conversation[0] + conversation[1]
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
        catalog=(ToolDefinition(name="k8s.logs", parameters_schema=schema, read_only=True),),
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    refused, given = (message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert "The call was not made: its arguments do not fit the tool." in refused
    assert "No space left on device" in given
    assert [tool.call_id for tool in recording.tools] == ["b"]
    assert await replayed(database_url, recording) == []


def _moved_to(recording: Recording, moment: datetime) -> Recording:
    """The recording as if everything had been read and asked at another moment."""
    inputs = tuple(given.model_copy(update={"fields": {"at": moment.isoformat()}}) for given in recording.inputs)
    return recording.model_copy(update={"inputs": inputs})


async def test_a_replay_gets_the_times_of_its_recording_and_stores_them_again(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1))),
        [says(TRACK, 0, calls("c0", "k8s.pods")), says(TRACK, 1, "It is the disk."), END],
        [answers(TRACK, "c0", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    assert [(one.turn, one.kind, one.name) for one in recording.inputs if one.track == TRACK] == [
        (0, "now", ""),
        (0, "read", "A1"),
        (1, "now", ""),
    ]
    assert await replayed(database_url, recording) == []
    moved = _moved_to(recording, datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC))
    again = await replay_recording(database_url, moved)
    assert again.outcome is not None
    answered = again.outcome.conversations[TRACK]
    assert "\nNow: 2001-02-03T04:05:06Z\n" in answered[1]["content"]
    assert answered[3]["content"].startswith("[A1] k8s.pods() at 2001-02-03T04:05:06Z\n")
    assert answered[4]["content"].startswith("It is now 2001-02-03T04:05:06Z.")
    assert again.inputs == moved.inputs


@pytest.mark.parametrize("version", [1, 3])
async def test_a_recording_of_an_older_version_goes_on_replaying(database_url: str, version: int) -> None:
    # That of version 3 has corrections that would not be taken today, and a summary that code would write today.
    recording = RecordingFiles()(str(TESTS / "e2e" / "recordings" / f"version-{version}.json"))
    assert recording.tarsy_recording == version
    assert await replayed(database_url, recording) == []


def test_a_recording_of_a_later_version_says_which_version_it_needs(tmp_path: Path) -> None:
    (tmp_path / "later.json").write_text('{"tarsy_recording": 6, "calls": []}')
    with pytest.raises(RecordingUnreadableError, match="is of version 6, and this TARSy reads versions 1 to 5"):
        RecordingFiles()(str(tmp_path / "later.json"))


async def test_parallel_agents_have_letters_of_their_own_and_the_next_stage_the_next(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent("Left"), agent("Right")), stage(agent("Last"), name="deeper")),
        [
            *(
                says(f"0.look/{place}.{name}", 0, calls(f"{name}-{n}", "k8s.pods", n=n))
                for place, name in ((1, "Left"), (2, "Right"))
                for n in [0]
            ),
            says("0.look/1.Left", 1, calls("Left-1", "k8s.nothing")),
            says("0.look/1.Left", 2, "Left."),
            says("0.look/2.Right", 1, "Right."),
            says("1.look synthesis/1.SynthesisAgent", 0, "Both."),
            says("2.deeper/1.Last", 0, calls("Last-0", "k8s.pods")),
            says("2.deeper/1.Last", 1, "Last."),
            says(f"3.{SUMMARY}", 0, "Disk."),
        ],
        [
            answers("0.look/1.Left", "Left-0", "k8s.pods", "left"),
            answers("0.look/2.Right", "Right-0", "k8s.pods", "right"),
            answers("2.deeper/1.Last", "Last-0", "k8s.pods", "last"),
        ],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        seen = await running.services.repositories.evidence.list(SESSION_ID)
        found = await running.services.repositories.evidence.read(SESSION_ID, "B1")
    assert {(one.id, one.tool, one.refused) for one in seen} == {
        ("ALERT", None, False),
        ("RUNBOOK", None, False),
        ("A1", "pods", False),
        ("A2", "nothing", True),
        ("B1", "pods", False),
        ("C1", "pods", False),
    }
    assert (found.text, found.seen.arguments) == ("right", '{"n": 0}')
