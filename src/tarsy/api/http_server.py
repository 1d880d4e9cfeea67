"""Answers without an end, and how they end all the same: with the server, in order."""

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
    """What the endless answers of a server wait in. Cut off instead, each would leave a traceback in the log."""

    def __init__(self) -> None:
        self.ended = False
        self._waits: set[anyio.CancelScope] = set()

    def end(self) -> None:
        """Let every stream say its last word."""
        self.ended = True
        for wait in self._waits:
            wait.cancel()

    @contextmanager
    def waiting(self, seconds: float) -> Generator[None]:
        """Wait inside for `seconds` at most, and no longer than the server lives."""
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
# nginx and the load balancers of the clouds keep an idle connection for 60 s. Were ours closed first, a request could cross with the end of it.
KEEP_ALIVE_SECONDS = 75
# By default some megabytes wait in the kernel for a client that has stopped reading: seconds of live text, made and copied for nothing,
# and out of date when they are read at last. What is on its way to a client that does read is not limited by this.
UNSENT_BYTES = 64 * 1024
# A client that takes nothing for this long is gone, even if its machine still answers.
UNREAD_SECONDS = 60.0

_TOO_LONG = b"431 Request Header Fields Too Large"
_TOO_SLOW = b"408 Request Timeout"


def prepare_listener(listening: socket.socket, *, unread_seconds: float = UNREAD_SECONDS) -> None:
    """Set what accepted connections inherit: the system sends at once, and does not wait for ever."""
    # asyncio does this only for sockets that were made with their protocol named. Without it every answer waits 40 ms for the client's word.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform in {"linux", "darwin"}:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(unread_seconds * 1000))


def body_seconds(received: int) -> float:
    """How long a body may have taken when this much of it is there."""
    return BODY_SECONDS + received / BODY_BYTES_PER_SECOND


class LimitedHttp(HttpToolsProtocol):
    """Speaks HTTP, and hangs up on a request that has no end: a head too long or too slow, a body too slow."""

    _in_head = True
    # Of the head, or of the body, that is being read.
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
            self._hang_up(_TOO_LONG)
        elif not self._in_head and self._timer is None:
            self._watch_body()

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
        # From here on another protocol reads: no body is awaited.
        self._in_head = True
        super().handle_websocket_upgrade()

    def _watch_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._hang_up, _TOO_SLOW)

    def _watch_body(self) -> None:
        self._began = self.loop.time()
        self._timer = self.loop.call_later(BODY_SECONDS, self._look_at_body)

    def _look_at_body(self) -> None:
        # While we do not read, the client cannot write.
        paused = BODY_SECONDS if self.flow.read_paused else 0.0
        left = max(paused, self._began + body_seconds(self._bytes) - self.loop.time())
        if left > 0:
            self._timer = self.loop.call_later(left, self._look_at_body)
        else:
            self._hang_up(_TOO_SLOW)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self, status: bytes) -> None:
        """Close the connection, with a reason unless an answer is on its way already or there was no request."""
        self._stop_watching()
        if self.transport.is_closing():
            return
        asked = self._bytes > 0 or not self._in_head
        if asked and not self._is_answering():
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()

    def _is_answering(self) -> bool:
        """Whether a word of ours would stand in the middle of an answer, or before it."""
        if not self.cycle:
            return False
        return not self.cycle.response_complete if self._in_head else self.cycle.response_started


# Open live connections are cut after this long when the server stops; their clients reconnect elsewhere.
CONNECTION_GRACE_SECONDS = 3


class HttpServer(Server):
    """Leaves signals to us: the workers must hear of them first. Ends its streams before it counts who is still there."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        # The application's, once there is one.
        self.streams: Streams | None = None
        self.ended = anyio.Event()

    async def answer(self, listening: socket.socket) -> None:
        try:
            await self.serve(sockets=[listening])
        finally:
            self.ended.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.streams is not None:
            self.streams.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def http_server(app: ASGIApp) -> HttpServer:
    """One that serves `app` by our rules."""
    return HttpServer(
        Config(
            app,
            http=LimitedHttp,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            log_config=None,
            access_log=False,
            server_header=False,
            # Identity headers are judged by our own rules, against the real peer.
            proxy_headers=False,
            # The application is put together by us, before and after it serves.
            lifespan="off",
            timeout_graceful_shutdown=CONNECTION_GRACE_SECONDS,
            ws_max_size=64 * 1024,
            # Small JSON messages many times a second: compressing them costs more than sending them.
            ws_per_message_deflate=False,
        )
    )
