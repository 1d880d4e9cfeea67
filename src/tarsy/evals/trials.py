"""A trial: one graded run of one case by one model, as it is kept and reported. Pure module."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tarsy.config.problems import ConfigError, Problem
from tarsy.domain.citation import CitationStatus
from tarsy.domain.verdict import Verdict, VerdictOutcome
from tarsy.evals.attempts import Attempt
from tarsy.evals.cases import Case, Difficulty
from tarsy.evals.grading import Check, grade, passed


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


class TrialsUnreadableError(ConfigError):
    """A file of trials cannot be used; the person who named it can act."""


class TrialFile:
    """Appends trials as they finish. A line that a dying process left half written is left out and written anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mapping[Identity, Trial]:
        if not self._path.exists():
            return {}
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return {trial.identity: trial for line in lines if (trial := _trial(line)) is not None}

    def append(self, trial: Trial) -> None:
        with self._path.open("a+b") as file:
            line = trial.model_dump_json().encode() + b"\n"
            file.write(line if _ends_well(self._path) else b"\n" + line)
            file.flush()
            os.fsync(file.fileno())


def _ends_well(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 1))
        return size == 0 or file.read(1) == b"\n"


def _trial(line: str) -> Trial | None:
    try:
        return Trial.model_validate_json(line)
    except ValidationError:
        return None


def read_trials(path: Path) -> tuple[Trial, ...]:
    """The trials of a report or of a file of trials, for a comparison.

    Raises:
        TrialsUnreadableError: there is no such file, or no trial in it.
    """
    try:
        trials = _reported(path) or tuple(TrialFile(path).read().values())
    except (OSError, UnicodeDecodeError) as error:
        raise TrialsUnreadableError([Problem(str(path), 0, "", f"cannot be read: {error}")]) from error
    if not trials:
        raise TrialsUnreadableError(
            [Problem(str(path), 0, "", "holds no trials", "name the report.json or the trials.jsonl of an eval run")]
        )
    return trials


class _Reported(BaseModel):
    trials: tuple[Trial, ...]


def _reported(path: Path) -> tuple[Trial, ...]:
    """The trials of a report; none where the file is something else."""
    if not path.exists():
        return ()
    try:
        return _Reported.model_validate_json(path.read_bytes()).trials
    except ValidationError:
        return ()
