"""What speaks HTTP and WebSocket for the application: uvicorn, with our limits and without its own signals and lifespan."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import anyio
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.server import Server

from tarsy.api.connection_limits import KEEP_ALIVE_SECONDS, LimitedHttp
from tarsy.api.live_socket import LiveSocket
from tarsy.api.streams import Streams

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
            ws=LiveSocket,
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
