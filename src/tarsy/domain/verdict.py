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


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedObject:
    """What the fault is in, as people name it: `Deployment/shop/cart`, or a name alone where kind and namespace do not apply."""

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
    """As the investigator stated it. What checking its citations made of its confidence is said beside it, never instead of it."""

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
        """The weaker of the two: a mechanism is no surer than the object it happens in."""
        return at_most(self.confidence_object, self.confidence_mechanism)


_VERDICT = TypeAdapter(Verdict)


@dataclass(frozen=True, slots=True)
class JudgedVerdict:
    """A verdict with the confidence to show for it, and why that is less than was claimed; empty when it is not."""

    verdict: Verdict
    confidence: Confidence
    confidence_reason: str = ""


def capped_by_ceiling(judged: JudgedVerdict, ceiling: str) -> JudgedVerdict:
    """The verdict of an investigation that a ceiling ended: what it did not come to look at may say otherwise."""
    reason = " ".join(part for part in (judged.confidence_reason, f"It was ended by {ceiling}.") if part)
    return JudgedVerdict(judged.verdict, at_most(judged.confidence, Confidence.MEDIUM), reason)


def verdict_fields(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is stored, told and recorded."""
    return _VERDICT.dump_python(verdict, mode="json")


def verdict_of(fields: Mapping[str, Any]) -> Verdict:
    """A verdict as it was stored."""
    return _VERDICT.validate_python(fields)


def judged_fields(judged: JudgedVerdict) -> dict[str, Any]:
    """A verdict with the confidence to show, as it is stored with a session and recorded."""
    return {**verdict_fields(judged.verdict), "confidence": judged.confidence.value, "confidence_reason": judged.confidence_reason}


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


def parse_challenge(text: str) -> Challenge | None:
    """The last `result:` line of an answer, with its `objection:`."""
    results, objections = _RESULT.findall(text), _OBJECTION.findall(text)
    if not results:
        return None
    return Challenge(Ruling(results[-1].lower()), clip(objections[-1], _LONGEST_OBJECTION, notice="…") if objections else "")
