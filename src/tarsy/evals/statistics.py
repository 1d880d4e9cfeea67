"""The numbers of a measurement: pass@1, pass^k, and whether a difference is more than chance. Pure module."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, fsum

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
