"""Time limits of a call, an iteration and a session: each ends what it is for, and two in a row end the agent, or are waited out."""

from typing import Any

import pytest

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, calls, chain, conversation, kinds, read_back, says, stage, thinks
from support.stuck_tools import FOR_EVER, StuckTools
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.recording import RecordedCall
from tarsy.domain.status import RunStatus, SessionStatus

TRACK = "0.look/1.Investigator"
# Long enough for everything else that an iteration does, on a machine with other things to do.
LIMIT = 2.0


def _stuck_model(turn: int) -> RecordedCall:
    return says(TRACK, turn, {"text": "never said", "after": FOR_EVER})


def _stuck_tool(turn: int) -> RecordedCall:
    return says(TRACK, turn, calls(f"c{turn}", "k8s.pods", n=turn))


@pytest.mark.parametrize("limits", [{"llm_call_timeout": LIMIT}, {"iteration_timeout": LIMIT}], ids=["by call", "by iteration"])
async def test_two_limits_of_the_model_in_a_row_are_waited_out(database_url: str, limits: dict[str, Any]) -> None:
    turns = [_stuck_model(0), _stuck_model(1), says(TRACK, 2, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")]
    scenario = Scenario(chain(stage(agent(**limits))), turns, servers=StuckTools(), replay_speed=1.0)
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    first = recording.outcome.timeline[0]
    assert first["metadata"] == {"code": "timeout", "retryable": True, "count": 2}, "what the model does twice is one entry"
    assert first["content"].startswith("no model is available: recorded (model-1): the model did not finish within 2 s")


@pytest.mark.parametrize(
    ("turns", "limits"),
    [
        ([_stuck_tool(0), _stuck_tool(1)], {"iteration_timeout": LIMIT}),
        ([_stuck_model(0), _stuck_tool(1)], {"iteration_timeout": LIMIT}),
        ([_stuck_tool(0), _stuck_model(1)], {"iteration_timeout": LIMIT}),
    ],
    ids=["tools", "model and tool", "tool and model"],
)
async def test_two_limits_in_a_row_end_the_agent_when_a_tool_was_waited_for(
    database_url: str, turns: list[RecordedCall], limits: dict[str, Any]
) -> None:
    scenario = Scenario(chain(stage(agent(max_iterations=9, **limits))), turns, servers=StuckTools(), replay_speed=1.0)
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert len(recording.calls) == 2
    shown = kinds(recording.outcome, TRACK)
    ended = sum(kind in {("tool_result", "timed_out"), ("error", "failed")} for kind in shown)
    assert ended == 3, "two timeouts and the end"
    last = [event for event in recording.outcome.timeline if event["track"] == TRACK][-1]
    assert last["metadata"] == {"code": "gave_up"}
    assert last["content"].startswith("stopped after 2 timeouts in a row")
    assert all("did not" in content for role, content in conversation(recording.outcome, TRACK) if role != "assistant"), (
        "the model was told"
    )


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (says(TRACK, 0, thinks("Hm,"), {"text": "never said", "after": FOR_EVER}), [("llm_thinking", "timed_out")]),
        (_stuck_tool(0), [("llm_tool_call", "completed"), ("tool_result", "timed_out")]),
    ],
    ids=["in an answer", "in a tool"],
)
async def test_a_session_out_of_time_ends_with_everything_in_it(
    database_url: str, turn: RecordedCall, expected: list[tuple[str, str]]
) -> None:
    scenario = Scenario(chain(stage(agent()), session_timeout=2 * LIMIT), [turn], servers=StuckTools(), replay_speed=1.0)
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        run = await running.services.repositories.interactions.run(SESSION_ID)
        recording = await read_back(running)
    assert recording.outcome is not None
    assert recording.outcome.status == "timed_out"
    assert session.error_message == "the session did not end within 4 s"
    assert [execution.status for execution in run.executions] == [RunStatus.TIMED_OUT]
    assert [one.status for one in run.stages] == [RunStatus.TIMED_OUT]
    assert kinds(recording.outcome, TRACK) == expected


async def test_a_session_whose_time_runs_out_in_its_summary_is_complete_without_it(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent()), session_timeout=2 * LIMIT),
        [says(TRACK, 0, "Disk."), says(f"1.{SUMMARY}", 0, {"text": "never said", "after": FOR_EVER})],
        replay_speed=1.0,
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        run = await running.services.repositories.interactions.run(SESSION_ID)
        score = await running.services.repositories.scores.latest(SESSION_ID)
    assert (session.status, session.final_analysis, session.error_message) == (SessionStatus.COMPLETED, "Disk.", None)
    assert (session.error_message, session.executive_summary_error) == (None, "the session did not end within 4 s")
    assert [one.status for one in run.stages] == [RunStatus.COMPLETED, RunStatus.TIMED_OUT]
    assert [one.status for one in run.executions] == [RunStatus.COMPLETED, RunStatus.TIMED_OUT]
    assert score is not None, "it is judged like any other"
