"""How figures are written, the same in every report. Pure module."""

from tarsy.evals.comparison import Comparison, Figure
from tarsy.evals.statistics import Estimate
from tarsy.evals.summary import Share, Summary


def percent(rate: float | None) -> str:
    return "none" if rate is None else f"{rate * 100:.0f} %"


def share(found: Share) -> str:
    return "none" if found.rate is None else f"{percent(found.rate)} ({found.count} of {found.of})"


def interval(estimate: Estimate) -> str:
    return f"{percent(estimate.mean)} ({percent(estimate.low)} to {percent(estimate.high)})"


def money(usd: float | None) -> str:
    return "not known" if usd is None else f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def figures(summary: Summary) -> list[tuple[str, str]]:
    """What a person wants to know of a model, the most important first."""
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
        *([("judge agrees", share(summary.judge_agrees))] if summary.judge_agrees.of else []),
        ("turns", f"{summary.turns.mean:.1f} (p90 {summary.turns.p90:.0f})"),
        ("tool calls", f"{summary.tool_calls.mean:.1f} (p90 {summary.tool_calls.p90:.0f})"),
        ("tokens", f"{summary.tokens.mean:.0f} (p90 {summary.tokens.p90:.0f})"),
        ("seconds", f"{summary.seconds.mean:.1f} (p90 {summary.seconds.p90:.1f})"),
        ("cost", money(summary.cost_usd)),
    ]


def judgement(comparison: Comparison) -> str:
    """The comparison in one sentence."""
    if not comparison.cases:
        return "Nothing to compare: the two have no case in common."
    found = comparison.pass_rate
    change = f"{percent(found.before)} → {percent(found.after)} on {comparison.cases} cases"
    if comparison.is_regression:
        return f"Regression: pass@1 {change}; chance alone would do that {percent(found.difference.not_below_zero)} of the time."
    if comparison.is_progress:
        return f"Progress: pass@1 {change}; chance alone would do that {percent(found.difference.not_above_zero)} of the time."
    return f"No significant change: pass@1 {change}."


def difference(figure: Figure) -> str:
    shown = figure.difference
    return f"{figure.name}: {figure.before:.2f} → {figure.after:.2f} (difference {shown.mean:+.2f}, {shown.low:+.2f} to {shown.high:+.2f})"
