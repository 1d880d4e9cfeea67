"""What an analysis is worth: one that was cut, is empty, was forced or rests on nothing is shown as what it is."""

import pytest

from support.agent_scenario import (
    OTHER,
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    answers,
    calls,
    chain,
    conversation,
    fails,
    fallback,
    kinds,
    read_back,
    says,
    stage,
    thinks,
)
from tarsy.agent.answer_text import CONTINUE
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.recording import RecordedOutcome
from tarsy.domain.session import AlertSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"
CUT = {"finish": "length"}
LOOKED = says(TRACK, 0, calls("a", "k8s.pods"))
POD = answers(TRACK, "a", "k8s.pods", "web-1 Evicted")


async def played(scenario: Scenario, database_url: str) -> tuple[AlertSession, RecordedOutcome]:
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        page = await running.services.repositories.sessions.list()
        recording = await read_back(running)
    assert recording.outcome is not None
    (listed,) = page.sessions
    assert (listed.analysis_is_partial, listed.analysis_partial_reason) == (session.analysis_is_partial, session.analysis_partial_reason)
    return session, recording.outcome


async def test_an_answer_cut_at_the_output_limit_is_continued_to_its_end(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [
            LOOKED,
            says(TRACK, 1, "It is the disk, which is fu", CUT),
            says(TRACK, 2, "disk, which is full of old logs."),
            says(END, 0, "Disk."),
        ],
        [POD],
    )
    session, outcome = await played(scenario, database_url)
    assert session.final_analysis == "It is the disk, which is full of old logs."
    assert (session.analysis_is_partial, session.analysis_partial_reason) == (False, None)
    assert conversation(outcome, TRACK)[2:] == [
        ("assistant", "It is the disk, which is fu"),
        ("user", CONTINUE),
        ("assistant", "disk, which is full of old logs."),
    ]
    assert kinds(outcome, TRACK)[2:] == [("final_analysis", "completed")], "one entry, in which it was written to its end"


async def test_a_react_answer_cut_at_the_output_limit_is_continued_too(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(tool_calling=ToolCalling.REACT))),
        [
            says(TRACK, 0, "Thought: Look.\nAction: k8s.pods\nAction Input: {}"),
            says(TRACK, 1, "Thought: Clear.\nFinal Answer: It is the", CUT),
            says(TRACK, 2, " disk."),
            says(END, 0, "Disk."),
        ],
        [answers(TRACK, "react-3", "k8s.pods", "web-1 Evicted")],
    )
    session, outcome = await played(scenario, database_url)
    assert (session.final_analysis, session.analysis_is_partial) == ("It is the disk.", False)
    assert kinds(outcome, TRACK)[-2:] == [("llm_thinking", "completed"), ("final_analysis", "completed")]


async def test_an_answer_that_never_comes_to_its_end_is_partial(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [LOOKED, *(says(TRACK, turn, f"Part {turn} of it. ", CUT) for turn in (1, 2, 3)), says(END, 0, "Parts.")],
        [POD],
    )
    session, outcome = await played(scenario, database_url)
    assert session.status is SessionStatus.COMPLETED
    assert (session.final_analysis or "").split(". ") == ["Part 1 of it", "Part 2 of it", "Part 3 of it."]
    assert session.analysis_is_partial
    assert "breaks off" in (session.analysis_partial_reason or "")
    assert "breaks off" in outcome.conversations[END][1]["content"], "the summary is told"


