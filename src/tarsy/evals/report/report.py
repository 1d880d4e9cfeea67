"""A report: the trials of a measurement, their figures, and the comparison with a baseline."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tarsy.domain.usage import format_usd
from tarsy.evals.statistics import Comparison, Estimate, FigureChange, Share, Summary, by_model, compare, summarise
from tarsy.evals.trials import Trial

# The share of cases that an adversary may pass: it is right by chance in one or two of a hundred.
MAX_CHANCE_PASS_RATE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    version: str
    created_at: datetime
    trials: tuple[Trial, ...]
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...] = ()
    # Trials that the budget did not allow.
    left_out: int = 0

    @property
    def is_regression(self) -> bool:
        return any(one.is_regression for one in self.comparisons)

    def limited_to(self, models: Container[str]) -> "EvalReport":
        """Return the report of these models alone."""
        trials = tuple(one for one in self.trials if one.identity.model in models)
        return replace(self, trials=trials, summaries=tuple(one for one in self.summaries if one.model in models))

    @property
    def can_be_gamed(self) -> bool:
        """Return whether a model of it, each of which is an adversary, passes more cases than luck explains."""
        return any(one.pass_at_1.mean >= MAX_CHANCE_PASS_RATE for one in self.summaries)

    @property
    def digests(self) -> Mapping[str, Mapping[str, str]]:
        """The hashes of the prompts, the configuration and the models that were measured."""
        identities = [one.identity for one in self.trials]
        return {
            "prompts": {"prompts": ", ".join(sorted({one.prompt_digest for one in identities}))},
            "configuration": {"chain": ", ".join(sorted({one.configuration_digest for one in identities}))},
            "models": {one.model: one.model_digest for one in identities},
        }


def report_of(
    trials: Sequence[Trial], baseline: Sequence[Trial] = (), *, version: str, created_at: datetime, left_out: int = 0
) -> EvalReport:
    """Build a report."""
    models = by_model(trials)
    return EvalReport(
        version=version,
        created_at=created_at,
        trials=tuple(one for of_model in models.values() for one in of_model),
        summaries=tuple(summarise(model, of_model) for model, of_model in models.items()),
        comparisons=comparisons(baseline, trials) if baseline else (),
        left_out=left_out,
    )


def comparisons(before: Sequence[Trial], after: Sequence[Trial]) -> tuple[Comparison, ...]:
    """Compare each model with itself, or the only model of each side with the other."""
    earlier, later = by_model(before), by_model(after)
    if len(earlier) == len(later) == 1:
        (old, old_trials), (new, new_trials) = *earlier.items(), *later.items()
        return (compare(old_trials, new_trials, names=(old, new)),)
    return tuple(compare(earlier[model], later[model], names=(model, model)) for model in later if model in earlier)


def percent(rate: float | None) -> str:
    return "none" if rate is None else f"{rate * 100:.0f} %"


def share(found: Share) -> str:
    return "none" if found.rate is None else f"{percent(found.rate)} ({found.count} of {found.of})"


def _right(found: Share) -> str:
    return f"{found.of} times: {found.count} right" if found.of else "never"


def interval(estimate: Estimate) -> str:
    return f"{percent(estimate.mean)} ({percent(estimate.low)} to {percent(estimate.high)})"


def figures(summary: Summary) -> list[tuple[str, str]]:
    """Return the figures of a model as names and texts, the most important first."""
    reliable = max(summary.pass_hat_k, default=1)
    return [
        ("pass@1", interval(summary.pass_at_1)),
        *([(f"pass^{reliable}", percent(summary.pass_hat_k[reliable]))] if reliable > 1 else []),
        ("cases / trials", f"{summary.cases} / {summary.trials}"),
        ("citations verified", share(summary.citations_verified)),
        ("unsupported claims", f"{summary.unsupported_claims:.1f} a trial"),
        ("uncited links", f"{summary.uncited_links:.1f} a trial"),
        ("false alarms", share(summary.false_alarms)),
        ("abstained rightly", share(summary.abstained_rightly)),
        ("abstained wrongly", share(summary.abstained_wrongly)),
        ("without verdict", share(summary.without_verdict)),
        ("confidently wrong", share(summary.confidently_wrong)),
        *(
            (f"confidence {one.level}", f"stated {_right(one.stated)}, computed {_right(one.computed)}")
            for one in summary.calibration
            if one.stated.of or one.computed.of
        ),
        *([("judge agrees", share(summary.judge_agrees))] if summary.judge_agrees.of else []),
        ("turns", f"{summary.turns.mean:.1f} (p90 {summary.turns.p90:.0f})"),
        ("tool calls", f"{summary.tool_calls.mean:.1f} (p90 {summary.tool_calls.p90:.0f})"),
        ("tokens", f"{summary.tokens.mean:.0f} (p90 {summary.tokens.p90:.0f})"),
        ("seconds", f"{summary.seconds.mean:.1f} (p90 {summary.seconds.p90:.1f})"),
        ("cost", "not known" if summary.cost_usd is None else format_usd(summary.cost_usd)),
    ]


def judgement(comparison: Comparison) -> str:
    """Return the comparison in one sentence."""
    if not comparison.cases:
        return "Nothing to compare: the two have no case in common."
    found = comparison.pass_rate
    change = f"{percent(found.before)} → {percent(found.after)} on {comparison.cases} cases"
    if comparison.is_regression:
        return f"Regression: pass@1 {change}; chance alone would do that {percent(found.difference.not_below_zero)} of the time."
    if comparison.is_progress:
        return f"Progress: pass@1 {change}; chance alone would do that {percent(found.difference.not_above_zero)} of the time."
    return f"No significant change: pass@1 {change}."


def difference(figure: FigureChange) -> str:
    shown = figure.difference
    return f"{figure.name}: {figure.before:.2f} → {figure.after:.2f} (difference {shown.mean:+.2f}, {shown.low:+.2f} to {shown.high:+.2f})"
