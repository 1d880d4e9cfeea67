"""What a model gets back after an answer in the format of ReAct."""

import pytest

from tarsy.agent.react.feedback import FORMAT_REMINDER, ReActProblem, format_feedback, format_observation, format_unknown_tool
from tarsy.domain.tool import ToolCalling, ToolDefinition

TOOLS = (ToolDefinition("k8s.pods_list", "List  pods\nof a namespace"), ToolDefinition("k8s.events_list", "x" * 500))


@pytest.mark.parametrize("problem", ReActProblem)
def test_every_problem_has_its_own_words_and_the_reminder(problem: ReActProblem) -> None:
    others = [format_feedback(other) for other in ReActProblem if other is not problem]
    assert format_feedback(problem) not in others
    assert format_feedback(problem).endswith(FORMAT_REMINDER)


def test_results_are_observations() -> None:
    assert format_observation("3 pods") == "Observation: 3 pods"


def test_an_unknown_tool_is_answered_with_the_likely_one_and_the_list() -> None:
    text = format_unknown_tool("k8s.pod_list", TOOLS, ToolCalling.REACT)
    assert text.startswith("Error - unknown tool 'k8s.pod_list'. Did you mean k8s.pods_list or k8s.events_list?")
    assert "  - k8s.pods_list: List pods of a namespace\n" in text
    assert len(text) < 500


def test_an_unknown_tool_without_any_tools_asks_for_the_answer() -> None:
    assert "final answer" in format_unknown_tool("anything", (), ToolCalling.REACT)


def test_with_function_calling_tools_are_named_as_they_may_be_called() -> None:
    text = format_unknown_tool("k8s.pod_list", TOOLS, ToolCalling.NATIVE)
    assert "Did you mean k8s__pods_list or k8s__events_list?" in text
    assert "  - k8s__pods_list: List pods of a namespace\n" in text
