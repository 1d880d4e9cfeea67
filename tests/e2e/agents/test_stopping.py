"""Cancelling: in the middle of an answer, in the middle of a tool, of one agent among several, and of the answer to a question."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import anyio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, calls, chain, conversation, kinds, read_back, says, stage, thinks
from support.stuck_tools import FOR_EVER, StuckTools
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import Recording
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.tool import ToolResult
from tarsy.wiring.application import Application

TRACK = "0.look/1.Investigator"


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something another task brings about; the test's own time limit bounds it."""
    while True:
        if await condition():
            return
        await anyio.sleep(0.1)


async def _until_shown(running: Application, event_type: str) -> None:
    async def shown() -> bool:
        timeline = await running.services.repositories.timeline.read(SESSION_ID)
        return any(event.event_type == event_type for event in timeline.events)

    await _until(shown)


async def _until_ended(running: Application) -> Recording:
    async def ended() -> bool:
        return (await running.services.repositories.sessions.get(SESSION_ID)).status.is_final

    await _until(ended)
    running.pool.stop_now()
    return await read_back(running)


async def _cancelled(running: Application) -> Recording:
    await running.services.repositories.sessions.request_cancel(SESSION_ID, actor="tester")
    return await _until_ended(running)


async def test_cancelling_in_the_middle_of_an_answer_keeps_what_was_written(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())), [says(TRACK, 0, thinks("I think"), {"text": "never said", "after": FOR_EVER})], replay_speed=1.0
    )
    recording: Recording | None = None
    async with scenario.running(database_url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await _until_shown(running, "llm_thinking")
        recording = await _cancelled(running)
    assert recording is not None
    assert recording.outcome is not None
    assert recording.outcome.status == "cancelled"
    assert kinds(recording.outcome, TRACK) == [("llm_thinking", "cancelled")]
    assert conversation(recording.outcome, TRACK) == [], "an answer that was cut off is no part of the conversation"
    assert "I think".startswith(recording.outcome.timeline[0]["content"].strip())
    assert recording.outcome.timeline[0]["content"].startswith("I")


async def test_cancelling_in_the_middle_of_a_tool_stops_the_tool(database_url: str) -> None:
    tools = StuckTools()
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, calls("a", "k8s.pods"))], servers=tools)
    recording: Recording | None = None
    async with scenario.running(database_url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await tools.started.wait()
        recording = await _cancelled(running)
        await tools.stopped.wait()
    assert recording is not None
    assert recording.outcome is not None
    assert recording.outcome.status == "cancelled"
    assert kinds(recording.outcome, TRACK) == [("llm_tool_call", "completed"), ("tool_result", "cancelled")]
    assert recording.outcome.timeline[1]["content"] == "half of "
    assert conversation(recording.outcome, TRACK) == [("assistant", "")], "the call is stored, its result never came"


class UnheardTools(StuckTools):
    """Tools during whose only call somebody cancels the session, and the word of it is lost."""

    engine: AsyncEngine

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        async with self.engine.begin() as connection:
            await connection.execute(sa.text("UPDATE work SET cancel_requested = true"))
            await connection.execute(sa.text("UPDATE alert_sessions SET status = 'cancelling'"))
        return ToolResult(call=call, content="web-1 Evicted", started_at=datetime.now(UTC))


async def test_a_session_cancelled_in_its_last_moment_keeps_its_analysis_and_is_not_judged(database_url: str) -> None:
    tools = UnheardTools()
    scenario = Scenario(
        chain(stage(agent())),
        [says(TRACK, 0, calls("a", "k8s.pods")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
        servers=tools,
    )
    async with scenario.running(database_url) as running:
        tools.engine = running.engine
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        score = await running.services.repositories.scores.latest(SESSION_ID)
    assert (session.status, session.final_analysis) == (SessionStatus.CANCELLED, "It is the disk.")
    assert score is None


async def test_one_agent_can_be_cancelled_alone(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent("Left"), agent("Right"), name="two")),
        [
            says("0.two/1.Left", 0, thinks("I think"), {"text": "never said", "after": FOR_EVER}),
            says("0.two/2.Right", 0, "It is the disk."),
            says("1.two synthesis/1.SynthesisAgent", 0, "The disk."),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
        replay_speed=1.0,
    )
    recording: Recording | None = None
    async with scenario.running(database_url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await _until_shown(running, "llm_thinking")
        run = await running.services.repositories.interactions.run(SESSION_ID)
        left = next(execution for execution in run.executions if execution.agent_name == "Left")
        await running.services.repositories.sessions.request_execution_cancel(SESSION_ID, left.id, actor="tester")
        recording = await _until_ended(running)
    assert recording is not None
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert recording.outcome.final_analysis == "The disk."
    assert kinds(recording.outcome, "0.two/1.Left") == [("llm_thinking", "cancelled")]
    assert kinds(recording.outcome, "0.two/2.Right") == [("final_analysis", "completed")]
    assert conversation(recording.outcome, "0.two/1.Left") == []
    assert conversation(recording.outcome, "0.two/2.Right") == [("assistant", "It is the disk.")]


async def test_an_answer_to_a_question_can_be_cancelled_and_the_next_one_asked(database_url: str) -> None:
    first, second = "2.chat/1.ChatAgent", "3.chat/1.ChatAgent"
    scenario = Scenario(
        chain(stage(agent()), scoring=None),
        [
            says(TRACK, 0, "Disk."),
            says(f"1.{SUMMARY}", 0, "Disk."),
            says(first, 0, thinks("Hm,"), {"text": "never said", "after": FOR_EVER}),
            says(second, 0, "Logs."),
        ],
        replay_speed=1.0,
    )
    recording: Recording | None = None
    statuses: list[RunStatus] = []
    async with scenario.running(database_url) as running, anyio.create_task_group() as tasks:
        chats, sessions = running.services.repositories.chats, running.services.repositories.sessions

        async def investigated() -> bool:
            return (await sessions.get(SESSION_ID)).status.is_final

        async def answered() -> bool:
            return all(question.status.is_final for question in await chats.list(SESSION_ID))

        tasks.start_soon(running.pool.run)
        await _until(investigated)
        question = await chats.ask(SESSION_ID, "Why?", author="tester")
        await _until_shown(running, "llm_thinking")
        await chats.request_cancel(SESSION_ID, question.id, actor="tester")
        await _until(answered)
        await chats.ask(SESSION_ID, "Why, then?", author="tester")
        await _until(answered)
        statuses = [question.status for question in await chats.list(SESSION_ID)]
        running.pool.stop_now()
        recording = await read_back(running)
    assert statuses == [RunStatus.CANCELLED, RunStatus.COMPLETED]
    assert recording is not None
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert kinds(recording.outcome, first) == [("user_question", "completed"), ("llm_thinking", "cancelled")]
    assert kinds(recording.outcome, second) == [("user_question", "completed"), ("final_analysis", "completed")]
    assert conversation(recording.outcome, second) == [("assistant", "Logs.")]
