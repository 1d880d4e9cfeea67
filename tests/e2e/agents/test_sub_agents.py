"""An agent sends others: each with a conversation of its own, at the same time, and what they saw can be cited and read by the one that sent them."""

import gc
import io
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import anyio
import httpx
import pytest
from rich.console import Console

from support.agent_scenario import (
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    answers,
    calls,
    chain,
    conversation,
    fails,
    kinds,
    read_back,
    says,
    stage,
    thinks,
)
from support.api_world import serving
from support.replaying import replayed
from support.stuck_tools import StuckTools
from tarsy.agent.recorder import Recorder
from tarsy.agent.run import Run
from tarsy.cli.client import TarsyClient
from tarsy.cli.live_view import answer_question
from tarsy.cli.sessions import tree_lines
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer, ResolvedOrchestrator
from tarsy.db.connection import pool_use
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import AgentExecution
from tarsy.domain.notification import EventKind
from tarsy.domain.recording import RecordedOutcome, Recording
from tarsy.domain.status import RunStatus
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolDefinition, ToolResult
from tarsy.notify.events import read_event
from tarsy.session.sub_agents import SubAgents
from tarsy.wiring.application import Application

LEAD = "0.look/1.Lead"
PODS, LOGS = f"{LEAD}/1.PodAgent", f"{LEAD}/2.LogAgent"
END = f"1.{SUMMARY}"
VERDICT = "```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A2.1]\n```"
CITED = f'The disk is full [A2.1: "No space left on device"].\n{VERDICT}'


def sub_agent(name: str, **changes: Any) -> ResolvedAgentConfig:
    return agent(name, description=f"What {name} is for", **changes)


def lead(*agents: ResolvedAgentConfig, **changes: Any) -> ResolvedAgentConfig:
    sent = agents or (sub_agent("PodAgent"), sub_agent("LogAgent"))
    return agent("Lead", **{"mcp_servers": (), "sub_agents": sent, **changes})


def sends(call_id: str, name: str, task: str, **more: Any) -> dict[str, Any]:
    return calls(call_id, "tarsy.run_agent", name=name, task=task, **more)


async def investigated(running: Application) -> RecordedOutcome:
    await running.pool.run_waiting(INVESTIGATION)
    return outcome_of(await read_back(running))


def outcome_of(recording: Recording) -> RecordedOutcome:
    assert recording.outcome is not None
    return recording.outcome


async def executions(running: Application) -> tuple[AgentExecution, ...]:
    return (await running.services.repositories.interactions.run(SESSION_ID)).executions


def reports(outcome: RecordedOutcome, track: str = LEAD) -> list[str]:
    return [content for role, content in conversation(outcome, track) if role == "tool"]


POD = answers(PODS, "p", "k8s.pods", "web-1 CrashLoopBackOff")
TWO = Scenario(
    chain(stage(lead())),
    [
        says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?"), sends("b", "LogAgent", "What do they say?")),
        says(PODS, 0, calls("p", "k8s.pods")),
        says(PODS, 1, 'web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].'),
        says(LOGS, 0, calls("l", "k8s.logs")),
        says(LOGS, 1, 'It cannot write [A2.1: "No space left on device"].'),
        says(LEAD, 1, calls("r", "tarsy.read_result", id="A2.1")),
        says(LEAD, 2, CITED),
        says(END, 0, "The disk is full."),
    ],
    [
        POD,
        answers(LOGS, "l", "k8s.logs", "write /data: No space left on device"),
    ],
)


