"""What happens after an investigation: questions and judgement."""

from support.agent_scenario import (
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    agrees_with_golden,
    answers,
    calls,
    chain,
    fails,
    kinds,
    read_back,
    says,
    stage,
)
from tarsy.domain.claim import INVESTIGATION, SCORING
from tarsy.domain.status import RunStatus

TRACK = "0.look/1.Investigator"
INVESTIGATED = (says(TRACK, 0, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk."))


async def test_a_chat_answers_with_tools_and_remembers_earlier_messages(database_url: str) -> None:
    first, second = "2.chat/1.ChatAgent", "3.chat/1.ChatAgent"
    scenario = Scenario(
        chain(stage(agent())),
        [
            *INVESTIGATED,
            says(first, 0, calls("q", "k8s.logs", pod="web-1")),
            says(first, 1, "Because of old logs."),
            says(second, 0, "As I said: old logs."),
        ],
        [answers(first, "q", "k8s.logs", "No space left on device")],
        questions=("Why is it full?", "Are you sure?"),
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "chat")
    assert recording.outcome is not None
    assert [kind for kind, _ in kinds(recording.outcome, first)] == ["user_question", "llm_tool_call", "tool_result", "final_analysis"]
    asked = recording.outcome.conversations[second][1]["content"]
    assert "It is the disk." in asked
    assert "Because of old logs." in asked
    assert recording.outcome.final_analysis == "It is the disk.", "an answer is not the session's analysis"


async def test_a_finished_session_is_judged(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [*INVESTIGATED, says("2.scoring/1.ScoringAgent", 0, "## Analysis\nThorough.\n\n## Missing tools\nDisk usage.\n\nSCORE: 83")],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        await running.pool.run_waiting(SCORING)
        score = await running.services.repositories.scores.latest(SESSION_ID)
        agrees_with_golden(await read_back(running), "scoring")
    assert score is not None
    assert (score.status, score.total_score, score.analysis, score.missing_tools) == (RunStatus.COMPLETED, 83, "Thorough.", "Disk usage.")


async def test_a_judge_without_a_score_fails_and_leaves_the_session_alone(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [*INVESTIGATED, says("2.scoring/1.ScoringAgent", 0, "Very good!")])
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        await running.pool.run_waiting(SCORING)
        score = await running.services.repositories.scores.latest(SESSION_ID)
        run = await running.services.repositories.interactions.run(SESSION_ID)
        recording = await read_back(running)
    assert score is not None
    assert (score.status, score.total_score) == (RunStatus.FAILED, None)
    assert "the judge's answer holds no score" in (score.error_message or "")
    judging = run.stages[-1]
    (judge,) = [execution for execution in run.executions if execution.stage_id == judging.id]
    assert (judging.status, judge.status, judge.error_message) == (RunStatus.FAILED, RunStatus.FAILED, score.error_message)
    assert recording.outcome is not None
    assert kinds(recording.outcome, "2.scoring/1.ScoringAgent") == [("final_analysis", "failed"), ("error", "failed")]
    assert recording.outcome.status == "completed"


async def test_an_answer_that_fails_leaves_the_chat_open_for_the_next_question(database_url: str) -> None:
    first, second = "2.chat/1.ChatAgent", "3.chat/1.ChatAgent"
    scenario = Scenario(
        chain(stage(agent())),
        [*INVESTIGATED, says(first, 0, fails("credentials", "401")), says(second, 0, "Old logs.")],
        questions=("Why?", "Why?"),
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert kinds(recording.outcome, first)[-1] == ("error", "failed")
    assert kinds(recording.outcome, second)[-1] == ("final_analysis", "completed")
