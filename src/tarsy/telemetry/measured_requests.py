"""Metrics of HTTP requests, webhooks and live notifications."""

from datetime import datetime
from time import perf_counter
from typing import Any

import orjson
from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarsy.domain.live import SESSIONS_CHANNEL
from tarsy.kit.clock import Clock
from tarsy.telemetry.metrics import OTHER, BoundedLabel, Metrics, ProcessMetrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MeasuredHttp:
    """Counts each answer under the template of its route: an invented path or method makes no series."""

    def __init__(self, app: ASGIApp, metrics: ProcessMetrics) -> None:
        self._app = app
        self._metrics = metrics
        self._found: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()

        async def send_and_count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(scope, message["status"], perf_counter() - started)
            await send(message)

        await self._app(scope, receive, send_and_count)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        route = _route(scope)
        counted, timed = self._series(method, route, status)
        counted.inc()
        timed.observe(seconds)

    def _series(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        """The series of an answer, looked up once: there are as many as there are routes, methods and kinds of answers."""
        found = self._found.get((method, route, status))
        if found is None:
            made = self._metrics.requests.labels(method, route, str(status)), self._metrics.request_seconds.labels(method, route)
            found = self._found[method, route, status] = made
        return found


def _route(scope: Scope) -> str:
    # FastAPI keeps the route as it stands in its router; what it was included under is known to this context alone.
    included: Any = scope.get("fastapi", {}).get("effective_route_context")
    route: Any = included or scope.get("route")
    return getattr(route, "path", OTHER) or OTHER


class CountedIntake:
    def __init__(self, metrics: Metrics) -> None:
        self._intake = metrics.intake
        self._submitted = metrics.sessions.submitted
        # A sender's name comes out of an address, which strangers can make up.
        self._source = BoundedLabel()
        self._alert_type = BoundedLabel()

    def taken(self, source: str, action: str, alerts: int) -> None:
        self._intake.alerts.labels(self._source(source), action).inc(alerts)

    def changed(self, source: str, changes: int) -> None:
        self._intake.changes.labels(self._source(source)).inc(changes)

    def investigated(self, alert_type: str) -> None:
        self._submitted.labels(self._alert_type(alert_type)).inc()

    def refused(self, source: str, reason: str) -> None:
        self._intake.refused.labels(self._source(source), reason).inc()


class EventLag:
    """Listens beside the hub. The moves of sessions say when they were made."""

    def __init__(self, metrics: ProcessMetrics, clock: Clock) -> None:
        self._seconds = metrics.event_lag
        self._clock = clock

    def on_notification(self, text: str) -> None:
        if SESSIONS_CHANNEL not in text[:200]:
            return
        message: dict[str, Any] = orjson.loads(text)
        payload: dict[str, Any] = message.get("payload") or {}
        at: str | None = payload.get("at")
        if message["channel"] == SESSIONS_CHANNEL and at:
            # Clocks of two machines may disagree by more than the way takes.
            self._seconds.observe(max((self._clock.now() - datetime.fromisoformat(at)).total_seconds(), 0.0))