async def test_a_synthesis_cut_at_the_output_limit_is_continued(database_url: str) -> None:
    left, right, synthesis = "0.look/1.Left", "0.look/2.Right", "1.look synthesis/1.SynthesisAgent"
    scenario = Scenario(
        chain(stage(agent("Left"), agent("Right"))),
        [
            says(left, 0, calls("a", "k8s.pods")),
            says(left, 1, "It is the disk."),
            says(right, 0, "It is the network."),
            says(synthesis, 0, "Both agree: ", CUT),
            says(synthesis, 1, "the disk."),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
        [answers(left, "a", "k8s.pods", "web-1 Evicted")],
    )
    session, outcome = await played(scenario, database_url)
    assert (session.final_analysis, session.analysis_is_partial) == ("Both agree: the disk.", False)
    assert kinds(outcome, synthesis) == [("final_analysis", "completed")]


@pytest.mark.parametrize(
    ("answered", "reason"),
    [("Your complete final analysis. Your complete final analysis.", "repeated its instructions"), ("None.", "says nothing")],
)
async def test_a_conclusion_without_content_is_partial_and_not_summed_up(database_url: str, answered: str, reason: str) -> None:
    scenario = Scenario(chain(stage(agent(tool_calling=ToolCalling.REACT))), [says(TRACK, 0, f"Thought: Done.\nFinal Answer: {answered}")])
    session, outcome = await played(scenario, database_url)
    assert (session.status, session.analysis_is_partial) == (SessionStatus.COMPLETED, True)
    assert reason in (session.analysis_partial_reason or "")
    assert (session.executive_summary, session.executive_summary_error) == (None, None)
    assert END not in outcome.conversations


async def test_an_analysis_that_rests_on_no_tool_result_says_so(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, "It is the disk."), says(END, 0, "Disk.")])
    session, _ = await played(scenario, database_url)
    assert (session.analysis_is_partial, session.executive_summary) == (True, "Disk.")
    assert "no tool result" in (session.analysis_partial_reason or "")


async def test_an_agent_that_relies_on_what_an_earlier_stage_looked_up_needs_no_tool_of_its_own(database_url: str) -> None:
    second = "1.judge/1.Investigator"
    scenario = Scenario(
        chain(stage(agent()), stage(agent(), name="judge")),
        [LOOKED, says(TRACK, 1, "It is the disk."), says(second, 0, "Indeed, the disk."), says(f"2.{SUMMARY}", 0, "Disk.")],
        [POD],
    )
    session, _ = await played(scenario, database_url)
    assert (session.final_analysis, session.analysis_is_partial) == ("Indeed, the disk.", False)


async def test_an_agent_without_tools_is_not_blamed_for_using_none(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent(mcp_servers=()))), [says(TRACK, 0, "It is the disk."), says(END, 0, "Disk.")], catalog=())
    session, _ = await played(scenario, database_url)
    assert not session.analysis_is_partial


async def test_a_forced_conclusion_is_partial(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1))), [LOOKED, says(TRACK, 1, "As far as I see: the disk."), says(END, 0, "Disk.")], [POD]
    )
    session, _ = await played(scenario, database_url)
    assert session.analysis_is_partial
    assert "had to conclude" in (session.analysis_partial_reason or "")


@pytest.mark.parametrize("code", ["provider_unavailable", "rate_limited", "empty_response", "timeout", "credentials"])
async def test_models_that_fail_for_good_end_a_session_after_at_most_three_calls_each(database_url: str, code: str) -> None:
    final = code != "empty_response"
    failing = [says(TRACK, turn, fails(code, "HTTP 503: overloaded", retryable=not final)) for turn in range(20)]
    scenario = Scenario(chain(stage(agent(max_iterations=20, fallback_providers=(fallback(OTHER),)))), failing)
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        asked = [call.provider for call in (await running.services.repositories.interactions.trace(SESSION_ID)).llm]
        recording = await read_back(running)
    assert recording.outcome is not None
    assert session.status is SessionStatus.FAILED
    assert asked.count("recorded") <= 3
    assert 1 <= asked.count("other") <= 3
    error = session.error_message or ""
    assert "other (model-2)" in error
    assert "HTTP 503: overloaded" in error
    assert "fallback_providers" in error or "key" in error
    assert error.count(". ") == 0, "one sentence"
    errors = [event for event in recording.outcome.timeline if event["event_type"] == "error"]
    assert len(errors) == 2, "equal errors are one entry for each model"
    assert errors[-1]["metadata"].get("count", 1) == asked.count("other")


