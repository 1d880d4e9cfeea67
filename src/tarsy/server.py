"""A server process: takes its address first, serves people while its workers finish, stops without losing anything."""

import secrets
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

import anyio
import structlog
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tarsy.api.auth import ANONYMOUS, AuthSettings, check_bind
from tarsy.api.connection_limits import KEEP_ALIVE_SECONDS, LimitedHttp, prepare_listener
from tarsy.api.problems import ProblemKind, RequestRefusedError, respond
from tarsy.api.streams import Streams
from tarsy.api.tokens import ApiTokens, read_tokens
from tarsy.config.load.loader import load_config
from tarsy.settings import CannotServeError, Role, Settings
from tarsy.wiring import Application, application

# What a process without the API still answers: its probes and its numbers.
WORKER_PATHS = frozenset({"/health", "/metrics"})
# Open live connections are cut after this long when the server stops; their clients reconnect elsewhere.
CONNECTION_GRACE_SECONDS = 3
# Longer than handing sessions back and closing connections take together.
STOP_SECONDS = 15

log = structlog.get_logger(__name__)


class _Http(uvicorn.Server):
    """Leaves signals to us: the workers must hear of them first. Ends its streams before it counts who is still there."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _ProbesOnly:
    """The API of a process that only works."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope.get("path") in WORKER_PATHS:
            await self._api(scope, receive, send)
        elif scope["type"] == "http":
            detail = "This process only works on sessions; it answers /health and /metrics."
            await respond(RequestRefusedError(ProblemKind.NOT_FOUND, detail))(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


async def run_server(settings: Settings) -> None:
    """Serve until told to stop.

    Raises:
        CannotServeError: the address is taken, or must not be listened on without a login.
    """
    listening = _listen(settings)
    try:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with application(settings) as running, anyio.create_task_group() as tasks:
                http = _http(running, settings)
                for warning in running.services.system.warnings():
                    log.warning("server.remark", remark=warning.message)

                async def obey() -> None:
                    """First signal: finish what runs. Second: hand it back at once."""
                    first = True
                    async for number in signals:
                        log.info("server.stopping", signal=signal.Signals(number).name)
                        if running.pool is None:
                            http.should_exit = True
                        elif first:
                            running.pool.drain()
                        else:
                            running.pool.stop_now()
                        first = False

                async def work() -> None:
                    if running.pool:
                        await running.pool.run()
                        http.should_exit = True

                tasks.start_soon(obey, name="signals")
                tasks.start_soon(work, name="workers")
                # Listening already when the address is told: an early client waits in the queue.
                listening.listen()
                _announce(listening, settings)
                await http.serve(sockets=[listening])
                tasks.cancel_scope.cancel()
    finally:
        listening.close()


@dataclass(frozen=True, slots=True)
class LocalServer:
    """Where the caller's own server is, and the token that opens it to the caller alone."""

    url: str
    token: str


@asynccontextmanager
async def local_server(settings: Settings) -> AsyncGenerator[LocalServer]:
    """A server on a free loopback port for as long as the caller needs it; what is still running then is handed back."""
    own, token = replace(settings, host="127.0.0.1", port=0), secrets.token_urlsafe()
    listening = _listen(own)
    try:
        async with application(own) as running, anyio.create_task_group() as tasks:
            # The installation's tokens and proxies are for people who come from elsewhere; other users of this machine are not let in at all.
            auth = AuthSettings(tokens=ApiTokens({ANONYMOUS: token}), login_required=True)
            running.api.state.services = replace(running.services, auth=auth)
            http, ended = _http(running, own), anyio.Event()
            # Listening already: a client that is early waits in the queue.
            listening.listen()
            tasks.start_soon(_serve_and_work, http, listening, running, ended, name="server")
            try:
                yield LocalServer(f"http://127.0.0.1:{listening.getsockname()[1]}", token)
            finally:
                # In order even when the caller failed: cut off in the middle of a query, the workers would complain at length.
                if running.pool:
                    running.pool.stop_now()
                http.should_exit = True
                with anyio.move_on_after(STOP_SECONDS, shield=True):
                    await ended.wait()
    finally:
        listening.close()


async def _serve_and_work(http: _Http, listening: socket.socket, running: Application, ended: anyio.Event) -> None:
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve_on, http, listening, name="http")
            if running.pool:
                tasks.start_soon(running.pool.run, name="workers")
    finally:
        ended.set()


async def _serve_on(http: _Http, listening: socket.socket) -> None:
    await http.serve(sockets=[listening])


def _listen(settings: Settings) -> socket.socket:
    trusted = load_config(settings.config_dir, settings.env).config.system.trusted_proxies
    refusal = check_bind(settings.host, read_tokens(settings.api_tokens), trusted, insecure=settings.insecure)
    if refusal:
        raise CannotServeError(refusal)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    prepare_listener(listening)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise CannotServeError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}.\n"
            "If another `tarsy serve` runs there, use that one; otherwise choose another port with --port."
        ) from error
    return listening


def _http(running: Application, settings: Settings) -> _Http:
    api: ASGIApp = _ProbesOnly(running.api) if settings.role is Role.WORKER else running.api
    return _Http(
        uvicorn.Config(
            api,
            http=LimitedHttp,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            log_config=None,
            access_log=False,
            server_header=False,
            # Identity headers are judged by our own rules, against the real peer.
            proxy_headers=False,
            timeout_graceful_shutdown=CONNECTION_GRACE_SECONDS,
            ws_max_size=64 * 1024,
            # Small JSON messages many times a second: compressing them costs more than sending them.
            ws_per_message_deflate=False,
        ),
        running.services.streams,
    )


def _announce(listening: socket.socket, settings: Settings) -> None:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    what = "TARSy worker, probes at" if settings.role is Role.WORKER else "TARSy is ready:"
    sys.stdout.write(f"{what} http://{shown}:{port}/\n")
    sys.stdout.flush()
