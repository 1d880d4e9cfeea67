"""Replies to a model that uses ReAct: observations, and what was wrong with the form of a turn."""

import difflib
from collections.abc import Sequence
from enum import StrEnum

from tarsy.domain.tool import ToolCalling, ToolDefinition, name_for_model
from tarsy.kit.text import clip


class ReActProblem(StrEnum):
    """The reason why a turn is neither a call nor an answer."""

    EMPTY = "empty"
    NO_SECTIONS = "no_sections"
    ONLY_THOUGHT = "only_thought"
    ONLY_OBSERVATION = "only_observation"
    MISSING_ACTION = "missing_action"
    MISSING_INPUT = "missing_input"
    NOT_A_TOOL_NAME = "not_a_tool_name"
    EMPTY_ANSWER = "empty_answer"


# Longer descriptions were in the instructions already; here they only help to choose.
_DESCRIPTION_LIMIT = 100
_NAME_LIMIT = 120

FORMAT_REMINDER = """\
Write each turn in one of these two shapes, with every name at the beginning of its line.

To call a tool:
Thought: what you want to find out and why
Action: the tool's full name, nothing else
Action Input: the arguments as one JSON object, {} if there are none

To conclude:
Thought: why the evidence is sufficient
Final Answer: your complete answer"""

_WHAT_IS_WRONG = {
    ReActProblem.EMPTY: "Your response was empty.",
    ReActProblem.NO_SECTIONS: (
        "Your response has none of the sections of the format, so it is neither a tool call nor an answer. "
        "If it was your conclusion, write it again after `Final Answer:`."
    ),
    ReActProblem.ONLY_THOUGHT: (
        "Your response has a Thought but nothing after it. Add an `Action:` with its `Action Input:`, "
        "or a `Final Answer:` if the evidence is sufficient."
    ),
    ReActProblem.ONLY_OBSERVATION: (
        "Your response contains an Observation that no tool made; it was discarded. Observations come only from tools you call. "
        "Write an `Action:` with its `Action Input:` and wait for the result."
    ),
    ReActProblem.MISSING_ACTION: (
        "Your response has an `Action Input:` but is missing the `Action:` line. Name the tool it is for, on a line of its own before the input."
    ),
    ReActProblem.MISSING_INPUT: (
        "Your response has an `Action:` but is missing `Action Input:`. Give the tool's arguments as a JSON object, or `Action Input: {}`."
    ),
    ReActProblem.NOT_A_TOOL_NAME: (
        "What stands after `Action:` is not a tool's name. Write only the full name there, as in the list of tools, for example `server.tool`; "
        "explanations belong into the Thought."
    ),
    ReActProblem.EMPTY_ANSWER: "Your `Final Answer:` is empty. Write the complete answer after it.",
}


def format_feedback(problem: ReActProblem) -> str:
    """Return what was wrong with a turn, and the two shapes a turn may have."""
    return f"{_WHAT_IS_WRONG[problem]}\n\n{FORMAT_REMINDER}"


def format_observation(content: str) -> str:
    """Return a fenced tool result as the model expects it."""
    return f"Observation: {content}"


def format_unknown_tool(tool: str, available: Sequence[ToolDefinition], tool_calling: ToolCalling) -> str:
    """Return the reply to a call of a tool that does not exist: the likeliest ones and all available, each as the model calls it."""
    name = clip(tool, _NAME_LIMIT)
    if not available:
        return f"Error - unknown tool '{name}'. No tools are available: write your final answer from the evidence you have."
    close = difflib.get_close_matches(tool[:_NAME_LIMIT], [definition.name for definition in available], n=3)
    hint = f" Did you mean {' or '.join(name_for_model(one, tool_calling) for one in close)}?" if close else ""
    lines: list[str] = []
    for definition in available:
        description = clip(" ".join(definition.description.split()), _DESCRIPTION_LIMIT, notice="…")
        lines.append(f"  - {name_for_model(definition.name, tool_calling)}: {description}")
    return "\n".join((f"Error - unknown tool '{name}'.{hint} Available tools:", *lines))
