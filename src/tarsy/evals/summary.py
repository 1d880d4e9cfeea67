"""What the trials of one model come to: the figures of a report. Pure module."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tarsy.domain.verdict import VerdictOutcome
from tarsy.evals.case import Difficulty
from tarsy.evals.statistics import Estimate, bootstrap, mean, pass_at_1, pass_hat_k, quantile
from tarsy.evals.trial import Trial


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
