"""An investigation taken up again where an agent was at work that another one had sent, and where an agent had sent others."""

from pathlib import Path
from typing import Any

from support.agent_scenario import SUMMARY, Scenario, agent, answers, calls, chain, says, stage
from support.forking import forking
from support.replaying import replayed
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.db.recordings import RecordingSource

LEAD = "0.look/1.Lead"
PODS, LOGS, DISKS = f"{LEAD}/1.PodAgent", f"{LEAD}/2.LogAgent", f"{LEAD}/3.DiskAgent"
END = f"1.{SUMMARY}"


def sub_agent(name: str, **changes: Any) -> ResolvedAgentConfig:
    return agent(name, description=f"What {name} is for", **changes)


def lead(**changes: Any) -> ResolvedAgentConfig:
    return agent("Lead", mcp_servers=(), sub_agents=tuple(map(sub_agent, ("PodAgent", "LogAgent", "DiskAgent"))), **changes)


def sends(call_id: str, name: str, task: str) -> dict[str, Any]:
    return calls(call_id, "tarsy.run_agent", name=name, task=task)


FIRST = Scenario(
    chain(stage(lead())),
    [
        says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?"), sends("b", "LogAgent", "What do they say?")),
        says(PODS, 0, calls("p", "k8s.pods")),
        says(PODS, 1, 'web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].'),
        says(LOGS, 0, calls("l", "k8s.logs")),
        says(LOGS, 1, calls("m", "k8s.logs", previous=True)),
        says(LOGS, 2, 'It cannot write [A2.2: "No space left on device"].'),
        says(LEAD, 1, sends("c", "DiskAgent", "How full are the disks?")),
        says(DISKS, 0, 'Full [ALERT: "CPU is at 100 %"].'),
        says(LEAD, 2, 'The disk is full [A2.2: "No space left on device"].'),
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
        says(LOGS, 1, calls("n", "k8s.logs", container="init")),
        says(LOGS, 2, 'It is killed [A2.2: "Out of memory: killed"].'),
        says(LEAD, 1, 'Memory is short [A2.2: "Out of memory: killed"], see [A1.1: "web-1 CrashLoopBackOff"].'),
        says(LEAD, 2, "Nothing more."),
        says(END, 0, "Memory."),
    ],
    [answers(LOGS, "n", "k8s.logs", "Out of memory: killed")],
)


async def test_a_fork_of_a_sender_keeps_those_it_had_sent_before(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        answer = await session.fork(1, "Lead", model="second")
        assert answer.status_code == 202, answer.text
        forked_id = answer.json()["session_id"]
        await session.work()
        forked = await session.get(forked_id)
        recording = await RecordingSource(session.running.engine).read(forked_id)
    assert forked["final_analysis"].startswith("Memory is short [A2.2"), "and cites what they had found"
    assert [one["agent_name"] for one in forked["stages"][0]["executions"]] == ["Lead", "PodAgent", "LogAgent"]
    assert recording is not None
    assert await replayed(database_url, recording) == []
