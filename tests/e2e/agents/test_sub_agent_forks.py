"""An investigation taken up again where an agent was at work that another one had sent, and where an agent had sent others."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, answers, calls, chain, says, stage
from support.forking import forking, submitted
from support.replaying import replayed
from tarsy.agent.ports import ToolExecutor
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolResult
from tarsy.tools.recorded import RecordedToolServers

LEAD = "0.look/1.Lead"
PODS, LOGS, DISKS = f"{LEAD}/1.PodAgent", f"{LEAD}/2.LogAgent", f"{LEAD}/3.DiskAgent"
END = f"1.{SUMMARY}"
VERDICT = "\n```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A2.2]\n```"


def sub_agent(name: str, **changes: Any) -> ResolvedAgentConfig:
    return agent(name, description=f"What {name} is for", **changes)


def lead(**changes: Any) -> ResolvedAgentConfig:
    return agent("Lead", mcp_servers=(), sub_agents=tuple(map(sub_agent, ("PodAgent", "LogAgent", "DiskAgent"))), **changes)


def sends(call_id: str, name: str, task: str) -> dict[str, Any]:
    return calls(call_id, "tarsy.run_agent", name=name, task=task)


FIRST = Scenario(
    chain(stage(lead()), scoring=None),
    [
        says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?"), sends("b", "LogAgent", "What do they say?")),
        says(PODS, 0, calls("p", "k8s.pods")),
        says(PODS, 1, 'web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].'),
        says(LOGS, 0, calls("l", "k8s.logs")),
        says(LOGS, 1, calls("m", "k8s.logs", previous=True)),
        says(LOGS, 2, 'It cannot write [A2.2: "No space left on device"].'),
        says(LEAD, 1, sends("c", "DiskAgent", "How full are the disks?")),
        says(DISKS, 0, 'Full [ALERT: "CPU is at 100 %"].'),
        says(LEAD, 2, 'The disk is full [A2.2: "No space left on device"].' + VERDICT),
        says(END, 0, "Disk."),
    ],
    [
        answers(PODS, "p", "k8s.pods", "web-1 CrashLoopBackOff"),
        answers(LOGS, "l", "k8s.logs", "starting up, reading /data"),
        answers(LOGS, "m", "k8s.logs", "write /data: No space left on device"),
    ],
)
# What the model says that takes over.
OTHER = Scenario(
    FIRST.chain,
    [
        says(PODS, 1, "None restarts [A1.1]."),
        says(LOGS, 1, calls("n", "k8s.logs", container="init")),
        says(LOGS, 2, 'It is killed [A2.2: "Out of memory: killed"].'),
        says(LEAD, 1, 'Memory is short [A2.2: "Out of memory: killed"], see [A1.1: "web-1 CrashLoopBackOff"].' + VERDICT),
        says(END, 0, "Memory."),
    ],
    [answers(LOGS, "n", "k8s.logs", "Out of memory: killed")],
)


async def test_a_fork_within_the_work_of_a_sub_agent_goes_on_there_and_its_sender_gets_the_result(
    database_url: str, tmp_path: Path
) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        before = await session.get(SESSION_ID)
        answer = await session.fork(1, "LogAgent", model="second", hint="Think of memory.")
        assert answer.status_code == 202, answer.text
        forked_id = answer.json()["session_id"]
        await session.work()
        forked = await session.get(forked_id)
        was, reported = [await session.conversation(one, 1, "LogAgent") for one in (SESSION_ID, forked_id)]
        received, again = [await session.conversation(one, 1, "Lead") for one in (SESSION_ID, forked_id)]
        timeline = (await session.get(f"{forked_id}/timeline"))["events"]
        trace = await session.get(f"{forked_id}/trace")
        notes = (await session.get(f"{forked_id}/notes"))["notes"]
        assert await session.get(SESSION_ID) == before

    assert (forked["status"], forked["executive_summary"]) == ("completed", "Memory.")
    place = {"stage": "look", "agent": "LogAgent", "dispatched_by": "A2", "turn": 1}
    assert forked["fork"] == {"session_id": SESSION_ID, **place, "model": "second"}
    assert forked["final_analysis"].startswith("Memory is short [A2.2")
    assert forked["citations"] == {"cited": 2, "verified": 2, "id_only": 0, "failed": 0, "uncited": 0}
    # The same conversation up to there, then the hint.
    assert reported[: len(was)] == was
    assert "Think of memory." in reported[len(was)][1]
    assert [note["told"] for note in notes] == [["Lead", "LogAgent"]]
    # Its sender has the other report as it was, this one anew, each in its place; what it did after them is not kept.
    assert again[: len(received) - 1] == received[:-1]
    assert "Out of memory: killed" in again[len(received) - 1][1]
    assert "No space left" not in str(again)
    agents = [(one["agent_name"], one["dispatched_by"], one["status"]) for one in forked["stages"][0]["executions"]]
    assert agents == [("Lead", None, "completed"), ("PodAgent", "A1", "completed"), ("LogAgent", "A2", "completed")]
    # Nothing of what is kept is done again.
    results = [event["metadata"]["evidence_id"] for event in timeline if event["event_type"] == "tool_result"]
    assert sorted(results) == ["A1", "A1.1", "A2", "A2.1", "A2.2"]
    assert [event["position"] for event in timeline] == sorted(event["position"] for event in timeline)
    assert [one["provider"] for one in trace["llm"]].count("second") == 4
    # The calls that are kept were paid for by the session that made them.
    assert forked["usage"]["total_tokens"] == 4 * 15


async def test_forks_of_senders_and_of_those_they_sent_replay_to_the_letter(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        # The first of two that were sent at once.
        first_id = (await session.fork(1, "PodAgent", model="second")).json()["session_id"]
        lead_id = (await session.fork(1, "Lead", model="second")).json()["session_id"]
        await session.work()
        again_id = (await session.fork(1, "LogAgent", session_id=first_id, model="second", hint="Look again.")).json()["session_id"]
        await session.work()
        forked = [await session.get(one) for one in (first_id, again_id, lead_id)]
        recordings = [await RecordingSource(session.running.engine).read(one) for one in (first_id, again_id, lead_id)]
    assert [one["status"] for one in forked] == ["completed"] * 3
    # The fork of the sender keeps those it had sent before, and cites what they had found.
    assert forked[2]["final_analysis"].startswith("Memory is short [A2.2")
    assert [one["agent_name"] for one in forked[2]["stages"][0]["executions"]] == ["Lead", "PodAgent", "LogAgent"]
    for recording in recordings:
        assert recording is not None
        assert await replayed(database_url, recording) == []


async def test_a_sender_that_calls_its_tools_in_text_waits_for_the_report_anew(database_url: str, tmp_path: Path) -> None:
    sent = f"{LEAD}/1.LogAgent"
    send = 'Thought: Ask.\nAction: tarsy.run_agent\nAction Input: {"name": "LogAgent", "task": "What do they say?"}'
    first = Scenario(
        chain(stage(lead(tool_calling=ToolCalling.REACT))),
        [
            says(LEAD, 0, send),
            says(sent, 0, calls("l", "k8s.logs")),
            says(sent, 1, 'It starts [A1.1: "starting up"].'),
            says(LEAD, 1, "Final Answer: Nothing [A1.1]." + VERDICT.replace("A2.2", "A1.1")),
            says(END, 0, "Nothing."),
        ],
        [answers(sent, "l", "k8s.logs", "starting up, reading /data")],
    )
    other = replace(
        first,
        calls=[
            says(sent, 1, 'It reads [A1.1: "reading /data"].'),
            says(LEAD, 1, 'Final Answer: It reads [A1.1: "reading /data"].' + VERDICT.replace("A2.2", "A1.1")),
            says(END, 0, "It reads."),
        ],
    )
    async with forking(database_url, tmp_path, first, other) as session:
        forked_id = (await session.fork(1, "LogAgent", model="second", hint="Which path?")).json()["session_id"]
        await session.work()
        forked = await session.get(forked_id)
        received = await session.conversation(forked_id, 1, "Lead")
        recording = await RecordingSource(session.running.engine).read(forked_id)
    assert (forked["final_analysis"], forked["executive_summary"]) == ('It reads [A1.1: "reading /data"].', "It reads.")
    assert [role for role, _ in received] == ["system", "user", "assistant", "user", "user"], "its call, the report, the hint"
    assert 'LogAgent reports:\nIt reads [A1.1: "reading /data"].' in received[3][1]
    assert recording is not None
    assert await replayed(database_url, recording) == []


class Held:
    """Recorded tools of which some calls do not come back before they are released."""

    def __init__(self, *call_ids: str) -> None:
        self.tools = RecordedToolServers(replace(FIRST, tools=[*FIRST.tools, *OTHER.tools]).recording)
        self.reached = {call_id: anyio.Event() for call_id in call_ids}
        self.released = anyio.Event()

    @asynccontextmanager
    async def open(self, *arguments: Any, **names: Any) -> AsyncGenerator["_HeldTools"]:
        async with self.tools.open(*arguments, **names) as inner:
            yield _HeldTools(inner, self)


@dataclass
class _HeldTools:
    inner: ToolExecutor
    held: Held

    async def list_tools(self) -> ToolCatalog:
        return await self.inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        if call.id in self.held.reached:
            self.held.reached[call.id].set()
            await self.held.released.wait()
        return await self.inner.execute(call, on_output)


async def test_a_hint_that_kept_agents_have_read_stays_what_it_was(database_url: str, tmp_path: Path) -> None:
    held = Held("p")
    notes: list[dict[str, Any]] = []
    async with submitted(database_url, tmp_path, replace(FIRST, servers=held), OTHER) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.running.pool.run)
        await held.reached["p"].wait()
        await session.until(SESSION_ID, "LogAgent", "completed")
        await session.running.services.repositories.notes.hint(SESSION_ID, "It began at noon.", author="tester")
        held.released.set()
        await session.until_ended(SESSION_ID)
        # From a call before the hint: an agent that is kept has read it all the same.
        forked_id = (await session.fork(1, "LogAgent", model="second", hint="Think of memory.")).json()["session_id"]
        await session.until_ended(forked_id)
        session.running.pool.stop_now()
        notes = (await session.get(f"{forked_id}/notes"))["notes"]
    assert [(note["id"], note["text"], note["told"]) for note in notes] == [
        ("NOTE1", "It began at noon.", ["Lead", "LogAgent", "PodAgent"]),
        ("NOTE2", "Think of memory.", ["Lead", "LogAgent"]),
    ]


async def test_a_sub_agent_that_went_astray_is_set_right_after_the_session_was_cancelled(database_url: str, tmp_path: Path) -> None:
    held = Held("m")
    forked: dict[str, Any] = {}
    recording: Recording | None = None
    timeline: list[dict[str, Any]] = []
    async with submitted(database_url, tmp_path, replace(FIRST, servers=held), OTHER) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.running.pool.run)
        await held.reached["m"].wait()
        await session.until(SESSION_ID, "PodAgent", "completed")
        await session.running.services.repositories.sessions.request_cancel(SESSION_ID, actor="tester")
        await session.until_ended(SESSION_ID)
        forked_id = (await session.fork(1, "LogAgent", model="second", hint="Look at the init container.")).json()["session_id"]
        forked = await session.until_ended(forked_id)
        session.running.pool.stop_now()
        timeline = (await session.get(f"{forked_id}/timeline"))["events"]
        recording = await RecordingSource(session.running.engine).read(forked_id)
    assert (forked["status"], forked["executive_summary"]) == ("completed", "Memory.")
    assert [one["status"] for one in forked["stages"][0]["executions"]] == ["completed"] * 3
    assert {event["status"] for event in timeline} == {"completed"}, "nothing of what was cut off is kept"
    assert recording is not None
    assert await replayed(database_url, recording) == []


async def test_an_agent_that_was_stopped_with_the_session_stays_stopped_and_its_sender_is_notified(
    database_url: str, tmp_path: Path
) -> None:
    held = Held("m", "p")
    concluded = says(LEAD, 1, 'Memory is short [A2.2: "Out of memory: killed"].' + VERDICT)
    other = replace(OTHER, calls=[concluded if (one.track, one.turn) == (LEAD, 1) else one for one in OTHER.calls])
    forked: dict[str, Any] = {}
    received: list[tuple[str, str]] = []
    async with submitted(database_url, tmp_path, replace(FIRST, servers=held), other) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.running.pool.run)
        for reached in held.reached.values():
            await reached.wait()
        await session.running.services.repositories.sessions.request_cancel(SESSION_ID, actor="tester")
        await session.until_ended(SESSION_ID)
        forked_id = (await session.fork(1, "LogAgent", model="second")).json()["session_id"]
        forked = await session.until_ended(forked_id)
        session.running.pool.stop_now()
        received = await session.conversation(forked_id, 1, "Lead")
    assert (forked["status"], forked["executive_summary"]) == ("completed", "Memory.")
    assert [one["status"] for one in forked["stages"][0]["executions"]] == ["completed", "cancelled", "completed"]
    assert "PodAgent was stopped by a person" in received[3][1]
    assert "Out of memory: killed" in received[4][1]
