"""Plots as SVG, drawn by hand: a page that loads nothing can be kept, mailed and opened anywhere. Pure module."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_ROW, _LABEL, _WIDTH, _VALUE = 22, 190, 320, 90


@dataclass(frozen=True, slots=True)
class Bar:
    """A share from 0 to 1, with the interval it may really be in, and words behind it."""

    label: str
    value: float
    words: str
    low: float | None = None
    high: float | None = None


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars of shares, one row each."""
    height = _ROW * len(rows) + 4
    drawn = "".join(_bar(row, place * _ROW + 2) for place, row in enumerate(rows))
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {_LABEL + _WIDTH + _VALUE} {height}" width="100%" style="max-width:{_LABEL + _WIDTH + _VALUE}px">{drawn}</svg></figure>'
    )


def _bar(row: Bar, top: int) -> str:
    middle = top + _ROW // 2
    whisker = ""
    if row.low is not None and row.high is not None:
        left, right = _LABEL + row.low * _WIDTH, _LABEL + row.high * _WIDTH
        whisker = f'<line class="whisker" x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}"/>'
    return (
        f'<text x="{_LABEL - 8}" y="{middle + 4}" text-anchor="end">{escape(row.label)}</text>'
        f'<rect class="track" x="{_LABEL}" y="{top + 3}" width="{_WIDTH}" height="{_ROW - 6}"/>'
        f'<rect class="bar" x="{_LABEL}" y="{top + 3}" width="{row.value * _WIDTH:.1f}" height="{_ROW - 6}"/>{whisker}'
        f'<text x="{_LABEL + _WIDTH + 8}" y="{middle + 4}">{escape(row.words)}</text>'
    )


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    label: str
    good: bool


def scatter(title: str, x_name: str, y_name: str, points: Sequence[Point]) -> str:
    """What each trial took: a dot for each, green where it passed."""
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