async def test_agents_that_are_sent_report_and_their_results_are_read_and_cited(database_url: str) -> None:
    async with TWO.running(database_url) as running:
        outcome = await investigated(running)
        rows = await executions(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(running.api), base_url="http://localhost") as client:
            shown = [(await client.get(f"/api/v1/sessions/{SESSION_ID}/{part}")).json() for part in ("timeline", "trace")]
            detail = (await client.get(f"/api/v1/sessions/{SESSION_ID}")).json()
    assert [*tree_lines(detail, shown[0]["events"])][:7] == [
        "look  (completed)",
        "  Lead  (completed, model-1)",
        "    [A1] PodAgent  (completed, model-1)",
        "      task: Which pods restart?",
        '      conclusion: web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].',
        "    [A2] LogAgent  (completed, model-1)",
        "      task: What do they say?",
    ]
    assert [row.agent_name for row in rows] == ["Lead", "PodAgent", "LogAgent", "ExecSummaryAgent"], "each before those it sent"
    places = [(row.id, row.agent_name, row.parent_execution_id, row.dispatched_by, row.task) for row in rows]
    assert [[tuple(one.values()) for one in part["executions"]] for part in shown] == [places, places]
    assert session.analysis_partial_reason is None, "what its agents saw is what it rests on"
    assert outcome.status == "completed"
    received = reports(outcome)
    assert 'PodAgent reports:\nweb-1 restarts [A1.1: "web-1 CrashLoopBackOff"].' in received[0]
    assert "[A2.1] k8s.logs()" in received[1]
    assert "write /data: No space left on device" in received[2]
    assert outcome.citations == {"cited": 1, "verified": 1, "id_only": 0, "failed": 0, "uncited": 0}
    assert set(outcome.conversations) == {LEAD, PODS, LOGS, END}
    by_name = {row.agent_name: row for row in rows}
    assert [(row.agent_name, row.dispatched_by, row.task, row.status) for row in rows if row.parent_execution_id == by_name["Lead"].id] == [
        ("PodAgent", "A1", "Which pods restart?", RunStatus.COMPLETED),
        ("LogAgent", "A2", "What do they say?", RunStatus.COMPLETED),
    ]


async def test_a_sub_agent_sees_the_alert_and_its_task_and_nothing_of_the_conversation_of_its_sender(database_url: str) -> None:
    outcome = (await TWO.play(database_url)).outcome
    assert outcome is not None
    system, user = (message["content"] for message in outcome.conversations[LOGS][:2])
    assert "> What do they say?" in user
    assert "CPU is at 100 % on node-1" in user
    assert "Which pods restart?" not in user
    assert "# Your report" in system
    assert "```verdict" not in system
    assert "Agents that you can send" not in system, "a sub-agent sends none"


async def test_an_agent_is_informed_of_those_it_can_send(database_url: str) -> None:
    outcome = outcome_of(await TWO.play(database_url))
    assert "- LogAgent: What LogAgent is for (tools: k8s)" in outcome.conversations[LEAD][0]["content"]


async def test_a_recorded_tree_of_executions_replays_exactly(database_url: str) -> None:
    assert await replayed(database_url, await TWO.play(database_url)) == []


def one_sent(*answered: Any, tools: Any = (), ends: str = "Unknown.", config: ResolvedAgentConfig | None = None, **more: Any) -> Scenario:
    """A lead that sends one agent, gets its report, and ends. What came of it is not judged: a pool that runs would do that before it is stopped."""
    turns = [says(PODS, turn, *(each if isinstance(each, tuple) else (each,))) for turn, each in enumerate(answered)]
    asked = says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?"))
    return Scenario(
        chain(stage(config or lead()), scoring=None), [asked, *turns, says(LEAD, 1, ends), says(END, 0, "Done.")], tools, **more
    )


async def test_a_sub_agent_that_fails_is_an_observation_and_not_the_end(database_url: str) -> None:
    outcome = outcome_of(await one_sent(calls("p", "k8s.pods"), fails("credentials", "401"), tools=[POD]).play(database_url))
    assert outcome.status == "completed"
    (received,) = reports(outcome)
    assert received.startswith("[A1] tarsy.run_agent(name=PodAgent, task=Which pods restart?) at ")
    assert "PodAgent failed: " in received
    assert "[A1.1] k8s.pods()" in received, "what it saw before can be read and cited"


async def test_an_agent_that_may_not_be_sent_is_refused_with_those_that_may(database_url: str) -> None:
    outcome = outcome_of(
        await Scenario(
            chain(stage(lead())),
            [
                says(LEAD, 0, sends("a", "PodAgnt", "Look."), sends("b", "Lead", "Look."), sends("c", "LogAgent", " ")),
                says(LEAD, 1, sends("d", "LogAgent", "Look.", context_ids=["A9"])),
                says(LEAD, 2, "Unknown."),
                says(END, 0, "Done."),
            ],
        ).play(database_url)
    )
    received = [content.partition("Error: ")[2] for content in reports(outcome)]
    assert received[0].startswith('There is no agent "PodAgnt" to send; did you mean "PodAgent"')
    assert received[1].startswith('There is no agent "Lead" to send; ')
    assert received[2].startswith("The agent was not sent: its task is empty.")
    assert received[3].startswith("The agent was not sent: there is no result A9 to hand over.")
    assert set(outcome.conversations) == {LEAD}


