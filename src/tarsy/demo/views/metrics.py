"""Metrics: PromQL-like instant selectors over recorded series."""

import re
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import timestamp
from tarsy.demo.lookup import Minutes, UnknownObjectError
from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.world import ClusterData, Series

_SELECTOR = re.compile(r"\s*(?P<metric>[A-Za-z_:][\w:]*)\s*(?:\{(?P<matchers>[^}]*)\})?\s*")
_MATCHER = re.compile(r'\s*(?P<label>\w+)\s*(?P<sign>=~|!~|!=|=)\s*"(?P<value>[^"]*)"\s*')
# Enough for a person or a model to see a trend.
_POINTS = 12
_MOST_SERIES = 12


def metrics_list(world: ClusterData) -> str:
    """List the metrics that are collected, with their labels."""
    labels: dict[str, set[str]] = {}
    for series in world.metrics:
        labels.setdefault(series.metric, set()).update(series.labels)
    return "\n".join(f"{name}  labels: {', '.join(sorted(labels[name]))}" for name in sorted(labels)) or "No metrics are collected."


def metrics_query(
    world: ClusterData,
    query: Annotated[str, Field(description='A plain selector: metric{label="value",other=~"regex"}. No functions.')],
    minutes: Minutes = 60,
) -> str:
    """Read time series by metric name and labels."""
    known, found = matching(world, query)
    if not found:
        return "\n".join([f"No series match. Series of {known[0].metric}:", *(f"  {_name(series)}" for series in known[:_MOST_SERIES])])
    return "\n".join(line for series in found[:_MOST_SERIES] for line in _render(world, series, minutes))


def matching(world: ClusterData, query: str) -> tuple[list[Series], list[Series]]:
    """Return all series of the metric that a plain selector names, and those of them that it selects.

    Raises:
        ToolRefusedError: the selector is invalid.
        UnknownObjectError: there is no such metric.
    """
    selector = _SELECTOR.fullmatch(query)
    parts = [part for part in (selector["matchers"] or "").split(",") if part.strip()] if selector else []
    matchers = [_MATCHER.fullmatch(part) for part in parts]
    if selector is None or not all(matchers):
        raise ToolRefusedError(
            f'cannot read "{query}": write a plain selector such as up{{namespace="shop"}}. '
            "Functions, ranges and arithmetic are not supported; rates are stored as series of their own (see metrics_list)."
        )
    conditions = [_condition(matcher) for matcher in matchers if matcher]
    known = [series for series in world.metrics if series.metric == selector["metric"]]
    if not known:
        names = ", ".join(sorted({series.metric for series in world.metrics}))
        raise UnknownObjectError(f'no metric is called "{selector["metric"]}". Metrics: {names}')
    return known, [series for series in known if all(condition(series) for condition in conditions)]


def _condition(matcher: re.Match[str]) -> Callable[[Series], bool]:
    label, sign, value = matcher["label"], matcher["sign"], matcher["value"]
    negated = sign.startswith("!")
    if "~" not in sign:
        return lambda series: (series.labels.get(label, "") == value) is not negated
    try:
        pattern = re.compile(value)
    except re.error as error:
        raise ToolRefusedError(f'"{value}" is not a regular expression: {error}') from error
    return lambda series: (pattern.fullmatch(series.labels.get(label, "")) is not None) is not negated


def value_at(world: ClusterData, series: Series, at: datetime) -> float | None:
    """Return the value of a series at a time; None before its first sample and after its last."""
    frames = sorted((world.at(when), value) for when, value in series.points.items())
    return _value(series, frames, at) if frames[0][0] <= at <= frames[-1][0] else None


def _render(world: ClusterData, series: Series, minutes: int) -> Iterator[str]:
    frames = sorted((world.at(at), value) for at, value in series.points.items())
    start = max(world.now - timedelta(minutes=minutes), frames[0][0])
    end = min(world.now, frames[-1][0])
    if start > end:
        yield f"{_name(series)}\n  no samples in the last {minutes} minutes; the last one is {_number(frames[-1][1], series)} at {timestamp(end)}"
        return
    step = (end - start) / (_POINTS - 1)
    times = (start + step * index for index in range(_POINTS))
    rounded = {at - timedelta(seconds=at.second % 15, microseconds=at.microsecond) for at in times}
    # A step in the value would vanish between two samples, so the corners are sampled too.
    corners = {at for at, _ in frames if start <= at <= end}
    samples = [(at, _value(series, frames, at)) for at in sorted(rounded | corners)]
    values = [value for _, value in samples]
    yield f"{_name(series)}  min={_number(min(values), series)} max={_number(max(values), series)} last={_number(values[-1], series)}"
    for at, value in samples:
        yield f"  {timestamp(at)}  {_number(value, series)}"


def _value(series: Series, frames: list[tuple[datetime, float]], at: datetime) -> float:
    before = max((frame for frame in frames if frame[0] <= at), default=frames[0])
    after = min((frame for frame in frames if frame[0] >= at), default=frames[-1])
    width = (after[0] - before[0]).total_seconds()
    share = (at - before[0]).total_seconds() / width if width else 0.0
    exact = before[1] + (after[1] - before[1]) * share
    if not width:
        return exact
    # Rough in the same way every time: the noise comes from the series and the time, not from chance.
    seed = zlib.crc32(f"{_name(series)}@{at.isoformat()}".encode())
    return exact * (1 + series.noise * (seed / 0xFFFFFFFF - 0.5) * 2)


def _name(series: Series) -> str:
    return series.metric + "{" + ",".join(f'{label}="{value}"' for label, value in series.labels.items()) + "}"


def _number(value: float, series: Series) -> str:
    return f"{value:.{series.digits}f}"
