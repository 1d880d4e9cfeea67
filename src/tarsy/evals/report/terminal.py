"""The report as lines for a terminal."""

from collections.abc import Iterator

from tarsy.evals.report.report import MAX_CHANCE_PASS_RATE, EvalReport, difference, figures, judgement, percent
from tarsy.evals.statistics import Comparison
from tarsy.evals.trials import Trial

# Wide enough for the longest name of a figure.
_NAME_WIDTH = 22
# As many as fit on a screen; the page has all.
_MAX_FAILURES = 15
_BAR_WIDTH = 20


def progress_line(trial: Trial, number: int, count: int) -> str:
    """Return a line about a trial that has just ended."""
    sign = "pass" if trial.passed else "FAIL"
    why = "" if trial.passed else f"  {trial.failures[0].name}: {trial.failures[0].detail}"
    return f"[{number}/{count}] {sign}  {trial.identity.model}  {trial.identity.case} #{trial.identity.run}{why}"


def as_lines(report: EvalReport) -> Iterator[str]:
    for summary in report.summaries:
        yield ""
        yield summary.model
        yield "-" * len(summary.model)
        yield from (f"{name:<{_NAME_WIDTH}} {value}" for name, value in figures(summary))
        for title, slices in (("by difficulty", summary.by_difficulty), ("by family and tag", summary.by_group)):
            yield f"{title}:"
            for one in slices:
                filled = round(one.pass_at_1 * _BAR_WIDTH)
                bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
                yield f"  {one.name:<{_NAME_WIDTH - 2}} {bar} {percent(one.pass_at_1):>5}  of {one.cases}"
    failed = [one for one in report.trials if not one.passed]
    if failed:
        yield f"\n{len(failed)} trials failed:"
    for trial in failed[:_MAX_FAILURES]:
        yield f"  {trial.identity.model}  {trial.identity.case} #{trial.identity.run}: {'; '.join(check.name for check in trial.failures)}"
    if len(failed) > _MAX_FAILURES:
        yield f"  … and {len(failed) - _MAX_FAILURES} more"
    for comparison in report.comparisons:
        yield ""
        yield from comparison_lines(comparison)
    if report.left_out:
        yield f"\n{report.left_out} trials were not made: the budget was spent. Run again with more to go on."
    yield ""
    yield from (f"{kind}: {', '.join(f'{name} {value}' for name, value in found.items())}" for kind, found in report.digests.items())


def adversary_lines(report: EvalReport) -> Iterator[str]:
    """Yield a line for each adversary, and how to mend the cases that it passes."""
    if report.summaries:
        yield "\nadversaries, who find nothing out:"
    for summary in report.summaries:
        passed = sorted({one.identity.case for one in report.trials if one.passed and one.identity.model == summary.model})
        yield f"  {summary.model:<{_NAME_WIDTH}} {percent(summary.pass_at_1.mean):>5}  {', '.join(passed)}"
    if report.can_be_gamed:
        yield f"These cases can be gamed: an adversary passes {percent(MAX_CHANCE_PASS_RATE)} or more of them. Require more in mechanism and must_cite."


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    yield f"{comparison.before} → {comparison.after}: {judgement(comparison)}"
    yield from (f"  {difference(figure)}" for figure in comparison.others)
    for word, cases in (("worse", comparison.worse), ("better", comparison.better)):
        yield from (f"  {word}: {case} ({by * 100:+.0f} points)" for case, by in cases)
    if comparison.changed_cases:
        yield f"  not compared, because their files changed: {', '.join(comparison.changed_cases)}"