async def test_results_that_are_handed_over_can_be_read_and_cited_by_the_agent_that_gets_them(database_url: str) -> None:
    after = f"{LEAD}/2.LogAgent"
    outcome = outcome_of(
        await Scenario(
            chain(stage(lead(mcp_servers=("k8s",)))),
            [
                says(LEAD, 0, calls("p", "k8s.pods")),
                says(LEAD, 1, sends("a", "LogAgent", "Why?", context_ids=["A1", "ALERT"])),
                says(after, 0, calls("r", "tarsy.read_result", id="A1")),
                says(after, 1, 'It loops [A1: "web-1 CrashLoopBackOff"].'),
                says(LEAD, 2, "Unknown."),
                says(END, 0, "Done."),
            ],
            [answers(LEAD, "p", "k8s.pods", "web-1 CrashLoopBackOff")],
        ).play(database_url)
    )
    assert "[A1] k8s.pods()" in outcome.conversations[after][1]["content"]
    assert "web-1 CrashLoopBackOff" in reports(outcome, after)[0]
    concluded = next(event for event in outcome.timeline if event["track"] == after and event["event_type"] == "final_analysis")
    assert concluded["metadata"]["citations"] == {"cited": 1, "verified": 1, "id_only": 0, "failed": 0, "uncited": 0}


async def test_the_words_of_a_sub_agent_are_no_evidence(database_url: str) -> None:
    answered = 'web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].'
    laundered = f'It restarts [A1: "web-1 CrashLoopBackOff"].\n{VERDICT}'
    outcome = outcome_of(await one_sent(calls("p", "k8s.pods"), answered, tools=[POD], ends=laundered).play(database_url))
    assert outcome.citations is not None
    assert (outcome.citations["verified"], outcome.citations["failed"]) == (0, 1)


async def test_the_report_of_an_agent_is_no_evidence_for_another_that_it_is_handed_to(database_url: str) -> None:
    laundered = 'It burns [A2.1: "web-1 burns brightly"] [A1: "web-1 burns brightly"].'
    outcome = outcome_of(
        await Scenario(
            chain(stage(lead())),
            [
                says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?")),
                says(PODS, 0, calls("p", "k8s.pods")),
                says(PODS, 1, 'web-1 burns brightly [A1.1: "web-1 CrashLoopBackOff"].'),
                says(LEAD, 1, sends("b", "LogAgent", "Why?", context_ids=["A1"])),
                says(LOGS, 0, calls("r", "tarsy.read_result", id="A1")),
                says(LOGS, 1, laundered),
                says(LEAD, 2, "Unknown."),
                says(END, 0, "Done."),
            ],
            [POD],
        ).play(database_url)
    )
    assert "web-1 burns brightly" in reports(outcome, LOGS)[0]
    concluded = next(event for event in outcome.timeline if event["track"] == LOGS and event["event_type"] == "final_analysis")
    assert (concluded["metadata"]["citations"]["verified"], concluded["metadata"]["citations"]["failed"]) == (0, 2)


class AnsweredAtOnce(TarsyClient):
    def __init__(self, http: httpx.AsyncClient, running: Application) -> None:
        super().__init__(http)
        self._running = running

    async def ask_question(self, session_id: str, content: str) -> dict[str, Any]:
        asked = await super().ask_question(session_id, content)
        await self._running.pool.run_waiting(CHAT_ANSWER)
        return asked


