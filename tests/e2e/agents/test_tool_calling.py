"""Agents that use tools, in both ways of speaking of them."""

from typing import Any

import pytest

from support.agent_scenario import (
    SUMMARY,
    Scenario,
    agent,
    agrees_with_golden,
    answers,
    calls,
    chain,
    conversation,
    kinds,
    says,
    stage,
    thinks,
)
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"

REACT = chain(stage(agent(tool_calling=ToolCalling.REACT)))
NATIVE = chain(stage(agent()))


async def test_a_native_agent_thinks_answers_calls_and_concludes(database_url: str) -> None:
    scenario = Scenario(
        NATIVE,
        [
            says(TRACK, 0, thinks("Pods first."), "I look at the pods.", calls("a", "k8s.pods", namespace="shop")),
            says(TRACK, 1, thinks("That is it."), "The node is full."),
            says(END, 0, "Node full."),
        ],
        [answers(TRACK, "a", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "native")
    assert recording.outcome is not None
    assert kinds(recording.outcome, TRACK) == [
        ("llm_thinking", "completed"),
        ("llm_response", "completed"),
        ("llm_tool_call", "completed"),
        ("tool_result", "completed"),
        ("llm_thinking", "completed"),
        ("final_analysis", "completed"),
    ]
    assert recording.outcome.final_analysis == "The node is full."
    assert recording.outcome.executive_summary == "Node full."


async def test_what_a_model_runs_and_looks_up_by_itself_is_shown(database_url: str) -> None:
    sources = [{"uri": "https://kubernetes.io/docs/eviction", "title": "Eviction"}]
    scenario = Scenario(
        NATIVE,
        [
            says(
                TRACK,
                0,
                {"code_execution": {"code": "print(95 / 100)", "result": "0.95"}},
                {"grounding": {"web_search_queries": ["kubernetes eviction"], "sources": sources}},
                {"grounding": {"sources": sources}},
                "The node is full.",
            ),
            says(END, 0, "Node full."),
        ],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "native_tools")
    assert recording.outcome is not None
    assert {kind for kind, _ in kinds(recording.outcome, TRACK)} == {
        "final_analysis",
        "code_execution",
        "google_search_result",
        "url_context_result",
    }


async def test_a_model_that_thinks_by_itself_and_in_its_text_is_shown_with_both(database_url: str) -> None:
    scenario = Scenario(
        REACT,
        [
            says(TRACK, 0, thinks("Hm, pods."), "Thought: Pods first.\nAction: k8s.pods\nAction Input: {}"),
            says(TRACK, 1, thinks("So."), "Thought: That is it.\nFinal Answer: The node is full."),
            says(END, 0, "Node full."),
        ],
        [answers(TRACK, "react-3", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "react_with_thinking")
    assert recording.outcome is not None
    thoughts = [event for event in recording.outcome.timeline if event["event_type"] == "llm_thinking"]
    assert [(event["metadata"]["source"], event["content"]) for event in thoughts] == [
        ("native", "Hm, pods."),
        ("react", "Pods first."),
        ("native", "So."),
        ("react", "That is it."),
    ]


async def test_a_react_agent_calls_its_tools_as_text(database_url: str) -> None:
    scenario = Scenario(
        REACT,
        [
            says(TRACK, 0, "Thought: Pods first.\nAction: k8s.pods\nAction Input: namespace: shop"),
            says(TRACK, 1, "Thought: That is it.\nFinal Answer: The node is full."),
            says(END, 0, "Node full."),
        ],
        [answers(TRACK, "react-3", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "react")
    assert recording.outcome is not None
    assert kinds(recording.outcome, TRACK) == [
        ("llm_thinking", "completed"),
        ("llm_tool_call", "completed"),
        ("tool_result", "completed"),
        ("llm_thinking", "completed"),
        ("final_analysis", "completed"),
    ]
    assert recording.outcome.final_analysis == "The node is full."


async def test_several_tools_of_one_answer_are_sent_in_the_order_of_the_calls(database_url: str) -> None:
    scenario = Scenario(
        NATIVE,
        [
            says(TRACK, 0, *(calls(name, "k8s.logs", pod=name) for name in ("a", "b", "c"))),
            says(TRACK, 1, "All three log the same."),
            says(END, 0, "Same."),
        ],
        [answers(TRACK, name, "k8s.logs", f"log of {name}") for name in ("c", "a", "b")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "several_tools")
    assert recording.outcome is not None
    results = [message["content"].splitlines()[2] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool"]
    assert results == ["log of a", "log of b", "log of c"]


@pytest.mark.parametrize(
    ("name", "speaking", "asks", "concludes", "known"),
    [
        ("unknown_tool_native", NATIVE, calls("a", "k8s.podz"), "Nothing found.", "k8s__pods"),
        (
            "unknown_tool_react",
            REACT,
            "Thought: Look.\nAction: k8s.podz\nAction Input: {}",
            "Thought: Well.\nFinal Answer: Nothing found.",
            "k8s.pods",
        ),
    ],
)
async def test_a_tool_that_does_not_exist_is_answered_with_those_that_do(
    database_url: str, name: str, speaking: ResolvedChain, asks: Any, concludes: str, known: str
) -> None:
    scenario = Scenario(speaking, [says(TRACK, 0, asks), says(TRACK, 1, concludes), says(END, 0, "Nothing.")])
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, name)
    assert recording.outcome is not None
    observation = conversation(recording.outcome, TRACK)[1][1]
    assert "k8s.podz" in observation
    assert f"{known}: List pods." in observation


async def test_a_malformed_answer_is_explained_to_the_model_which_recovers(database_url: str) -> None:
    scenario = Scenario(
        REACT,
        [
            says(TRACK, 0, "I would like to look at the pods now."),
            says(TRACK, 1, "Thought: As asked.\nFinal Answer: It is the disk."),
            says(END, 0, "Disk."),
        ],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "malformed")
    assert recording.outcome is not None
    assert ("error", "completed") in kinds(recording.outcome, TRACK)
    assert recording.outcome.final_analysis == "It is the disk."


async def test_an_empty_native_answer_is_nudged(database_url: str) -> None:
    scenario = Scenario(NATIVE, [says(TRACK, 0, thinks("Hm.")), says(TRACK, 1, "It is the disk."), says(END, 0, "Disk.")])
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "empty_answer")
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "It is the disk."
