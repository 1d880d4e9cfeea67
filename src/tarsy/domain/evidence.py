"""Evidence: the texts that an agent has received, each under the short id by which it may be cited.

`A7` is the seventh tool call of the first agent of the plan, `A4.2` the second call of the sub-agent that call A4 dispatched, `Q2.1` the first
call made for the second question of the chat; `ALERT`, `RUNBOOK` and `NOTE1` are the agents' inputs. An id depends on positions and
counts only, never on time: it is the same when a run is resumed or replayed.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase

from tarsy.domain.tool import BUILT_IN_SERVER, LOAD_SKILL_TOOL, READ_RESULT_TOOL, RUN_AGENT_TOOL

ALERT = "ALERT"
RUNBOOK = "RUNBOOK"

# Q is reserved for the chat: an agent with that letter would share ids with the answer to a question.
_LETTERS = ascii_uppercase.replace("Q", "")
# The bounds keep an invented id from having a thousand digits. Three levels: an agent, its sub-agent, and that one's.
ID_PATTERN = r"(?:ALERT|RUNBOOK|NOTE\d{1,4}|[A-Z]{1,2}\d{1,5}(?:\.\d{1,5}){0,2})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A text that an agent received, as stored: masked and not shortened."""

    id: str
    text: str
    # The tool and its arguments as called; empty for the alert, the runbook and notes.
    tool: str = ""
    arguments: str = ""
    read_at: datetime | None = None
    # The call was never made (refused, malformed, unknown tool): its text proves nothing.
    refused: bool = False
    # The call ended with an error: its text proves nothing.
    failed: bool = False

    @property
    def is_report(self) -> bool:
        """Return whether it is the report of a sub-agent, which describes observations but is none."""
        return self.tool == RUN_AGENT_TOOL

    @property
    def is_input(self) -> bool:
        """Return whether it is a text that people gave the agent (the alert, a note, the runbook, a skill): it says nothing about the system."""
        return self.tool in {"", LOAD_SKILL_TOOL}

    @property
    def is_first_hand(self) -> bool:
        """Return whether its names and times were seen in it first: not the answer to a refused call, a report, or a text that was read again."""
        return not self.refused and self.tool not in {RUN_AGENT_TOOL, READ_RESULT_TOOL}

    @property
    def answered_arguments(self) -> str:
        """Return the arguments if a tool server has answered them; those of failed calls and of built-in tools are only the agent's own words."""
        is_answered = not (self.failed or self.refused or self.tool.startswith(f"{BUILT_IN_SERVER}."))
        return self.arguments if is_answered else ""


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call that has a result, with the evidence id of that result."""

    evidence_id: str
    tool: str
    arguments: str


def agent_prefix(place: int) -> str:
    """Return the letters of the agent at a place of the plan, counted from 0: A, B, … Z, AA, AB, …"""
    letters = ""
    place += 1
    while place:
        place, digit = divmod(place - 1, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return letters


def question_prefix(number: int) -> str:
    """Return the prefix of the evidence ids of a chat question; questions count from 1."""
    return f"Q{number}."


def call_id(prefix: str, number: int) -> str:
    """Return the evidence id of a call; calls count from 1. `prefix` is that of the agent, the sub-agent or the chat question."""
    return f"{prefix}{number}"


def call_number(evidence_id: str) -> int:
    """Return the number of the call that an evidence id names."""
    return int(re.split(r"\D", evidence_id)[-1])


def sub_agent_prefix(dispatching: str) -> str:
    """Return the prefix of a sub-agent's evidence ids, given the id of the call that dispatched it."""
    return f"{dispatching}."


def note_id(number: int) -> str:
    return f"NOTE{number}"
