"""Evidence: everything an agent saw, under the short id by which it may be cited. Pure module.

`A7` is the seventh tool call of the first agent of the plan, `A4.2` the second call of the sub-agent that call A4 dispatched, `Q2.1` the first
call made for the second question of the chat; `ALERT`, `RUNBOOK` and `NOTE1` name what the agents were given. An id depends on places and
counts alone, never on time: it is the same when a run is continued or replayed.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase

from tarsy.domain.tool import RUN_AGENT_TOOL

ALERT = "ALERT"
RUNBOOK = "RUNBOOK"

# Q belongs to the chat: an agent of that letter would share ids with the answer to a question.
_LETTERS = ascii_uppercase.replace("Q", "")
# Bounds keep an invented id from being read as a number of a thousand digits. Three levels: an agent, its sub-agent, and that one's.
ID_PATTERN = r"(?:ALERT|RUNBOOK|NOTE\d{1,4}|[A-Z]{1,2}\d{1,5}(?:\.\d{1,5}){0,2})"
_ID = re.compile(ID_PATTERN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that was seen: the stored text, masked and not shortened."""

    id: str
    text: str
    # The tool and its arguments, as they were called; empty for what the agents were given.
    tool: str = ""
    arguments: str = ""
    read_at: datetime | None = None
    # Its repetitions were folded when it was shown: the folded text is part of what was seen.
    folded: bool = False
    # A call that was never made (refused, malformed, unknown tool) shows nothing about the world.
    refused: bool = False

    @property
    def is_report(self) -> bool:
        """Whether it is what another agent said: words about observations, and none itself."""
        return self.tool == RUN_AGENT_TOOL


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call that came to something, by the id of its result."""

    evidence_id: str
    tool: str
    arguments: str


def is_evidence_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def agent_prefix(place: int) -> str:
    """The letters of the agent at a place of the plan, counted from 0: A, B, … Z, AA, AB, …"""
    letters = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return letters


def question_prefix(number: int) -> str:
    """What the ids of the calls made for a chat question begin with; questions count from 1."""
    return f"Q{number}."


def call_id(prefix: str, number: int) -> str:
    """The id of an agent's call; calls count from 1. The prefix is the agent's letters, or what a dispatching call or question gives."""
    return f"{prefix}{number}"


def call_number(evidence_id: str) -> int:
    """Which of its agent's calls an id names."""
    return int(re.split(r"\D", evidence_id)[-1])


def sub_agent_prefix(dispatching: str) -> str:
    """What the ids of a sub-agent begin with, given the id of the call that dispatched it."""
    return f"{dispatching}."


def note_id(number: int) -> str:
    return f"NOTE{number}"