@pytest.mark.parametrize("ends", ["It loops.", fails("credentials", "401")], ids=["that answers", "that fails"])
async def test_the_answer_to_a_question_is_that_of_the_agent_that_was_asked(database_url: str, ends: Any) -> None:
    asked = "2.chat/1.ChatAgent"
    sent = f"{asked}/1.PodAgent"
    made = chain(stage(agent()), chat=agent("ChatAgent", sub_agents=(sub_agent("PodAgent"),)), scoring=None)
    scenario = Scenario(
        made,
        [
            says("0.look/1.Investigator", 0, "The disk is full."),
            says(END, 0, "Done."),
            says(asked, 0, sends("a", "PodAgent", "Which pods restart?")),
            *(says(sent, turn, thinks("Hm."), calls(f"p{turn}", "k8s.pods")) for turn in range(3)),
            says(sent, 3, 'A report [Q1.1.1: "web-1 CrashLoopBackOff"].'),
            says(asked, 1, ends),
        ],
        [answers(sent, f"p{turn}", "k8s.pods", "web-1 CrashLoopBackOff") for turn in range(3)],
    )
    async with scenario.running(database_url) as running, serving(running.services) as api:
        await running.pool.run_waiting(INVESTIGATION)
        written = io.StringIO()
        client = AnsweredAtOnce(api.client, running)
        with anyio.fail_after(30):
            await answer_question(client, SESSION_ID, "Is it well?", Console(file=written, width=200))
        questions = await running.services.repositories.chats.list(SESSION_ID)
        question = {"message_id": questions[0].id, "session_id": SESSION_ID}
        async with running.engine.connect() as connection:
            event = await read_event(connection, EventKind.ANSWERED, question, dashboard_url=None)
        report = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}/report", params={"format": "md"})).text
    expected = ends if isinstance(ends, str) else ""
    assert event is not None
    assert event.answer == expected
    shown = (report.partition("Is it well?")[2], written.getvalue())
    assert [("A report" in one, "It loops." in one) for one in shown] == [(False, bool(expected))] * 2


async def test_a_task_with_a_secret_is_stored_and_delivered_masked(database_url: str) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    asked = says(LEAD, 0, sends("a", "PodAgent", f"Who uses aws_access_key_id={secret}?"))
    scenario = Scenario(chain(stage(lead())), [asked, says(PODS, 0, "No pod."), says(LEAD, 1, "Unknown."), says(END, 0, "Done.")])
    async with scenario.running(database_url) as running:
        outcome = await investigated(running)
        (_, child, *_) = await executions(running)
    assert child.task is not None
    assert child.task.startswith("Who uses ")
    assert secret not in child.task
    assert secret not in str(outcome.conversations)


HOSTILE = (
    "secrets.read",
    "secrets__read",
    "k8s.delete",
    "K8S.pods",
    " k8s.pods",
    "k8s.pods\n",
    "k8s..pods",
    "k8s.pods/../../secrets.read",
    "tarsy.run_agent",
    "tarsy__run_agent",
    "tarsy.recent_changes",
    "pods",
    "",
    "k8s.\u0440ods",
)


@dataclass
class Doors:
    """Tool servers that note which agent opened them, and what was called."""

    opened: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    called: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @asynccontextmanager
    async def open(self, config: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], **_: object) -> AsyncGenerator["_Door"]:
        self.opened[config.agent_name] = tuple(servers)
        yield _Door(self, config.agent_name, tuple(servers))


@dataclass
class _Door:
    doors: Doors
    agent: str
    servers: tuple[str, ...]

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog(tuple(ToolDefinition(f"{name}.pods", "List pods.", {"type": "object"}, read_only=True) for name in self.servers))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        self.doors.called.append((self.agent, call.name))
        return ToolResult(call=call, content="Running", started_at=datetime.now(UTC))


@pytest.mark.parametrize("call_format", ToolCalling)
async def test_a_sub_agent_never_uses_a_tool_that_its_own_definition_does_not_give_it(database_url: str, call_format: ToolCalling) -> None:
    doors = Doors()
    wanted = [name for name in HOSTILE if call_format is ToolCalling.NATIVE or name.strip()]
    answered = [
        calls(f"h{place}", name) if call_format is ToolCalling.NATIVE else f"Action: {name}\nAction Input: {{}}"
        for place, name in enumerate(wanted)
    ]
    child = sub_agent("PodAgent", tool_calling=call_format, max_iterations=len(wanted) + 3)
    top = lead(child, sub_agent("LogAgent"), mcp_servers=("secrets",))
    scenario = one_sent(*answered, "No." if call_format is ToolCalling.NATIVE else "Final Answer: No.", config=top, servers=doors)
    secrets = scenario.chain.mcp_servers["k8s"].model_copy(update={"name": "secrets"})
    with_secrets = scenario.chain.model_copy(update={"mcp_servers": {**scenario.chain.mcp_servers, "secrets": secrets}})
    await replace(scenario, chain=with_secrets).play(database_url)
    assert doors.opened["PodAgent"] == ("k8s",)
    assert {name for agent_name, name in doors.called if agent_name == "PodAgent"} <= {"k8s.pods"}


