"""A trial: one graded run of one case by one model, and the file that keeps finished trials."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tarsy.config.problems import ConfigError, Problem
from tarsy.domain.citation import CitationStatus
from tarsy.domain.verdict import Confidence, VerdictOutcome
from tarsy.evals.attempts import Attempt
from tarsy.evals.cases import Case, Difficulty
from tarsy.evals.grading import ANSWER_CHECKS, CONFIDENTLY_WRONG, GradingCheck, grade, passed


class Stored(BaseModel):
    """A part of the trial file. An unknown key, as from a later version, is rejected, so that no figure is lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TrialIdentity(Stored):
    """Everything that a trial's result depends on. A stored trial counts only for an equal identity."""

    case: str
    model: str
    run: int
    case_digest: str
    model_digest: str
    prompt_digest: str
    configuration_digest: str


class Trial(Stored):
    tarsy_trial: Literal[1] = 1
    identity: TrialIdentity
    title: str
    family: str
    difficulty: Difficulty
    tags: tuple[str, ...] = ()
    # Of the expectation: a fault in the verdict is a false alarm; the right verdict is inconclusive.
    is_healthy: bool = False
    must_abstain: bool = False
    passed: bool
    checks: tuple[GradingCheck, ...]
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
    def failures(self) -> tuple[GradingCheck, ...]:
        return tuple(check for check in self.checks if not check.passed)

    @property
    def citations(self) -> int:
        return self.verified + self.id_only + self.failed

    @property
    def weight(self) -> int:
        """How much the trial counts: a false alarm costs the trust in all other verdicts."""
        return 2 if self.is_healthy else 1

    @property
    def is_right(self) -> bool:
        """Return whether the answer is right, apart from its evidence and what it took."""
        return all(check.passed for check in self.checks if check.name in ANSWER_CHECKS)

    @property
    def is_confidently_wrong(self) -> bool:
        return any(check.name == CONFIDENTLY_WRONG for check in self.failures)

    def confidence(self, name: Literal["confidence", "shown_confidence"]) -> Confidence | None:
        """Return the confidence that was stated, or the one that was computed and shown; None without one."""
        found = self.verdict.get(name) if self.outcome is not VerdictOutcome.INCONCLUSIVE else None
        return Confidence(found) if found else None


def trial_of(case: Case, identity: TrialIdentity, attempt: Attempt, judged: bool | None = None) -> Trial:  # noqa: FBT001 - an opinion
    """Grade an attempt."""
    expected, verdict, checks = case.file.expect, attempt.verdict, grade(case.file, attempt)
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
        outcome=verdict.outcome if verdict else None,
        verdict={
            "outcome": verdict.outcome.value,
            "object": str(verdict.object) if verdict.object else "",
            "mechanism": verdict.mechanism,
            "confidence": verdict.confidence.value,
            "shown_confidence": attempt.confidence.value if attempt.confidence else None,
            "still_happening": verdict.still_happening.value,
            "evidence": list(verdict.evidence),
        }
        if verdict
        else {},
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


class TrialsUnreadableError(ConfigError):
    """A file of trials cannot be used; the person who named it can act."""


class TrialFile:
    """Appends trials as they finish. An incomplete line, left by a process that was killed, is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mapping[TrialIdentity, Trial]:
        if not self._path.exists():
            return {}
        trials: dict[TrialIdentity, Trial] = {}
        # Not `splitlines`: the analysis may contain other separators of lines, such as U+2028, which JSON does not escape.
        for line in self._path.read_text(encoding="utf-8").split("\n"):
            with suppress(ValidationError):
                trial = Trial.model_validate_json(line)
                trials[trial.identity] = trial
        return trials

    def append(self, trial: Trial) -> None:
        with self._path.open("a+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            is_complete = size == 0 or file.read(1) == b"\n"
            file.write((b"" if is_complete else b"\n") + trial.model_dump_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


class _Report(BaseModel):
    trials: tuple[Trial, ...]


def read_trials(path: Path) -> tuple[Trial, ...]:
    """Read the trials of a report or of a file of trials.

    Raises:
        TrialsUnreadableError: there is no such file, or no trial in it.
    """
    try:
        trials: tuple[Trial, ...] = ()
        if path.exists():
            with suppress(ValidationError):
                trials = _Report.model_validate_json(path.read_bytes()).trials
        trials = trials or tuple(TrialFile(path).read().values())
    except (OSError, UnicodeDecodeError) as error:
        raise TrialsUnreadableError([Problem(str(path), 0, "", f"cannot be read: {error}")]) from error
    if not trials:
        raise TrialsUnreadableError(
            [Problem(str(path), 0, "", "holds no trials", "name the report.json or the trials.jsonl of an eval run")]
        )
    return trials
