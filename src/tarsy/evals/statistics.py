"""The figures of a measurement: pass@1, pass^k, summaries of a model, and comparisons of two."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, fsum

from tarsy.domain.verdict import Confidence, VerdictOutcome
from tarsy.evals.cases import Difficulty
from tarsy.evals.trials import Trial

# The usual level of significance.
CHANCE = 0.05
# Enough for two decimals of the interval; a tenth of a second for a hundred cases.
RESAMPLES = 3_000
# A fixed seed: the same values give the same interval on every machine.
_SEED = 20_260_310


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return fsum(found) / len(found) if found else 0.0


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` of all values do not exceed."""
    found = sorted(values)
    return found[min(len(found) - 1, int(share * len(found)))] if found else 0.0


def pass_hat_k(runs: Sequence[bool], k: int) -> float | None:
    """Return the probability that k runs of a case all pass, or None for fewer than k runs. The estimate is unbiased: every choice of k runs counts."""
    return comb(sum(runs), k) / comb(len(runs), k) if 1 <= k <= len(runs) else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 90 % interval, and the probability that the true value is not below (above) zero."""

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


def weighted_mean(values: Iterable[tuple[float, float]]) -> float:
    """Return the mean of values that are given with their weights."""
    found = list(values)
    return fsum(value * weight for value, weight in found) / fsum(weight for _, weight in found) if found else 0.0


def bootstrap(values: Sequence[float], weights: Sequence[float] = (), *, resamples: int = RESAMPLES) -> Estimate:
    """Estimate the mean of the population of `values`. For a paired comparison the values are the differences of the cases."""
    if not values:
        return Estimate(0.0, 0.0, 0.0, 1.0, 1.0)
    chance = random.Random(_SEED)  # noqa: S311 - a statistic, no secret
    pairs = list(zip(values, weights or [1.0] * len(values), strict=True))
    means = sorted(weighted_mean(chance.choices(pairs, k=len(pairs))) for _ in range(resamples))
    return Estimate(
        weighted_mean(pairs),
        quantile(means, CHANCE),
        quantile(means, 1 - CHANCE),
        mean(float(one >= 0) for one in means),
        mean(float(one <= 0) for one in means),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`; `rate` is None if there was nothing to count."""

    count: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Slice:
    """The cases of one difficulty, family or tag."""

    name: str
    cases: int
    pass_at_1: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How often answers of one level of confidence were right: by the confidence that was stated, and by the one that was computed."""

    level: Confidence
    stated: Share
    computed: Share


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean and the 90th percentile."""

    mean: float
    p90: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    model: str
    cases: int
    trials: int
    pass_at_1: Estimate
    # By k, up to the smallest number of runs of a case.
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
    confidently_wrong: Share
    calibration: tuple[Calibration, ...]
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
    """Return the figures of one model's trials."""
    runs = by_case(trials)
    fewest = min((len(of_case) for of_case in runs.values()), default=0)
    groups = sorted({name for one in trials for name in (one.family, *one.tags)})
    decided = [one for one in trials if one.judged is not None]
    return Summary(
        model=model,
        cases=len(runs),
        trials=len(trials),
        pass_at_1=bootstrap([_rate(of_case) for of_case in runs.values()], [of_case[0].weight for of_case in runs.values()]),
        pass_hat_k={
            k: weighted_mean((pass_hat_k([one.passed for one in of_case], k) or 0.0, of_case[0].weight) for of_case in runs.values())
            for k in range(1, fewest + 1)
        },
        by_difficulty=tuple(
            _slice(level, trials, lambda one, level=level: one.difficulty is level)
            for level in Difficulty
            if any(one.difficulty is level for one in trials)
        ),
        by_group=tuple(_slice(name, trials, lambda one, name=name: name in (one.family, *one.tags)) for name in groups),
        citations_verified=Share(sum(one.verified for one in trials), sum(one.citations for one in trials)),
        unsupported_claims=mean(one.unsupported for one in trials),
        uncited_links=mean(one.uncited for one in trials),
        false_alarms=_share(trials, lambda one: one.is_healthy, lambda one: one.outcome is VerdictOutcome.FAULT),
        abstained_rightly=_share(trials, lambda one: one.must_abstain, _abstains),
        abstained_wrongly=_share(trials, lambda one: not one.must_abstain, lambda one: _abstains(one) and not one.passed),
        without_verdict=_share(trials, lambda _: True, lambda one: one.outcome is None),
        confidently_wrong=_share(trials, lambda _: True, lambda one: one.is_confidently_wrong),
        calibration=tuple(
            Calibration(
                level,
                _share(trials, lambda one, level=level: one.confidence("confidence") is level, lambda one: one.is_right),
                _share(trials, lambda one, level=level: one.confidence("shown_confidence") is level, lambda one: one.is_right),
            )
            for level in Confidence
        ),
        judge_agrees=_share(decided, lambda _: True, lambda one: bool(one.judged)),
        turns=_spread(one.turns for one in trials),
        tool_calls=_spread(one.tool_calls for one in trials),
        tokens=_spread(one.total_tokens for one in trials),
        seconds=_spread(one.seconds for one in trials),
        cost_usd=total_cost(trials),
    )


