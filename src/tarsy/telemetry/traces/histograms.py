"""The metrics that the conventions ask for: histograms, summed up here and sent every minute.

The SDK's instruments check, copy and sort the attributes of every single measurement; ours are named by a key that is made once.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import time_ns

import structlog
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tarsy import __version__
from tarsy.telemetry.metrics import MOST_VALUES
from tarsy.telemetry.traces import conventions as names

log = structlog.get_logger(__name__)

INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
TEMPORALITY = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
# The SDK's own defaults, in milliseconds.
_INTERVAL = 60_000
_TIMEOUT = 30_000

# What is taken down before it is sorted: enough to do it in one go, few enough to be done in a moment.
MOST_TAKEN = 500

# The attributes of a measurement, in an order of the caller's.
Key = tuple[tuple[str, str], ...]
_OVERFLOW: Key = (("otel.metric.overflow", "true"),)


@dataclass(slots=True)
class _Sums:
    counts: list[int]
    sum: float = 0
    min: float = float("inf")
    max: float = float("-inf")


@dataclass(slots=True)
class Histogram:
    """Values by attributes, in buckets. Values are taken down as they come, by the event loop, and sorted many at a time."""

    name: str
    unit: str
    description: str
    bounds: Sequence[float]
    _taken: deque[tuple[float, Key]] = field(default_factory=deque[tuple[float, Key]])
    _sums: dict[Key, _Sums] = field(default_factory=dict[Key, _Sums])
    _lock: Lock = field(default_factory=Lock)

    def record(self, value: float, key: Key) -> None:
        self._taken.append((value, key))
        if len(self._taken) >= MOST_TAKEN:
            with self._lock:
                self._sort()

    def _sort(self) -> None:
        """Only what is there now: more may come meanwhile."""
        for _ in range(len(self._taken)):
            value, key = self._taken.popleft()
            sums = self._sums.get(key) or self._new(key)
            sums.counts[bisect_left(self.bounds, value)] += 1
            sums.sum += value
            sums.min = min(sums.min, value)
            sums.max = max(sums.max, value)

    def _new(self, key: Key) -> _Sums:
        known = key if len(self._sums) < MOST_VALUES else _OVERFLOW
        return self._sums.setdefault(known, _Sums([0] * (len(self.bounds) + 1)))

    def read(self, since: int, now: int, *, delta: bool) -> Metric | None:
        """What was recorded, since the beginning or since it was last read; None: nothing."""
        with self._lock:
            self._sort()
            points = [self._point(key, sums, since, now) for key, sums in self._sums.items()]
            if delta:
                self._sums = {}
        temporality = AggregationTemporality.DELTA if delta else AggregationTemporality.CUMULATIVE
        return Metric(self.name, self.description, self.unit, HistogramData(points, temporality)) if points else None

    def _point(self, key: Key, sums: _Sums, since: int, now: int) -> HistogramDataPoint:
        return HistogramDataPoint(
            attributes=dict(key),
            start_time_unix_nano=since,
            time_unix_nano=now,
            count=sum(sums.counts),
            sum=sums.sum,
            bucket_counts=tuple(sums.counts),
            explicit_bounds=self.bounds,
            min=sums.min,
            max=sums.max,
        )


class Instruments:
    """Every histogram there is."""

    def __init__(self) -> None:
        self.operation = _duration("gen_ai.client.operation.duration", "GenAI operation duration.")
        self.workflow = _duration("gen_ai.workflow.duration", "Duration of sessions and stages.")
        self.agent = _duration("gen_ai.invoke_agent.duration", "Duration of agent executions.")
        self.tool = _duration("gen_ai.execute_tool.duration", "Duration of tool calls.")
        self.tokens = Histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", names.TOKEN_BUCKETS)

    @property
    def all(self) -> tuple[Histogram, ...]:
        return self.operation, self.workflow, self.agent, self.tool, self.tokens


def _duration(name: str, told: str) -> Histogram:
    return Histogram(name, "s", told, names.DURATION_BUCKETS)


class MetricSender:
    """Sends the histograms now and then from a thread of its own, and a last time when it is closed."""

    def __init__(self, exporter: MetricExporter, instruments: Instruments, resource: Resource, env: Mapping[str, str]) -> None:
        self._exporter = exporter
        self._instruments = instruments
        self._resource = resource
        self._delta = env.get(TEMPORALITY, "").strip().upper() in {"DELTA", "LOWMEMORY"}
        self._interval = _milliseconds(env.get(INTERVAL)) / 1000
        self._since = time_ns()
        self._ended = Event()
        self._thread = Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._send()
        self._send()

    def _send(self) -> None:
        now = time_ns()
        read = [one.read(self._since, now, delta=self._delta) for one in self._instruments.all]
        metrics = [one for one in read if one]
        if self._delta:
            self._since = now
        if not metrics:
            return
        scope = ScopeMetrics(InstrumentationScope("tarsy", __version__), metrics, "")
        try:
            self._exporter.export(  # pyright: ignore[reportUnknownMemberType] - its further arguments are untyped
                MetricsData([ResourceMetrics(self._resource, [scope], "")]), timeout_millis=_TIMEOUT
            )
        except Exception as error:  # noqa: BLE001 - the next minute tells the same and more
            log.warning("metrics.not_sent", error=str(error) or type(error).__name__)

    def close(self) -> None:
        """Send what is left."""
        self._ended.set()
        self._thread.join()
        self._exporter.shutdown()  # pyright: ignore[reportUnknownMemberType] - the same


def _milliseconds(said: str | None) -> float:
    try:
        return max(float(said or _INTERVAL), 1.0)
    except ValueError:
        return _INTERVAL
