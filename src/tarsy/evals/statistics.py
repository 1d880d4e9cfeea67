"""The numbers of a measurement: pass@1, pass^k, and whether a difference is more than chance. Pure module."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, fsum

from tarsy.domain.verdict import VerdictOutcome
from tarsy.evals.cases import Difficulty
from tarsy.evals.trials import Trial

# The share of chance that is accepted in a finding: one in twenty, as is usual.
CHANCE = 0.05
# Enough that a second decimal of the interval does not move; a tenth of a second for a hundred cases.
RESAMPLES = 3_000
# The same numbers give the same interval on every machine.
_SEED = 20_260_310


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return fsum(found) / len(found) if found else 0.0


def quantile(values: Iterable[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    found = sorted(values)
    return found[min(len(found) - 1, int(share * len(found)))] if found else 0.0


def pass_at_1(runs: Sequence[bool]) -> float:
    """How likely a single run of a case passes, judged by these."""
    return mean(float(one) for one in runs)


def pass_hat_k(runs: Sequence[bool], k: int) -> float | None:
    """How likely k runs of a case pass all of them; None for fewer than k runs. Without bias: every choice of k of the runs counts the same."""
    return comb(sum(runs), k) / comb(len(runs), k) if 1 <= k <= len(runs) else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the interval in which nine of ten repetitions would find it, and how likely the true value is not below (above) zero."""

    mean: float
    low: float
    high: float
    not_below_zero: float
    not_above_zero: float

    @property
    def is_below_zero(self) -> bool:
        return self.not_below_zero < CHANCE

    @property
    def is_above_zero(self) -> bool:
        return self.not_above_zero < CHANCE


def bootstrap(values: Sequence[float], *, resamples: int = RESAMPLES) -> Estimate:
    """Estimate the mean of what `values` are a sample of. For a paired comparison the values are the differences, one for each case."""
    if not values:
        return Estimate(0.0, 0.0, 0.0, 1.0, 1.0)
    chance = random.Random(_SEED)  # noqa: S311 - a statistic, no secret
    count = len(values)
    # `sum` is three times as fast as an exact sum, and the interval is read to two digits.
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(resamples))
    return Estimate(
        mean(values),
        quantile(means, CHANCE),
        quantile(means, 1 - CHANCE),
        mean(float(one >= 0) for one in means),
        mean(float(one <= 0) for one in means),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many; `rate` is None where there was nothing to count."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Slice:
    """The cases that have something in common."""

    name: str
    cases: int
    pass_at_1: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What a run takes: the mean, and what nine of ten do not exceed."""

    mean: float
    p90: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    model: str
    cases: int
    trials: int
    pass_at_1: Estimate
    # By k, as far as every case has as many runs.
    pass_hat_k: Mapping[int, float]
    by_difficulty: tuple[Slice, ...]
    by_group: tuple[Slice, ...]
    citations_verified: Share
    unsupported_claims: float
    uncited_links: float
    false_alarms: Share
    abstained_rightly: Share
    abstained_wrongly: Share
    without_verdict: Share
    judge_agrees: Share
    turns: Spread
    tool_calls: Spread
    tokens: Spread
    seconds: Spread
    # None: the price of the model is not known.
    cost_usd: float | None


def by_model(trials: Iterable[Trial]) -> Mapping[str, tuple[Trial, ...]]:
    grouped: dict[str, tuple[Trial, ...]] = {}
    for trial in sorted(trials, key=lambda one: (one.identity.model, one.identity.case, one.identity.run)):
        grouped[trial.identity.model] = (*grouped.get(trial.identity.model, ()), trial)
    return grouped


def summarise(model: str, trials: Sequence[Trial]) -> Summary:
    """The figures of one model's trials."""
    runs = runs_by_case(trials)
    decided = [one for one in trials if one.judged is not None]
    return Summary(
        model=model,
        cases=len(runs),
        trials=len(trials),
        pass_at_1=bootstrap([pass_at_1(of_case) for of_case in runs.values()]),
        pass_hat_k=_reliability(list(runs.values())),
        by_difficulty=tuple(
            _slice(level, trials, lambda one, level=level: one.difficulty is level)
            for level in Difficulty
            if any(one.difficulty is level for one in trials)
        ),
        by_group=_groups(trials),
        citations_verified=Share(sum(one.verified for one in trials), sum(one.citations for one in trials)),
        unsupported_claims=mean(one.unsupported for one in trials),
        uncited_links=mean(one.uncited for one in trials),
        false_alarms=_share(trials, lambda one: one.is_healthy, lambda one: one.outcome is VerdictOutcome.FAULT),
        abstained_rightly=_share(trials, lambda one: one.must_abstain, _abstains),
        abstained_wrongly=_share(trials, lambda one: not one.must_abstain, lambda one: _abstains(one) and not one.passed),
        without_verdict=_share(trials, lambda _: True, lambda one: one.outcome is None),
        judge_agrees=_share(decided, lambda _: True, lambda one: bool(one.judged)),
        turns=_spread(one.turns for one in trials),
        tool_calls=_spread(one.tool_calls for one in trials),
        tokens=_spread(one.total_tokens for one in trials),
        seconds=_spread(one.seconds for one in trials),
        cost_usd=total_cost(trials),
    )


def runs_by_case(trials: Sequence[Trial]) -> Mapping[str, list[bool]]:
    runs: dict[str, list[bool]] = {}
    for trial in trials:
        runs.setdefault(trial.identity.case, []).append(trial.passed)
    return runs


def total_cost(trials: Sequence[Trial]) -> float | None:
    """What all trials cost together; None where the cost of one is not known."""
    known = [one.cost_usd for one in trials if one.cost_usd is not None]
    return sum(known) if known and len(known) == len(trials) else None


def _reliability(runs: Sequence[Sequence[bool]]) -> Mapping[int, float]:
    fewest = min((len(of_case) for of_case in runs), default=0)
    return {k: mean(pass_hat_k(of_case, k) or 0.0 for of_case in runs) for k in range(1, fewest + 1)}


def _groups(trials: Sequence[Trial]) -> tuple[Slice, ...]:
    names = sorted({name for one in trials for name in (one.family, *one.tags)})
    return tuple(_slice(name, trials, lambda one, name=name: name in (one.family, *one.tags)) for name in names)


def _slice(name: str, trials: Sequence[Trial], belongs: Callable[[Trial], bool]) -> Slice:
    runs = runs_by_case([one for one in trials if belongs(one)])
    return Slice(str(name), len(runs), mean(pass_at_1(of_case) for of_case in runs.values()))


def _share(trials: Sequence[Trial], belongs: Callable[[Trial], bool], counts: Callable[[Trial], bool]) -> Share:
    among = [one for one in trials if belongs(one)]
    return Share(sum(counts(one) for one in among), len(among))


def _abstains(trial: Trial) -> bool:
    return trial.outcome is VerdictOutcome.INCONCLUSIVE


def _spread(values: Iterable[float]) -> Spread:
    found = list(values)
    return Spread(mean(found), quantile(found, 0.9))


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