async def test_a_sub_agent_that_takes_too_long_is_stopped_and_its_sender_goes_on(database_url: str) -> None:
    settings = ResolvedOrchestrator(agent_timeout=0.05)
    tools = StuckTools()
    async with one_sent(calls("p", "k8s.pods"), config=lead(orchestrator=settings), servers=tools).running(database_url) as running:
        outcome = await investigated(running)
        recording = await read_back(running)
        (_, child, *_) = await executions(running)
    assert tools.started.is_set() == tools.stopped.is_set()
    assert (child.status, child.error_message) == (RunStatus.TIMED_OUT, "it did not end within 0.05 s")
    assert outcome.status == "completed"
    assert "PodAgent ran out of time: it did not end within 0.05 s." in reports(outcome)[0]
    assert await replayed(database_url, recording) == [], "it is cut short where it was, without a clock"


async def test_a_sub_agent_outlasts_the_limits_of_a_turn_and_of_a_tool_call(database_url: str) -> None:
    # A turn is long enough for the model's own calls, also on a busy machine.
    settings = ResolvedOrchestrator(agent_timeout=9.0)
    config = lead(orchestrator=settings, iteration_timeout=5.0, tool_call_timeout=5.0, llm_call_timeout=60.0)
    outcome = outcome_of(await one_sent(calls("p", "k8s.pods"), config=config, servers=StuckTools()).play(database_url))
    assert "PodAgent ran out of time: it did not end within 9 s." in reports(outcome)[0]


async def test_all_agents_together_have_one_time_and_those_sent_after_it_are_not_begun(database_url: str) -> None:
    settings = ResolvedOrchestrator(agent_timeout=60.0, max_budget=0.05)
    second = f"{LEAD}/2.LogAgent"
    scenario = Scenario(
        chain(stage(lead(orchestrator=settings))),
        [
            says(LEAD, 0, sends("a", "PodAgent", "Which pods restart?")),
            says(PODS, 0, calls("p", "k8s.pods")),
            says(LEAD, 1, sends("b", "LogAgent", "What do they say?")),
            says(LEAD, 2, "Unknown."),
            says(END, 0, "Done."),
        ],
        servers=StuckTools(),
    )
    async with scenario.running(database_url) as running:
        outcome = await investigated(running)
        recording = await read_back(running)
        ended = [one.status for one in await executions(running) if one.parent_execution_id]
    assert (outcome.status, ended) == ("completed", [RunStatus.TIMED_OUT] * 2)
    for received in reports(outcome):
        assert "ran out of time: the time for all agents that were sent, 0.05 s, was used up" in received
    assert second not in outcome.conversations
    assert await replayed(database_url, recording) == []