async def test_equal_errors_before_a_success_are_one_entry_with_a_count(database_url: str) -> None:
    failing = [says(TRACK, turn, fails("provider_unavailable", "503", retryable=True)) for turn in range(2)]
    scenario = Scenario(chain(stage(agent())), [*failing, says(TRACK, 2, "It is the disk."), says(END, 0, "Disk.")])
    _, outcome = await played(scenario, database_url)
    assert kinds(outcome, TRACK) == [("error", "failed"), ("final_analysis", "completed")]
    assert outcome.timeline[0]["content"] == "503 (2 times in a row)"
    assert outcome.timeline[0]["metadata"]["count"] == 2


async def test_an_error_that_is_called_final_ends_the_agent_at_once_whatever_its_code(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, fails("rate_limited", "the account is closed", retryable=False))])
    session, outcome = await played(scenario, database_url)
    assert session.status is SessionStatus.FAILED
    assert "the account is closed" in (session.error_message or "")
    assert kinds(outcome, TRACK) == [("error", "failed")]


async def test_a_synthesis_that_only_thought_is_asked_again_and_then_taken_at_its_thoughts(database_url: str) -> None:
    left, right, synthesis = "0.look/1.Left", "0.look/2.Right", "1.look synthesis/1.SynthesisAgent"
    silent = [thinks("The disk, both say."), fails("empty_response", "the answer was empty", retryable=True)]
    scenario = Scenario(
        chain(stage(agent("Left"), agent("Right"))),
        [
            says(left, 0, "It is the disk."),
            says(right, 0, "The disk."),
            says(synthesis, 0, *silent),
            says(synthesis, 1, *silent),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
    )
    session, _ = await played(scenario, database_url)
    assert (session.status, session.final_analysis) == (SessionStatus.COMPLETED, "The disk, both say.")


async def test_a_chain_without_an_executive_summary_ends_with_its_last_stage(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent()), executive_summary=None), [LOOKED, says(TRACK, 1, "It is the disk.")], [POD])
    session, outcome = await played(scenario, database_url)
    assert (session.status, session.final_analysis, session.executive_summary) == (SessionStatus.COMPLETED, "It is the disk.", None)
    assert list(outcome.conversations) == [TRACK]


async def test_what_native_tools_found_stands_before_the_answer_that_rests_on_it(database_url: str) -> None:
    searched = {"grounding": {"web_search_queries": ["disk full"], "sources": [{"uri": "https://a.example", "title": "A"}]}}
    computed = {"code_execution": {"code": "1 + 1", "result": "2"}}
    scenario = Scenario(
        chain(stage(agent(mcp_servers=()))), [says(TRACK, 0, "It is the disk.", computed, searched), says(END, 0, "Disk.")], catalog=()
    )
    session, outcome = await played(scenario, database_url)
    assert session.final_analysis == "It is the disk."
    assert [kind for kind, _ in kinds(outcome, TRACK)] == ["code_execution", "google_search_result", "final_analysis"]
    assert [event["content"] for event in outcome.timeline if event["track"] == TRACK][::2] == ["2", "It is the disk."]


async def test_a_long_alert_points_to_a_tool_only_where_there_is_one(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent("Left"), agent("Right"))),
        [
            says("0.look/1.Left", 0, "It is the disk."),
            says("0.look/2.Right", 0, "The disk."),
            says("1.look synthesis/1.SynthesisAgent", 0, "The disk."),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
        alert="CPU is at 100 %. " * 20_000,
    )
    _, outcome = await played(scenario, database_url)
    pointing = {track for track, answered in outcome.conversations.items() if "tarsy__read_result" in answered[1]["content"]}
    assert pointing == {"0.look/1.Left", "0.look/2.Right"}
