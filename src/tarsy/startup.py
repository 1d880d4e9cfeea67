"""What answers while the program is still being loaded and put together."""

import gc
from collections.abc import Awaitable, Callable, Mapping

import anyio
import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from tarsy import __version__

# Once all is loaded, what remains to be looked at is what requests and sessions make: most of it ends without the collector, so looking
# seldom is enough. A full look comes after 20 x 20 small ones; without the frozen part it takes milliseconds.
COLLECTOR_THRESHOLDS = (10_000, 20, 20)


def settle_collector() -> None:
    """All is loaded and put together, and stays for ever: the collector shall look at what comes after it."""
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


_CHECKS: Mapping[str, Mapping[str, object]] = {
    "database": {"status": "healthy", "message": "", "details": {}},
    "application": {"status": "unhealthy", "message": "still being loaded; requests wait for it", "details": {}},
}


class FrontDoor:
    """Requests wait here for the application, except for the question whether we are well, if `database_is_ready` can tell."""

    def __init__(self, database_is_ready: Callable[[], Awaitable[bool]]) -> None:
        self._database_is_ready = database_is_ready
        self._application: ASGIApp = self._meanwhile
        self._opened = anyio.Event()
        # A crowd that asks shall not open a crowd of connections.
        self._asking = anyio.Lock()

    def open(self, application: ASGIApp) -> None:
        self._application = application
        self._opened.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)

    async def _meanwhile(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _asks_for_health(scope) and await self._is_well_so_far():
            await _tell_health(scope, send)
        else:
            await self._opened.wait()
            await self._application(scope, receive, send)

    async def _is_well_so_far(self) -> bool:
        async with self._asking:
            return not self._opened.is_set() and await self._database_is_ready()


def _asks_for_health(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["path"] == "/health" and scope["method"] in {"GET", "HEAD"}


async def _tell_health(scope: Scope, send: Send) -> None:
    """As the application would tell it: the database is what counts, the rest is on its way."""
    body = orjson.dumps({"status": "degraded", "version": __version__, "checks": _CHECKS})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
