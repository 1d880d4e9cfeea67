"""Models and tools that fail: what is stored of it, and how the agent goes on or ends."""

import pytest

from support.agent_scenario import (
    OTHER,
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    agrees_with_golden,
    answers,
    calls,
    chain,
    fails,
    fallback,
    kinds,
    read_back,
    says,
    stage,
    thinks,
)
from tarsy.db.run.journal import PostgresJournal
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.recording import RecordedTool
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"


async def test_two_timeouts_in_a_row_are_waited_out(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, thinks("Let me"), fails("timeout", retryable=True)),
            says(TRACK, 1, fails("stalled", "the stream stalled", retryable=True)),
            says(TRACK, 2, "It is the disk."),
            says(END, 0, "Disk."),
        ],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "two_timeouts")
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert kinds(recording.outcome, TRACK) == [
        ("llm_thinking", "timed_out"),
        ("error", "failed"),
        ("error", "failed"),
        ("final_analysis", "completed"),
    ]
    assert len(recording.calls) == 4, "failed calls are recorded too"


async def test_timeouts_of_tools_count_like_those_of_the_model(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [says(TRACK, turn, calls(f"c{turn}", "k8s.pods", turn=turn)) for turn in range(2)],
        [answers(TRACK, f"c{turn}", "k8s.pods", "no answer within 60 s", is_error=True, is_timeout=True) for turn in range(2)],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        (execution,) = (await running.services.repositories.interactions.run(SESSION_ID)).executions
        stored = await PostgresJournal(running.engine, lambda _: None).load(execution.id)
        recording = await read_back(running)
    assert stored.timed_out_tools == {"c0", "c1"}, "whoever continues knows of them"
    agrees_with_golden(recording, "tool_timeouts")
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert [status for kind, status in kinds(recording.outcome, TRACK) if kind == "tool_result"] == ["timed_out", "timed_out"]


async def test_an_error_is_reported_to_the_model_and_the_loop_goes_on(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, fails("provider_unavailable", "503 overloaded", retryable=True)),
            says(TRACK, 1, "It is the disk."),
            says(END, 0, "Disk."),
        ],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "error_then_answer")
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert "503 overloaded" in recording.outcome.conversations[TRACK][2]["content"], "told to the model"
    assert kinds(recording.outcome, TRACK)[0] == ("error", "failed"), "shown"
    failed = recording.calls[0].chunks[0].error
    assert failed is not None
    assert failed.message == "503 overloaded", "recorded"


async def test_the_last_iteration_forces_a_conclusion(database_url: str) -> None:
    for speaking in (ToolCalling.NATIVE,):
        scenario = Scenario(
            chain(stage(agent(max_iterations=1, tool_calling=speaking))),
            [says(TRACK, 0, calls("a", "k8s.pods")), says(TRACK, 1, "As far as I could see: the disk."), says(END, 0, "Disk.")],
            [answers(TRACK, "a", "k8s.pods", "web-1 Evicted")],
        )
        recording = await scenario.play(database_url)
        agrees_with_golden(recording, "forced_conclusion")
        assert recording.outcome is not None
        final = next(event for event in recording.outcome.timeline if event["event_type"] == "final_analysis")
        reported = {name: final["metadata"][name] for name in ("forced_conclusion", "iterations_used", "max_iterations")}
        assert reported == {"forced_conclusion": True, "iterations_used": 1, "max_iterations": 1}


async def test_the_last_iteration_of_a_react_agent_forces_a_conclusion_in_any_form(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1, tool_calling=ToolCalling.REACT))),
        [
            says(TRACK, 0, "Thought: Look.\nAction: k8s.pods\nAction Input: {}"),
            says(TRACK, 1, "As far as I could see: the disk."),
            says(END, 0, "Disk."),
        ],
        [answers(TRACK, "react-3", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "forced_conclusion_react")
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "As far as I could see: the disk."


async def test_a_last_iteration_that_failed_is_a_failure_not_a_conclusion(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent(max_iterations=1))), [says(TRACK, 0, fails("empty_response", "nothing came", retryable=True))])
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "last_iteration_failed")
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"


