"""A challenge: what an agent came to that tried to refute a verdict. Pure module."""

import re
from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.history import ExecutionRecord
from tarsy.kit.text import clip

# An objection is a sentence; what is longer is an analysis of its own, and stands in the stage.
_LONGEST_OBJECTION = 300
_RESULT = re.compile(r"^[\s>*`-]*result[\s*`]*:[\s*`]*(upheld|weakened|refuted)\b", re.IGNORECASE | re.MULTILINE)
_OBJECTION = re.compile(r"^[\s>*`-]*objection[\s*`]*:[ \t*`\"]*(\S[^\n]*?)[\s*`\"]*$", re.IGNORECASE | re.MULTILINE)


class Ruling(StrEnum):
    """Upheld: nothing speaks against it. Weakened: something is not as sure as it was said to be. Refuted: a result contradicts it."""

    UPHELD = "upheld"
    WEAKENED = "weakened"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True)
class Challenge:
    ruling: Ruling
    objection: str


def challenge_of(record: ExecutionRecord) -> Challenge | None:
    """What a challenge came to; None where it says no result.

    A refutation counts only with a quotation that was found in the result it names: a claim without evidence is a hypothesis.
    """
    said = read_challenge(record.conclusion)
    if said is None or said.ruling is not Ruling.REFUTED:
        return said
    verified = record.citations.verified if record.citations else 0
    return said if verified else Challenge(Ruling.WEAKENED, said.objection)


def read_challenge(text: str) -> Challenge | None:
    """The last `result:` line of an answer, with its `objection:`."""
    results, objections = _RESULT.findall(text), _OBJECTION.findall(text)
    if not results:
        return None
    return Challenge(Ruling(results[-1].lower()), clip(objections[-1], _LONGEST_OBJECTION, notice="…") if objections else "")
