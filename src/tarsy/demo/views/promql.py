"""A part of PromQL, evaluated at the world's now: selectors, functions over a range, aggregations, arithmetic and comparison with numbers."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from math import fsum
from typing import Annotated

from pydantic import Field

from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.views.metrics import matching, value_at
from tarsy.demo.world import ClusterData, Series

_TOKEN = re.compile(
    r"\s*(?:(?P<range>\[\s*\d+[smhd]\s*\])|(?P<number>\d+(?:\.\d+)?)|(?P<selector>[A-Za-z_:][\w:]*\s*(?:\{[^}]*\})?)|(?P<sign>>=|<=|==|!=|[-+*/<>(),]))"
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# Points at which a range is sampled: enough to notice a counter that was reset.
_STEPS = 60
_MOST_ROWS = 20

Labels = tuple[tuple[str, str], ...]
Vector = Mapping[Labels, float]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def promql_query(
    world: ClusterData,
    query: Annotated[
        str,
        Field(
            description="PromQL: selectors, rate/increase/delta/…_over_time over a range, sum/avg/min/max/count by (…), topk, "
            "arithmetic and comparison with numbers. Evaluated now."
        ),
    ],
) -> str:
    """Evaluate a PromQL expression at this moment."""
    try:
        value = _Evaluation(world, query).whole()
    # The sum of two infinities is a ValueError.
    except (ArithmeticError, ValueError, RecursionError) as error:
        raise _unreadable(query, "a number in it is zero or too large, or it is nested too deeply") from error
    if not value:
        return "Empty result: no series match, or none fulfils the condition."
    rows = sorted(value.items(), key=lambda row: (-row[1], row[0]))
    shown: list[str] = []
    for labels, number in rows[:_MOST_ROWS]:
        matchers = ",".join(f'{name}="{value}"' for name, value in labels)
        shown.append(f"{{{matchers}}}  {number:.6g}")
    return "\n".join([*shown, *([f"… and {len(rows) - _MOST_ROWS} more series"] if len(rows) > _MOST_ROWS else [])])


def _tokens(query: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while position < len(query.rstrip()):
        token = _TOKEN.match(query, position)
        if token is None or token.lastgroup is None:
            raise _unreadable(query, f'at "{query[position : position + 20].strip()}"')
        found.append(_Token(token.lastgroup, token[token.lastgroup].strip()))
        position = token.end()
    return found


def _unreadable(query: str, why: str) -> ToolRefusedError:
    return ToolRefusedError(
        f'cannot read "{query}": {why}. Supported: metric{{label="value"}}, rate(m[5m]) and other functions over a range, '
        "sum/avg/min/max/count by (label) (…), topk(3, …), arithmetic and comparison with numbers."
    )


def _increase(values: Sequence[float]) -> float:
    """Return the increase of a counter, which starts again at zero when its process restarts."""
    return fsum(after - before if after >= before else after for before, after in pairwise(values))


_OVER_RANGE: Mapping[str, Callable[[Sequence[float], float], float]] = {
    "rate": lambda values, seconds: _increase(values) / seconds,
    "irate": lambda values, seconds: _increase(values[-2:]) / (seconds / _STEPS),
    "increase": lambda values, _: _increase(values),
    "delta": lambda values, _: values[-1] - values[0],
    "avg_over_time": lambda values, _: fsum(values) / len(values),
    "max_over_time": lambda values, _: max(values),
    "min_over_time": lambda values, _: min(values),
}
_AGGREGATIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": fsum,
    "avg": lambda values: fsum(values) / len(values),
    "min": min,
    "max": max,
    "count": lambda values: float(len(values)),
}
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    # As in Prometheus, a division by zero is not an error.
    "/": lambda one, other: one / other if other else float("inf"),
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
# In ascending order of precedence.
_LEVELS = (frozenset(_COMPARISONS), frozenset("+-"), frozenset("*/"))


class _Evaluation:
    """A recursive descent parser that evaluates the expression while it parses it."""

    def __init__(self, world: ClusterData, query: str) -> None:
        self._world = world
        self._query = query
        self._rest = _tokens(query)

    def whole(self) -> Vector:
        value = self._expression()
        if self._rest:
            raise _unreadable(self._query, f'"{self._rest[0].text}" is not expected there')
        return value

    def _expression(self, level: int = 0) -> Vector:
        if level == len(_LEVELS):
            return self._operand()
        value = self._expression(level + 1)
        while (sign := self._sign()) in _LEVELS[level]:
            self._rest.pop(0)
            pairs = _pairs(value, self._expression(level + 1))
            if sign in _COMPARISONS:
                value = {labels: number for labels, number, second in pairs if _COMPARISONS[sign](number, second)}
            else:
                value = {labels: _ARITHMETIC[sign](number, second) for labels, number, second in pairs}
        return value

    def _sign(self) -> str:
        return self._rest[0].text if self._rest else ""

    def _operand(self) -> Vector:
        token = self._next("an expression")
        if token.kind == "number":
            return {(): float(token.text)}
        if token.text == "(":
            value = self._expression()
            self._expect(")")
            return value
        if token.kind != "selector":
            raise _unreadable(self._query, f'"{token.text}" is not expected there')
        name = token.text
        if name in _AGGREGATIONS:
            return self._aggregation(name)
        if name in {"topk", "bottomk"}:
            return self._ranked(name)
        if name in _OVER_RANGE and self._sign() == "(":
            return self._over_range(name)
        return {
            _labels(series): value
            for series in matching(self._world, name)[1]
            if (value := value_at(self._world, series, self._world.now)) is not None
        }

    def _over_range(self, name: str) -> Vector:
        self._expect("(")
        selector, span = self._next("a selector"), self._next("a range")
        if selector.kind != "selector" or span.kind != "range":
            raise _unreadable(self._query, f"{name} takes a selector with a range, such as {name}(up[5m])")
        self._expect(")")
        length = span.text.strip("[]").strip()
        seconds = float(length[:-1]) * _UNITS[length[-1]]
        times = [self._world.now - timedelta(seconds=seconds * (1 - step / _STEPS)) for step in range(_STEPS + 1)]
        result: dict[Labels, float] = {}
        for series in matching(self._world, selector.text)[1]:
            if values := [value for at in times if (value := value_at(self._world, series, at)) is not None]:
                result[_labels(series)] = _OVER_RANGE[name](values, seconds)
        return result

    def _aggregation(self, name: str) -> Vector:
        by = self._grouping()
        self._expect("(")
        value = self._expression()
        self._expect(")")
        by = by if by is not None else self._grouping() or frozenset()
        groups: dict[Labels, list[float]] = {}
        for labels, number in value.items():
            groups.setdefault(tuple(pair for pair in labels if pair[0] in by), []).append(number)
        return {labels: _AGGREGATIONS[name](numbers) for labels, numbers in groups.items()}

    def _grouping(self) -> frozenset[str] | None:
        if self._sign() != "by":
            return None
        self._rest.pop(0)
        self._expect("(")
        names: set[str] = set()
        while self._sign() not in {"", ")"}:
            names.add(self._rest.pop(0).text)
        self._expect(")")
        return frozenset(names - {","})

    def _ranked(self, name: str) -> Vector:
        self._expect("(")
        count = self._next("a number")
        self._expect(",")
        value = self._expression()
        self._expect(")")
        if count.kind != "number":
            raise _unreadable(self._query, f"{name} takes a number first")
        rows = sorted(value.items(), key=lambda row: row[1], reverse=name == "topk")
        return dict(rows[: int(float(count.text))])

    def _next(self, wanted: str) -> _Token:
        if not self._rest:
            raise _unreadable(self._query, f"{wanted} is missing at its end")
        return self._rest.pop(0)

    def _expect(self, text: str) -> None:
        token = self._next(f'"{text}"')
        if token.text != text:
            raise _unreadable(self._query, f'"{text}" is expected before "{token.text}"')


def _labels(series: Series) -> Labels:
    return tuple(sorted(series.labels.items()))


def _pairs(value: Vector, other: Vector) -> list[tuple[Labels, float, float]]:
    """Pair a number with every series, and the series of two vectors that have the same labels."""
    if tuple(other) == ((),):
        return [(labels, number, other[()]) for labels, number in value.items()]
    if tuple(value) == ((),):
        return [(labels, value[()], number) for labels, number in other.items()]
    return [(labels, number, other[labels]) for labels, number in value.items() if labels in other]
