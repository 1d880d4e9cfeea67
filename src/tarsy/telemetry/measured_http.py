"""HTTP requests by route: plain ASGI around the whole application."""

from time import perf_counter
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarsy.telemetry.labels import OTHER
from tarsy.telemetry.metrics import ProcessMetrics

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
