"""Models that repeat themselves: a word to them first, then a conclusion from what is known."""

from typing import Any

import pytest

from support.agent_scenario import SUMMARY, Scenario, agent, agrees_with_golden, answers, calls, chain, conversation, says, stage
from tarsy.agent.prompt.nudges import LOOPING_TEXT_NUDGE, REPEATING_TEXT_NUDGE, repeated_call_nudge
from tarsy.agent.repetition import LOOP_NOTE
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"
NATIVE = chain(stage(agent(max_iterations=20)))
REACT = chain(stage(agent(max_iterations=20, tool_calling=ToolCalling.REACT)))
CONCLUSION = "I could not find out more."
PARAGRAPH = (
    "The pods of the shop are evicted and I still do not know what fills the disk of their node, so I look at the pods once more; "
    "whatever evicts them must leave a trace in their state, and the next look may be the one that shows it."
)
LOOP = "Let me check the pods again. " * 400


def _react(thought: str) -> str:
    return f'Thought: {thought}\nAction: k8s.pods\nAction Input: {{"namespace": "shop"}}'


def _forced(recording: Recording, iterations: int) -> None:
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert recording.outcome.final_analysis == CONCLUSION
    final = [event for event in recording.outcome.timeline if event["event_type"] == "final_analysis"][-1]
    forced = {"forced_conclusion": True, "iterations_used": iterations, "max_iterations": 20}
    assert final["metadata"].items() >= forced.items()


def _nudges(recording: Recording, text: str) -> int:
    assert recording.outcome is not None
    return sum(content == text for _, content in conversation(recording.outcome, TRACK))


@pytest.mark.parametrize(
    ("name", "speaking", "turns", "ids"),
    [
        (
            "repeated_calls",
            NATIVE,
            [calls(f"c{turn}", "k8s.pods", namespace="shop") for turn in range(5)],
            [f"c{turn}" for turn in range(5)],
        ),
        (
            "repeated_calls_react",
            REACT,
            [_react(f"Attempt {turn}.") for turn in range(5)],
            ["react-3", "react-5", "react-7", "react-10", "react-12"],
        ),
    ],
)
async def test_the_same_call_again_and_again_is_nudged_then_ended(
    database_url: str, name: str, speaking: ResolvedChain, turns: list[Any], ids: list[str]
) -> None:
    scenario = Scenario(
        speaking,
        [*(says(TRACK, turn, answered) for turn, answered in enumerate(turns)), says(TRACK, 5, CONCLUSION), says(END, 0, "Unknown.")],
        [answers(TRACK, call_id, "k8s.pods", "web-1 Running") for call_id in ids],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, name)
    _forced(recording, 5)
    assert _nudges(recording, repeated_call_nudge(("k8s.pods",), 3)) == 1


async def test_two_calls_in_turn_are_a_circle_too(database_url: str) -> None:
    asked = [calls(f"c{turn}", "k8s.pods" if turn % 2 == 0 else "k8s.logs", pod="web-1") for turn in range(10)]
    scenario = Scenario(
        NATIVE,
        [*(says(TRACK, turn, call) for turn, call in enumerate(asked)), says(TRACK, 10, CONCLUSION), says(END, 0, "Unknown.")],
        [answers(TRACK, f"c{turn}", "k8s.pods" if turn % 2 == 0 else "k8s.logs", "nothing new") for turn in range(10)],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "circle_of_two_calls")
    _forced(recording, 10)
    assert _nudges(recording, repeated_call_nudge(("k8s.pods", "k8s.logs"), 3)) == 1


@pytest.mark.parametrize(
    ("name", "speaking", "turns"),
    [
        ("repeated_words", NATIVE, [(PARAGRAPH, calls(f"c{turn}", "k8s.pods", limit=turn)) for turn in range(5)]),
        ("repeated_words_react", REACT, [("I would like to look at the pods now.",)] * 5),
    ],
)
async def test_the_same_words_again_and_again_are_nudged_then_ended(
    database_url: str, name: str, speaking: ResolvedChain, turns: list[tuple[Any, ...]]
) -> None:
    scenario = Scenario(
        speaking,
        [*(says(TRACK, turn, *answered) for turn, answered in enumerate(turns)), says(TRACK, 5, CONCLUSION), says(END, 0, "Unknown.")],
        [answers(TRACK, f"c{turn}", "k8s.pods", "web-1 Running") for turn in range(5)],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, name)
    _forced(recording, 5)
    assert _nudges(recording, REPEATING_TEXT_NUDGE) == 1


@pytest.mark.parametrize(
    ("name", "speaking", "begins"),
    [
        ("looping", NATIVE, "I see:\n"),
        ("looping_react", REACT, "Thought: I see.\nFinal Answer: "),
        ("looping_thought_react", REACT, "Thought: "),
    ],
)
async def test_an_answer_that_goes_on_and_on_is_cut_off_and_a_second_one_is_the_last(
    database_url: str, name: str, speaking: ResolvedChain, begins: str
) -> None:
    scenario = Scenario(
        speaking,
        [
            says(TRACK, 0, begins + LOOP, "NEVER READ"),
            says(TRACK, 1, begins + LOOP, "NEVER READ"),
            says(TRACK, 2, CONCLUSION),
            says(END, 0, "Unknown."),
        ],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, name)
    _forced(recording, 2)
    assert recording.outcome is not None
    assert "NEVER READ" not in recording.model_dump_json(), "the call ends where the loop is seen"
    assert _nudges(recording, LOOPING_TEXT_NUDGE) == 2
    kept = next(content for role, content in conversation(recording.outcome, TRACK) if role == "assistant")
    assert kept.endswith(LOOP_NOTE)
    assert kept.count("Let me check the pods again.") == 1, "a loop that is read again would be taken up again"


async def test_a_model_that_thinks_in_a_loop_is_brought_back(database_url: str) -> None:
    scenario = Scenario(
        NATIVE,
        [says(TRACK, 0, {"thinking": LOOP}, {"thinking": "NEVER READ"}), says(TRACK, 1, "It is the disk."), says(END, 0, "Disk.")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "looping_thinking")
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "It is the disk."
    assert "NEVER READ" not in recording.model_dump_json()


async def test_a_conclusion_and_a_summary_that_loop_are_warned_once(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(max_iterations=1))),
        [says(TRACK, 0, calls("a", "k8s.pods")), says(TRACK, 1, "It is the disk.\n" + LOOP), says(END, 0, "Disk.\n" + LOOP)],
        [answers(TRACK, "a", "k8s.pods", "web-1 Evicted")],
    )
    recording = await scenario.play(database_url)
    agrees_with_golden(recording, "looping_conclusion")
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == f"It is the disk.\nLet me check the pods again.\n\n{LOOP_NOTE}"
    assert recording.outcome.executive_summary == f"Disk.\nLet me check the pods again.\n\n{LOOP_NOTE}"
