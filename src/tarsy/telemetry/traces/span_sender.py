"""Sends spans that have ended, in batches, from a thread of its own: the SDK's processor without the ten calls that it makes for each."""

from collections import deque
from collections.abc import Mapping, Sequence
from threading import Event, Thread
from typing import Protocol

import structlog

from tarsy.telemetry.traces.span import OpenSpan

log = structlog.get_logger(__name__)

QUEUE_SIZE = "OTEL_BSP_MAX_QUEUE_SIZE"
BATCH_SIZE = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
DELAY = "OTEL_BSP_SCHEDULE_DELAY"
# The SDK's own defaults; times in milliseconds.
_QUEUE_SIZE = 2_048
_BATCH_SIZE = 512
_DELAY = 5_000
# As long as the SDK waits for a collector that does not answer.
_LAST_SECONDS = 30


class SpanExporter(Protocol):
    """The library's exporters, for spans of ours."""

    def export(self, spans: Sequence[OpenSpan]) -> object: ...

    def shutdown(self) -> None: ...


class SpanSender:
    """Sends when a batch is full, now and then, and a last time when it is closed. Where spans come faster than they go, the oldest are lost."""

    def __init__(self, exporter: SpanExporter, env: Mapping[str, str]) -> None:
        self._exporter = exporter
        self._most = _number(env.get(QUEUE_SIZE), _QUEUE_SIZE)
        self._batch = min(_number(env.get(BATCH_SIZE), _BATCH_SIZE), self._most)
        self._delay = _number(env.get(DELAY), _DELAY) / 1000
        self._waiting: deque[OpenSpan] = deque(maxlen=self._most)
        self._lost = 0
        self._due = Event()
        self._ended = False
        self._thread = Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def send(self, span: OpenSpan) -> None:
        waiting = self._waiting
        if len(waiting) == self._most:
            self._lost += 1
        waiting.append(span)
        if len(waiting) >= self._batch and not self._due.is_set():
            self._due.set()

    def _run(self) -> None:
        while not self._ended:
            full = self._due.wait(self._delay)
            self._due.clear()
            self._send_from(self._batch if full and not self._ended else 1)
            if self._lost:
                log.warning("spans.lost", count=self._lost)
                self._lost = 0
        self._send_from(1)

    def _send_from(self, least: int) -> None:
        """Send what waits while there is so much of it. Only this thread takes spans away."""
        while len(self._waiting) >= least:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._batch))]
            try:
                self._exporter.export(batch)
            except Exception as error:  # noqa: BLE001 - the next batch may arrive
                log.warning("spans.not_sent", error=str(error) or type(error).__name__)

    def close(self) -> None:
        """Send what is left."""
        self._ended = True
        self._due.set()
        self._thread.join(_LAST_SECONDS)
        self._exporter.shutdown()


def _number(said: str | None, default: int) -> int:
    try:
        return max(int(said or default), 1)
    except ValueError:
        return default
