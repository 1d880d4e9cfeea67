"""What a model's ReAct turn can turn out to be."""

from dataclasses import dataclass
from enum import StrEnum


class ReActProblem(StrEnum):
    """What is wrong with a turn that is neither a call nor an answer."""

    EMPTY = "empty"
    NO_SECTIONS = "no_sections"
    ONLY_THOUGHT = "only_thought"
    ONLY_OBSERVATION = "only_observation"
    MISSING_ACTION = "missing_action"
    MISSING_INPUT = "missing_input"
    NOT_A_TOOL_NAME = "not_a_tool_name"
    EMPTY_ANSWER = "empty_answer"


@dataclass(frozen=True, slots=True)
class ReActFinalAnswer:
    thought: str
    answer: str


@dataclass(frozen=True, slots=True)
class ReActAction:
    """A tool call as the model wrote it; `tool` need not exist, `tool_input` is raw text, `{}` when it was left empty."""

    thought: str
    tool: str
    tool_input: str


@dataclass(frozen=True, slots=True)
class ReActMalformed:
    """Neither; `feedback` tells the model what to do differently."""

    thought: str
    problem: ReActProblem
    feedback: str


ParsedReAct = ReActFinalAnswer | ReActAction | ReActMalformed
