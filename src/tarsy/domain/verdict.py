"""The verdict of an investigation, and the challenge that tries to refute it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from tarsy.kit.text import clip


class VerdictOutcome(StrEnum):
    FAULT = "fault"
    NO_FAULT = "no_fault"
    INCONCLUSIVE = "inconclusive"


class Confidence(StrEnum):
    """High: observed directly and alternatives excluded. Medium: one link inferred. Low: correlation."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_RANK: Mapping[Confidence, int] = {Confidence.LOW: 0, Confidence.MEDIUM: 1, Confidence.HIGH: 2}


def at_most(confidence: Confidence, ceiling: Confidence) -> Confidence:
    return min(confidence, ceiling, key=_RANK.__getitem__)


class StillHappening(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


# What kind of thing was wrong. `none` is for a verdict without a fault.
CATEGORIES = (
    "configuration",
    "code",
    "capacity",
    "dependency",
    "network",
    "storage",
    "certificate",
    "security",
    "scheduling",
    "infrastructure",
    "human",
    "none",
    "other",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedObject:
    """The faulty object, written `Deployment/shop/cart`, or as a name alone where kind and namespace do not apply."""

    kind: str = ""
    namespace: str = ""
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


@dataclass(frozen=True, slots=True)
class RuledOut:
    hypothesis: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict as the agent stated it. The confidence after the check of its citations is part of JudgedVerdict."""

    outcome: VerdictOutcome
    object: AffectedObject | None = None
    mechanism: str = ""
    confidence_object: Confidence = Confidence.LOW
    confidence_mechanism: Confidence = Confidence.LOW
    since: str = ""
    still_happening: StillHappening = StillHappening.UNKNOWN
    evidence: tuple[str, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    category: str = ""

    @property
    def confidence(self) -> Confidence:
        """Return the lower of the two: a mechanism is no more certain than the object."""
        return at_most(self.confidence_object, self.confidence_mechanism)


_VERDICT = TypeAdapter(Verdict)


@dataclass(frozen=True, slots=True)
class JudgedVerdict:
    """A verdict with the confidence to show, and the reason if that is lower than the agent's own."""

    verdict: Verdict
    confidence: Confidence
    confidence_reason: str = ""


def ceiling_sentence(ceiling: str) -> str:
    """Return why an analysis is partial that a ceiling forced."""
    return f"It was ended by {ceiling}."


def capped_by_ceiling(judged: JudgedVerdict, ceiling: str) -> JudgedVerdict:
    """Return the verdict with at most medium confidence: an investigation that a ceiling ended may have missed something."""
    reason = ". ".join(part for part in (judged.confidence_reason, ceiling_sentence(ceiling)) if part)
    return JudgedVerdict(judged.verdict, at_most(judged.confidence, Confidence.MEDIUM), reason)


def verdict_fields(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as it is stored, published and recorded."""
    return _VERDICT.dump_python(verdict, mode="json")


def verdict_of(fields: Mapping[str, Any]) -> Verdict:
    """Rebuild a verdict from its stored fields."""
    return _VERDICT.validate_python(fields)


def judged_fields(judged: JudgedVerdict) -> dict[str, Any]:
    """Return a verdict with the confidence to show, as it is stored with a session and recorded."""
    return {**verdict_fields(judged.verdict), "confidence": judged.confidence.value, "confidence_reason": judged.confidence_reason}


# An objection is one sentence; a longer text is an analysis, which the stage shows.
_LONGEST_OBJECTION = 300
# Within one line each, so that thousands of blank lines or marks take no time.
_RESULT = re.compile(r"^[ \t>*`-]*result[\s*`]*:[\s*`]*(upheld|weakened|refuted)\b", re.IGNORECASE | re.MULTILINE)
_OBJECTION = re.compile(r"^[ \t>*`-]*objection[\s*`]*:[ \t*`\"]*(\S[^\n]*)$", re.IGNORECASE | re.MULTILINE)


class Ruling(StrEnum):
    """Upheld: nothing contradicts the verdict. Weakened: part of it is less certain than stated. Refuted: a result contradicts it."""

    UPHELD = "upheld"
    WEAKENED = "weakened"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True)
class Challenge:
    ruling: Ruling
    objection: str


def parse_challenge(text: str) -> Challenge | None:
    """Parse the last `result:` and `objection:` lines of an answer; return None if it has no result."""
    results, objections = _RESULT.findall(text), _OBJECTION.findall(text)
    if not results:
        return None
    return Challenge(
        Ruling(results[-1].lower()), clip(objections[-1].rstrip(' \t\r*`"'), _LONGEST_OBJECTION, notice="…") if objections else ""
    )
