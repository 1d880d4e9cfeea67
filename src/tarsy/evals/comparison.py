"""Two measurements beside each other: what changed, and whether it is more than chance. Pure module."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tarsy.evals.statistics import Estimate, bootstrap, mean, pass_at_1
from tarsy.evals.summary import runs_by_case
from tarsy.evals.trial import Trial


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure before and after, with the difference over the cases that both have."""

    name: str
    before: float
    after: float
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    before: str
    after: str
    # Cases that both measured. A case whose files changed in between is another case, and not among them.
    cases: int
    changed_cases: tuple[str, ...]
    pass_rate: Figure
    others: tuple[Figure, ...]
    # By how much their pass rate fell or rose.
    worse: tuple[tuple[str, float], ...]
    better: tuple[tuple[str, float], ...]

    @property
    def is_regression(self) -> bool:
        """Fewer cases pass, and chance alone would seldom make it so."""
        return self.pass_rate.difference.mean < 0 and self.pass_rate.difference.is_below_zero

    @property
    def is_progress(self) -> bool:
        return self.pass_rate.difference.mean > 0 and self.pass_rate.difference.is_above_zero


def compare(before: Sequence[Trial], after: Sequence[Trial], *, names: tuple[str, str] = ("before", "after")) -> Comparison:
    """Compare two models, or one before and after a change, case by case: what both find hard does not blur the difference."""
    earlier, later = _by_case(before), _by_case(after)
    both = sorted(earlier.keys() & later.keys())
    cases = [case for case in both if _digest(earlier[case]) == _digest(later[case])]
    rates = {case: _rate(later[case]) - _rate(earlier[case]) for case in cases}
    pairs = [(earlier[case], later[case]) for case in cases]
    return Comparison(
        before=names[0],
        after=names[1],
        cases=len(cases),
        changed_cases=tuple(case for case in both if case not in rates),
        pass_rate=_figure("pass@1", pairs, _rate),
        others=tuple(_figure(name, pairs, value) for name, value in _OTHERS.items()),
        worse=tuple(sorted(((case, by) for case, by in rates.items() if by < 0), key=lambda one: (one[1], one[0]))),
        better=tuple(sorted(((case, by) for case, by in rates.items() if by > 0), key=lambda one: (-one[1], one[0]))),
    )


def _rate(trials: Sequence[Trial]) -> float:
    return pass_at_1([one.passed for one in trials])


def _mean_of(name: str) -> Callable[[Sequence[Trial]], float]:
    return lambda trials: mean(float(getattr(one, name)) for one in trials)


_OTHERS: dict[str, Callable[[Sequence[Trial]], float]] = {
    "citations verified": _mean_of("verified"),
    "unsupported claims": _mean_of("unsupported"),
    "turns": _mean_of("turns"),
    "tokens": _mean_of("total_tokens"),
}


def _by_case(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    grouped: dict[str, list[Trial]] = {case: [] for case in runs_by_case(trials)}
    for trial in trials:
        grouped[trial.identity.case].append(trial)
    return grouped


def _digest(trials: Sequence[Trial]) -> set[str]:
    return {one.identity.case_digest for one in trials}


def _figure(name: str, pairs: Sequence[tuple[Sequence[Trial], Sequence[Trial]]], value: Callable[[Sequence[Trial]], float]) -> Figure:
    values = [(value(earlier), value(later)) for earlier, later in pairs]
    differences = [later - earlier for earlier, later in values]
    return Figure(name, mean(earlier for earlier, _ in values), mean(later for _, later in values), bootstrap(differences))
