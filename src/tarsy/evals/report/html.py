"""The report as one HTML page with SVG plots. The page loads nothing, so that it can be kept, mailed and opened anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template

from tarsy.evals.report.report import EvalReport, difference, figures, judgement, percent
from tarsy.evals.statistics import Comparison, Slice, Summary
from tarsy.evals.trials import Trial

_ROW, _LABEL, _WIDTH, _VALUE = 22, 190, 320, 90


@dataclass(frozen=True, slots=True)
class Bar:
    """A share from 0 to 1 with its interval, and the text behind the bar."""

    label: str
    value: float
    words: str
    low: float | None = None
    high: float | None = None


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Draw horizontal bars, one row each."""
    height = _ROW * len(rows) + 4
    drawn = ""
    for place, row in enumerate(rows):
        top, middle, whisker = place * _ROW + 2, place * _ROW + 2 + _ROW // 2, ""
        if row.low is not None and row.high is not None:
            left, right = _LABEL + row.low * _WIDTH, _LABEL + row.high * _WIDTH
            whisker = f'<line class="whisker" x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}"/>'
        drawn += (
            f'<text x="{_LABEL - 8}" y="{middle + 4}" text-anchor="end">{escape(row.label)}</text>'
            f'<rect class="track" x="{_LABEL}" y="{top + 3}" width="{_WIDTH}" height="{_ROW - 6}"/>'
            f'<rect class="bar" x="{_LABEL}" y="{top + 3}" width="{row.value * _WIDTH:.1f}" height="{_ROW - 6}"/>{whisker}'
            f'<text x="{_LABEL + _WIDTH + 8}" y="{middle + 4}">{escape(row.words)}</text>'
        )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {_LABEL + _WIDTH + _VALUE} {height}" width="100%" style="max-width:{_LABEL + _WIDTH + _VALUE}px">{drawn}</svg></figure>'
    )


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    label: str
    good: bool


def scatter(title: str, x_name: str, y_name: str, points: Sequence[Point]) -> str:
    """Draw a dot for each point, green if it is good."""
    width, height, margin = 520, 220, 44
    most_x = max((one.x for one in points), default=0) or 1
    most_y = max((one.y for one in points), default=0) or 1

    def dot(one: Point) -> str:
        x = margin + one.x / most_x * (width - margin - 10)
        y = height - margin - one.y / most_y * (height - margin - 10)
        kind = "good" if one.good else "bad"
        return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(one.label)}</title></circle>'

    axes = (
        f'<line class="axis" x1="{margin}" x2="{width}" y1="{height - margin}" y2="{height - margin}"/>'
        f'<line class="axis" x1="{margin}" x2="{margin}" y1="6" y2="{height - margin}"/>'
        f'<text x="{width}" y="{height - 8}" text-anchor="end">{escape(x_name)} (most: {most_x:g})</text>'
        f'<text x="{margin}" y="{height - 8}">0</text><text x="{margin + 6}" y="16">{escape(y_name)} (most: {most_y:g})</text>'
    )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" '
        f'width="100%" style="max-width:{width}px">{axes}{"".join(map(dot, points))}</svg></figure>'
    )


_PAGE = Template("""\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>TARSy eval</title>
<style>
:root { color-scheme: light dark; --ink: light-dark(#1b1b1f, #e8e8ee); --soft: light-dark(#e4e4ea, #34343c); --good: #2e8b57; --bad: #c0392b; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; } svg text { fill: var(--ink); font-size: 12px; }
.track { fill: var(--soft); } .bar { fill: #4472c4; } .whisker { stroke: var(--ink); stroke-width: 1.5; } .axis { stroke: var(--ink); }
.good { fill: var(--good); color: var(--good); } .bad { fill: var(--bad); color: var(--bad); }
details { border-top: 1px solid var(--soft); padding: .3rem 0; } pre { white-space: pre-wrap; background: var(--soft); padding: .6rem; }
.regression { border-left: .3rem solid var(--bad); padding-left: .8rem; }
</style></head><body>
<h1>How good is it?</h1>
<p>TARSy $version, $created. $count trials.</p>
$comparisons
$summaries
<h2>Trials</h2>
$trials
<h2>What was measured</h2>
<table>$digests</table>
</body></html>
""")


def as_html(report: EvalReport) -> str:
    rows = (
        f"<tr><th>{escape(kind)}</th><td>{escape(name)} <code>{escape(value)}</code></td></tr>"
        for kind, found in report.digests.items()
        for name, value in found.items()
    )
    return _PAGE.substitute(
        version=escape(report.version),
        created=escape(report.created_at.strftime("%Y-%m-%d %H:%M UTC")),
        count=len(report.trials),
        comparisons="\n".join(map(_comparison, report.comparisons)),
        summaries="\n".join(
            _summary(one, [trial for trial in report.trials if trial.identity.model == one.model]) for one in report.summaries
        ),
        trials="\n".join(map(_trial, report.trials)),
        digests="".join(rows),
    )


def _comparison(comparison: Comparison) -> str:
    kind = ' class="regression"' if comparison.is_regression else ""
    changed = [f"worse: {case} ({by * 100:+.0f})" for case, by in comparison.worse] + [
        f"better: {case} ({by * 100:+.0f})" for case, by in comparison.better
    ]
    items = "".join(f"<li>{escape(text)}</li>" for text in (*map(difference, comparison.others), *changed))
    return f"<section{kind}><h2>{escape(comparison.before)} → {escape(comparison.after)}</h2><p>{escape(judgement(comparison))}</p><ul>{items}</ul></section>"


def _summary(summary: Summary, trials: Sequence[Trial]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in figures(summary))
    found = summary.pass_at_1
    rates = [Bar("pass@1", found.mean, percent(found.mean), found.low, found.high)]
    rates += [Bar(f"pass^{k}", rate, percent(rate)) for k, rate in summary.pass_hat_k.items() if k > 1]
    points = [Point(one.turns, one.total_tokens, one.identity.case, one.passed) for one in trials]
    plots = (
        bars("How many cases it solves", rates),
        bars("By difficulty", [_row(one) for one in summary.by_difficulty]),
        bars("By family and tag", [_row(one) for one in summary.by_group]),
        scatter("What a trial takes", "turns", "tokens", points),
    )
    return f"<h2>{escape(summary.model)}</h2><table>{rows}</table>{''.join(plots)}"


def _trial(trial: Trial) -> str:
    kind, word = ("good", "pass") if trial.passed else ("bad", "fail")
    checks = "".join(
        f'<li class="{"good" if one.passed else "bad"}">{escape(one.name)}{f": {escape(one.detail)}" if one.detail else ""}</li>'
        for one in trial.checks
    )
    name = f"{trial.identity.model} · {trial.identity.case} #{trial.identity.run}"
    return (
        f'<details><summary><span class="{kind}">{word}</span> {escape(name)}: {escape(trial.title)}</summary>'
        f"<ul>{checks}</ul><p>{trial.turns} turns, {trial.tool_calls} tool calls, {trial.total_tokens} tokens, {trial.seconds:.1f} s{_confidence(trial)}</p>"
        f"<pre>{escape(trial.analysis or trial.error)}</pre></details>"
    )


def _confidence(trial: Trial) -> str:
    stated, computed = trial.confidence("confidence"), trial.confidence("shown_confidence")
    return f"; confidence: {stated} stated, {computed or 'not'} computed" if stated else ""


def _row(one: Slice) -> Bar:
    return Bar(one.name, one.pass_at_1, f"{percent(one.pass_at_1)} of {one.cases}")