@pytest.mark.parametrize(
    ("asked", "result"),
    [("k8s.pods", answers(TRACK, "a", "k8s.pods", "no such namespace", is_error=True)), ("k8s.podz", None)],
    ids=["a tool's own error", "an unknown tool"],
)
async def test_a_last_iteration_whose_tool_failed_still_leads_to_a_conclusion(
    database_url: str, asked: str, result: RecordedTool | None
) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1))),
        [says(TRACK, 0, calls("a", asked)), says(TRACK, 1, "The namespace is gone."), says(END, 0, "Gone.")],
        [result] if result else [],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert (recording.outcome.status, recording.outcome.final_analysis) == ("completed", "The namespace is gone.")


async def test_a_conclusion_that_fails_is_asked_of_the_next_model_and_then_a_failure(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1, fallback_providers=(fallback(OTHER),)))),
        [says(TRACK, 0, calls("a", "k8s.pods")), says(TRACK, 1, fails("rate_limited", "429")), says(TRACK, 2)],
        [answers(TRACK, "a", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "conclusion_failed")
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert [kind for kind, _ in kinds(recording.outcome, TRACK)] == ["llm_tool_call", "tool_result", "error", "provider_fallback", "error"]


async def test_a_model_that_is_turned_away_is_replaced_for_good(database_url: str) -> None:
    falling = agent(fallback_providers=(fallback(OTHER),))
    scenario = Scenario(
        chain(stage(falling)),
        [
            says(TRACK, 0, fails("credentials", "401: the key is wrong")),
            says(TRACK, 1, calls("a", "k8s.pods")),
            says(TRACK, 2, "It is the disk."),
            says(END, 0, "Disk."),
        ],
        [answers(TRACK, "a", "k8s.pods", "web-1 Evicted")],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        asked = [call.provider for call in (await running.services.repositories.interactions.trace(SESSION_ID)).llm]
        (execution,) = [
            one for one in (await running.services.repositories.interactions.run(SESSION_ID)).executions if one.agent_name == "Investigator"
        ]
        recording = await read_back(running)
    agrees_with_golden(recording, "provider_fallback")
    assert asked == ["recorded", "other", "other", "recorded"], "the summary is another execution"
    assert (execution.llm_provider, execution.model_name) == ("other", "model-2")
    assert recording.outcome is not None
    assert [kind for kind, _ in kinds(recording.outcome, TRACK)] == [
        "error",
        "provider_fallback",
        "llm_tool_call",
        "tool_result",
        "final_analysis",
    ]


async def test_without_a_fallback_a_wrong_key_ends_the_agent_at_once(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, fails("credentials", "401: the key is wrong"))])
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "wrong_key")
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert len(recording.calls) == 1


async def test_a_failing_executive_summary_does_not_fail_the_session(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, "It is the disk."), says(END, 0, fails("rate_limited", "429"))])
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        recording = await read_back(running)
    agrees_with_golden(recording, "summary_failed")
    assert "429" in (session.executive_summary_error or ""), "the error is kept"
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert recording.outcome.final_analysis == "It is the disk."
    assert recording.outcome.executive_summary is None


async def test_a_runbook_that_cannot_be_loaded_is_reported_and_the_default_is_used(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [says(TRACK, 0, "It is the disk."), says(END, 0, "Disk.")],
        runbook_url="https://elsewhere.example/runbook.md",
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "runbook_refused")
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    warning = recording.outcome.timeline[0]
    assert (warning["event_type"], warning["status"]) == ("warning", "completed")
    assert "elsewhere.example is not among the allowed domains" in warning["content"]
    assert "Look at the pods first." in recording.outcome.conversations[TRACK][1]["content"]
