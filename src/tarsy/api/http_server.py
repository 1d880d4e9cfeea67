"""The HTTP server: uvicorn with limits for slow clients, and with responses that end in order when the server stops."""

import asyncio
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import Server


class Streams:
    """The responses that have no end of their own. They must end before the server stops: cancelled by it, each would log a traceback."""

    def __init__(self) -> None:
        self.ended = False
        self._waits: set[anyio.CancelScope] = set()

    def end(self) -> None:
        """Wake every stream, so that it returns."""
        self.ended = True
        for wait in self._waits:
            wait.cancel()

    @contextmanager
    def waiting(self, seconds: float) -> Generator[None]:
        """Limit a wait inside the block to `seconds`, and end it when the server stops."""
        with anyio.move_on_after(0 if self.ended else seconds) as wait:
            self._waits.add(wait)
            try:
                yield
            finally:
                self._waits.discard(wait)


# Some servers take 8 KiB; a proxy's cookies and tokens seldom need more than 16.
MAX_HEAD_BYTES = 64 * 1024
# A head is one packet or two; a phone between two cells needs some seconds for it.
HEAD_SECONDS = 30.0
# A body may pause for as long, and beyond that must keep the pace of an old modem: an alert of 1 MiB may take half an hour.
BODY_SECONDS = 30.0
BODY_BYTES_PER_SECOND = 500
# nginx and cloud load balancers keep an idle connection for 60 s. If we closed it first, a request could be lost on its way.
KEEP_ALIVE_SECONDS = 75
# By default the kernel buffers megabytes for a client that has stopped reading: live text that is out of date when it is read at last.
# Data on its way to a client that reads is not limited by this.
UNSENT_BYTES = 64 * 1024
# A client that reads nothing for this long is gone, even if its machine still acknowledges packets.
UNREAD_SECONDS = 60.0

_TOO_LONG = b"431 Request Header Fields Too Large"
_TOO_SLOW = b"408 Request Timeout"


def prepare_listener(listening: socket.socket, *, unread_seconds: float = UNREAD_SECONDS) -> None:
    """Set the socket options that accepted connections inherit."""
    # asyncio sets it only on sockets created with an explicit protocol. Without it every response waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform in {"linux", "darwin"}:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(unread_seconds * 1000))


def body_seconds(received: int) -> float:
    """Return how long a body may have taken after `received` bytes."""
    return BODY_SECONDS + received / BODY_BYTES_PER_SECOND


class LimitedHttp(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, which closes the connection if a request's head is too long or too slow, or its body too slow."""

    _in_head = True
    # Received so far of the head or body that is being read.
    _bytes = 0
    _began = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn has it
        super().connection_made(transport)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        in_head = self._in_head
        if in_head:
            self._bytes += len(data)
            if self._timer is None:
                self._watch_head()
        super().data_received(data)
        if in_head and self._in_head and self._bytes > MAX_HEAD_BYTES:
            self._reject(_TOO_LONG)
        elif not self._in_head and self._timer is None:
            self._began = self.loop.time()
            self._timer = self.loop.call_later(BODY_SECONDS, self._check_body)

    def on_headers_complete(self) -> None:
        self._in_head, self._bytes = False, 0
        self._stop_watching()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._bytes = True, 0
        self._stop_watching()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        # From here on the WebSocket protocol reads: no body is expected.
        self._in_head = True
        super().handle_websocket_upgrade()

    def _watch_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._reject, _TOO_SLOW)

    def _check_body(self) -> None:
        # While the server does not read, the client cannot write.
        paused = BODY_SECONDS if self.flow.read_paused else 0.0
        left = max(paused, self._began + body_seconds(self._bytes) - self.loop.time())
        if left > 0:
            self._timer = self.loop.call_later(left, self._check_body)
        else:
            self._reject(_TOO_SLOW)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reject(self, status: bytes) -> None:
        """Close the connection; send `status` first if a request has begun and no response has."""
        self._stop_watching()
        if self.transport.is_closing():
            return
        has_begun = self._bytes > 0 or not self._in_head
        responding = self.cycle and (not self.cycle.response_complete if self._in_head else self.cycle.response_started)
        if has_begun and not responding:
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


# When the server stops, open live connections are closed after this long; their clients reconnect to another process.
CONNECTION_GRACE_SECONDS = 3


class HttpServer(Server):
    """Uvicorn's server without its signal handlers, because workers must stop first; it ends its streams before it waits for open connections."""

    def __init__(self, config: Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams
        self.ended = anyio.Event()

    async def run_on(self, listening: socket.socket) -> None:
        try:
            await self.serve(sockets=[listening])
        finally:
            self.ended.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def http_server(app: ASGIApp, streams: Streams) -> HttpServer:
    config = Config(
        app,
        http=LimitedHttp,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        log_config=None,
        access_log=False,
        server_header=False,
        # `tarsy.api.auth` reads identity headers, and needs the address of the real peer.
        proxy_headers=False,
        # `tarsy.wiring` starts and stops the application around the server.
        lifespan="off",
        timeout_graceful_shutdown=CONNECTION_GRACE_SECONDS,
        ws_max_size=64 * 1024,
        # Compressing small JSON messages costs more than sending them.
        ws_per_message_deflate=False,
    )
    return HttpServer(config, streams)
