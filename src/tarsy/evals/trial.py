"""A trial: one graded run of one case by one model, as it is kept and reported. Pure module."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from tarsy.domain.citation import CitationStatus
from tarsy.domain.verdict import Verdict, VerdictOutcome
from tarsy.evals.attempt import Attempt
from tarsy.evals.case import Case, Difficulty
from tarsy.evals.grade import Check, grade, passed


class Kept(BaseModel):
    """Frozen; a key from a later version is refused, so that no figure is lost without a word."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Identity(Kept):
    """What a trial's result depends on. The hashes tell whether a kept result still answers the question that is asked."""

    case: str
    model: str
    run: int
    case_digest: str
    model_digest: str
    prompt_digest: str
    configuration_digest: str


class Trial(Kept):
    tarsy_trial: Literal[1] = 1
    identity: Identity
    title: str
    family: str
    difficulty: Difficulty
    tags: tuple[str, ...] = ()
    # Of the expectation: naming a fault would be a false alarm; the right answer is that it cannot be told.
    is_healthy: bool = False
    must_abstain: bool = False
    passed: bool
    checks: tuple[Check, ...]
    status: str
    outcome: VerdictOutcome | None = None
    verdict: Mapping[str, Any] = {}
    analysis: str = ""
    verified: int = 0
    id_only: int = 0
    failed: int = 0
    uncited: int = 0
    unsupported: int = 0
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    # A judge model's opinion of the mechanism; never part of `passed`.
    judged: bool | None = None
    error: str = ""

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def citations(self) -> int:
        return self.verified + self.id_only + self.failed


def trial_of(case: Case, identity: Identity, attempt: Attempt, judged: bool | None = None) -> Trial:  # noqa: FBT001 - an opinion
    """Grade an attempt and write down what is worth keeping of it."""
    expected, checks = case.file.expect, grade(case.file.expect, attempt)
    return Trial(
        identity=identity,
        title=case.file.title,
        family=case.file.family,
        difficulty=case.file.difficulty,
        tags=case.file.tags,
        is_healthy=expected.is_healthy,
        must_abstain=expected.must_abstain,
        passed=passed(checks),
        checks=checks,
        status=attempt.status,
        outcome=attempt.verdict.outcome if attempt.verdict else None,
        verdict=_said(attempt.verdict),
        analysis=attempt.analysis,
        verified=attempt.count(CitationStatus.QUOTE_FOUND),
        id_only=attempt.count(CitationStatus.ID_ONLY),
        failed=attempt.count(CitationStatus.FAILED),
        judged=judged,
        **{name: getattr(attempt, name) for name in _CARRIED_OVER},
    )


_CARRIED_OVER = (
    "uncited",
    "unsupported",
    "turns",
    "tool_calls",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cost_usd",
    "seconds",
    "error",
)


def _said(verdict: Verdict | None) -> Mapping[str, Any]:
    if verdict is None:
        return {}
    return {
        "outcome": verdict.outcome.value,
        "object": str(verdict.object) if verdict.object else "",
        "mechanism": verdict.mechanism,
        "confidence": verdict.confidence.value,
        "still_happening": verdict.still_happening.value,
        "evidence": list(verdict.evidence),
    }