def by_case(trials: Sequence[Trial]) -> Mapping[str, list[Trial]]:
    grouped: dict[str, list[Trial]] = {}
    for trial in trials:
        grouped.setdefault(trial.identity.case, []).append(trial)
    return grouped


def total_cost(trials: Sequence[Trial]) -> float | None:
    """Return the cost of all trials, or None if the cost of one is not known."""
    known = [one.cost_usd for one in trials if one.cost_usd is not None]
    return sum(known) if known and len(known) == len(trials) else None


def _slice(name: str, trials: Sequence[Trial], belongs: Callable[[Trial], bool]) -> Slice:
    runs = by_case([one for one in trials if belongs(one)])
    return Slice(str(name), len(runs), weighted_mean((_rate(of_case), of_case[0].weight) for of_case in runs.values()))


def _share(trials: Sequence[Trial], belongs: Callable[[Trial], bool], counts: Callable[[Trial], bool]) -> Share:
    among = [one for one in trials if belongs(one)]
    return Share(sum(counts(one) for one in among), len(among))


def _abstains(trial: Trial) -> bool:
    return trial.outcome is VerdictOutcome.INCONCLUSIVE


def _spread(values: Iterable[float]) -> Spread:
    found = list(values)
    return Spread(mean(found), quantile(found, 0.9))


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure before and after, with the difference over the common cases."""

    name: str
    before: float
    after: float
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    before: str
    after: str
    # Common cases; a case whose files have changed is not among them.
    cases: int
    changed_cases: tuple[str, ...]
    pass_rate: FigureChange
    others: tuple[FigureChange, ...]
    # Cases with the change of their pass rate.
    worse: tuple[tuple[str, float], ...]
    better: tuple[tuple[str, float], ...]

    @property
    def is_regression(self) -> bool:
        """Return whether significantly fewer cases pass."""
        return self.pass_rate.difference.mean < 0 and self.pass_rate.difference.is_below_zero

    @property
    def is_progress(self) -> bool:
        return self.pass_rate.difference.mean > 0 and self.pass_rate.difference.is_above_zero


def compare(before: Sequence[Trial], after: Sequence[Trial], *, names: tuple[str, str] = ("before", "after")) -> Comparison:
    """Compare two models, or one before and after a change, case by case, so that the difficulty of cases cancels out."""
    earlier, later = by_case(before), by_case(after)
    both = sorted(earlier.keys() & later.keys())
    digests = {case: [{one.identity.case_digest for one in trials[case]} for trials in (earlier, later)] for case in both}
    cases = [case for case in both if digests[case][0] == digests[case][1]]
    rates = {case: _rate(later[case]) - _rate(earlier[case]) for case in cases}
    pairs = [(earlier[case], later[case]) for case in cases]
    return Comparison(
        before=names[0],
        after=names[1],
        cases=len(cases),
        changed_cases=tuple(case for case in both if case not in rates),
        pass_rate=_figure("pass@1", pairs, _rate, [later[0].weight for _, later in pairs]),
        others=tuple(_figure(name, pairs, value) for name, value in _OTHERS.items()),
        worse=tuple(sorted(((case, by) for case, by in rates.items() if by < 0), key=lambda one: (one[1], one[0]))),
        better=tuple(sorted(((case, by) for case, by in rates.items() if by > 0), key=lambda one: (-one[1], one[0]))),
    )


def _rate(trials: Sequence[Trial]) -> float:
    """Return the share of runs of a case that passed: pass@1."""
    return mean(float(one.passed) for one in trials)


def _mean_of(name: str) -> Callable[[Sequence[Trial]], float]:
    return lambda trials: mean(float(getattr(one, name)) for one in trials)


_OTHERS: dict[str, Callable[[Sequence[Trial]], float]] = {
    "citations verified": _mean_of("verified"),
    "unsupported claims": _mean_of("unsupported"),
    "turns": _mean_of("turns"),
    "tokens": _mean_of("total_tokens"),
}


def _figure(
    name: str,
    pairs: Sequence[tuple[Sequence[Trial], Sequence[Trial]]],
    value: Callable[[Sequence[Trial]], float],
    weights: Sequence[float] = (),
) -> FigureChange:
    before, after = [value(earlier) for earlier, _ in pairs], [value(later) for _, later in pairs]
    weights = weights or [1.0] * len(pairs)
    differences = [later - earlier for earlier, later in zip(before, after, strict=True)]
    earlier_mean, later_mean = (weighted_mean(zip(values, weights, strict=True)) for values in (before, after))
    return FigureChange(name, earlier_mean, later_mean, bootstrap(differences, weights))
