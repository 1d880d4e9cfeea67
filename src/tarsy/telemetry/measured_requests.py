"""Metrics of HTTP requests, webhooks and the database's notifications."""

from datetime import datetime
from time import perf_counter
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarsy.domain.live_events import SESSIONS_CHANNEL
from tarsy.kit.clock import Clock
from tarsy.telemetry.metrics import OTHER, BoundedLabel, Metrics, ProcessMetrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MeasuredHttp:
    """ASGI middleware that counts each response under the template of its route: an invented path or method makes no series."""

    def __init__(self, app: ASGIApp, metrics: ProcessMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else OTHER
                route: str = getattr(scope.get("route"), "path", OTHER) or OTHER
                self._metrics.requests.labels(method, route, str(message["status"])).inc()
                self._metrics.request_seconds.labels(method, route).observe(perf_counter() - started)
            await send(message)

        await self._app(scope, receive, send_and_count)


class CountedIntake:
    """Counts the alerts and changes of each sender, and rejected requests."""

    def __init__(self, metrics: Metrics) -> None:
        self._intake = metrics.intake
        self._source = BoundedLabel()
        # The name of a sender is part of the URL, which strangers can make up: theirs must not take the place of others.
        self._refused_source = BoundedLabel()

    def count_alerts(self, source: str, action: str, alerts: int) -> None:
        self._intake.alerts.labels(self._source(source), action).inc(alerts)

    def count_changes(self, source: str, changes: int) -> None:
        self._intake.changes.labels(self._source(source)).inc(changes)

    def count_refusal(self, source: str, reason: str) -> None:
        self._intake.refused.labels(self._refused_source(source), reason).inc()


class EventLag:
    """Measures the time from a session's status change, by any process, to the database's notification of it in this one."""

    def __init__(self, metrics: ProcessMetrics, clock: Clock) -> None:
        self._seconds = metrics.event_lag
        self._clock = clock

    def on_notification(self, text: str) -> None:
        # Most notifications of the database are about other channels, and not worth parsing.
        if SESSIONS_CHANNEL not in text[:200]:
            return
        message: dict[str, Any] = orjson.loads(text)
        payload: dict[str, Any] = message.get("payload") or {}
        at: str | None = payload.get("at")
        if message["channel"] == SESSIONS_CHANNEL and at:
            # The clocks of two machines may disagree by more than the delivery takes.
            self._seconds.observe(max((self._clock.now() - datetime.fromisoformat(at)).total_seconds(), 0.0))