async def test_cancelling_a_session_stops_the_agents_that_were_sent(database_url: str) -> None:
    tools = StuckTools()
    outcome: RecordedOutcome | None = None
    ended: dict[str, RunStatus] = {}
    async with one_sent(calls("p", "k8s.pods"), servers=tools).running(database_url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await tools.started.wait()
        await running.services.repositories.sessions.request_cancel(SESSION_ID, actor="tester")
        await until_ended(running)
        running.pool.stop_now()
        ended = {one.agent_name: one.status for one in await executions(running)}
        outcome = outcome_of(await read_back(running))
    assert tools.stopped.is_set()
    assert outcome is not None
    assert ended == {"Lead": RunStatus.CANCELLED, "PodAgent": RunStatus.CANCELLED}
    assert kinds(outcome, PODS) == [("llm_tool_call", "completed"), ("tool_result", "cancelled")]


async def test_one_sub_agent_can_be_cancelled_alone_and_its_sender_is_notified(database_url: str) -> None:
    tools = StuckTools()
    recording: Recording | None = None
    async with one_sent(calls("p", "k8s.pods"), servers=tools).running(database_url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await tools.started.wait()
        child = next(one for one in await executions(running) if one.parent_execution_id)
        await running.services.repositories.sessions.request_execution_cancel(SESSION_ID, child.id, actor="tester")
        await until_ended(running)
        running.pool.stop_now()
        recording = await read_back(running)
    assert recording is not None
    outcome = outcome_of(recording)
    assert outcome.status == "completed"
    assert "PodAgent was stopped by a person" in reports(outcome)[0]
    assert await replayed(database_url, recording) == []


async def until_ended(running: Application) -> None:
    """Wait for another task to end the session; the test's own time limit bounds it."""
    while True:
        if (await running.services.repositories.sessions.get(SESSION_ID)).status.is_final:
            return
        await anyio.sleep(0.1)


async def test_the_answer_to_a_question_can_send_agents_too(database_url: str) -> None:
    chat, child = "2.chat/1.ChatAgent", "2.chat/1.ChatAgent/1.LogAgent"
    scenario = Scenario(
        chain(stage(agent()), scoring=None, chat=agent("ChatAgent", sub_agents=(sub_agent("LogAgent"),))),
        [
            says("0.look/1.Investigator", 0, "Disk."),
            says(END, 0, "Disk."),
            says(chat, 0, sends("a", "LogAgent", "What does it say?")),
            says(child, 0, calls("l", "k8s.logs")),
            says(child, 1, 'Full [Q1.1.1: "No space left on device"].'),
            says(chat, 1, 'It is full [Q1.1.1: "No space left on device"].'),
        ],
        [answers(child, "l", "k8s.logs", "No space left on device")],
        questions=("Is it full?",),
    )
    outcome = outcome_of(await scenario.play(database_url))
    answer = next(event for event in outcome.timeline if event["track"] == chat and event["event_type"] == "final_analysis")
    assert answer["metadata"]["citations"] == {"cited": 1, "verified": 1, "id_only": 0, "failed": 0, "uncited": 0}


class Meeting:
    """Tools whose calls come back only when `size` agents are in one at the same time, turn after turn."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.most = 0
        # Agents that have it open.
        self.open_now = 0
        self._here = 0
        self._next = anyio.Event()

    @asynccontextmanager
    async def open(self, *_: object, **__: object) -> AsyncGenerator["Meeting"]:
        self.open_now += 1
        try:
            yield self
        finally:
            self.open_now -= 1

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods.", {"type": "object"}, read_only=True),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        self._here += 1
        self.most = max(self.most, self._here)
        if self._here == self.size:
            self._next.set()
            self._here, self._next = 0, anyio.Event()
        else:
            with anyio.fail_after(60):
                await self._next.wait()
        return ToolResult(call=call, content="Running", started_at=datetime.now(UTC))


def _meeting(count: int, turns: int, config: ResolvedAgentConfig, servers: Any) -> Scenario:
    tracks = [f"{LEAD}/{place}.PodAgent" for place in range(1, count + 1)]
    answered = [says(track, turn, calls(f"p{turn}", "k8s.pods", n=turn)) for track in tracks for turn in range(turns - 1)]
    answered += [says(track, turns - 1, 'All run [ALERT: "CPU is at 100 %"].') for track in tracks]
    asked = says(LEAD, 0, *(sends(f"a{place}", "PodAgent", f"Look at part {place}.") for place in range(count)))
    return Scenario(chain(stage(config)), [asked, *answered, says(LEAD, 1, "Unknown."), says(END, 0, "Done.")], servers=servers)


async def until_idle(running: Application) -> None:
    """Wait until no connection is in use: what runs beside the workers may use one for a moment."""
    while True:
        if pool_use(running.engine)[0] == 0:
            return
        await anyio.sleep(0.02)


def agents_in_memory() -> list[object]:
    """The agents that this process holds, without those that were frozen."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) in {Run, Recorder, SubAgents}]


async def test_five_sub_agents_of_six_turns_overlap_fully(database_url: str) -> None:
    tools = Meeting(5)
    config = lead(sub_agent("PodAgent", max_iterations=10))
    # What other tests have left is not looked at.
    gc.freeze()
    async with _meeting(5, 6, config, tools).running(database_url) as running:
        outcome = await investigated(running)
        await until_idle(running)
    assert outcome.status == "completed"
    assert tools.most == 5, "every turn of each met the same turn of all the others"
    assert all("PodAgent reports:" in received for received in reports(outcome))
    assert tools.open_now == 0, "no connection is left open"
    assert agents_in_memory() == [], "and no agent is left in memory"


async def test_no_more_agents_are_out_at_once_than_may_be(database_url: str) -> None:
    tools = Meeting(2)
    config = lead(sub_agent("PodAgent"), orchestrator=ResolvedOrchestrator(max_concurrent_agents=2))
    outcome = outcome_of(await _meeting(4, 3, config, tools).play(database_url))
    assert outcome.status == "completed"
    assert tools.most == 2
    assert len(reports(outcome)) == 4
