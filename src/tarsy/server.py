"""A server process: takes its address first, loads the rest while it answers, serves people while its workers finish, loses nothing.

What is imported here is what it takes to listen and to say that we are well; the application is loaded after that, beside the event loop.
"""

import secrets
import signal
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from tarsy.api.auth import ANONYMOUS, AuthSettings, check_bind
from tarsy.api.connection_limits import prepare_listener
from tarsy.api.http_server import HttpServer, http_server
from tarsy.api.tokens import ApiTokens, read_tokens
from tarsy.config.load.loader import load_config
from tarsy.db.embedded.server import open_database
from tarsy.db.migrate import is_current
from tarsy.kit.groups import single_errors
from tarsy.kit.imports import load
from tarsy.kit.logs import log_mask
from tarsy.kit.process import has_terminal
from tarsy.settings import CannotServeError, Role, Settings
from tarsy.startup import FrontDoor, settle_collector

if TYPE_CHECKING:
    from tarsy.setup.desk import SetupDesk
    from tarsy.wiring import Application

# What a process without the API still answers: its probes and its numbers.
WORKER_PATHS = frozenset({"/health", "/metrics"})
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How long the event loop waits for a thread that computes, an import above all, each time that it has something to do; a connection asks for ten
# turns. Threads seldom compete otherwise.
TURN_SECONDS = 0.0005
# Longer than handing sessions back and closing connections take together.
STOP_SECONDS = 15

log = structlog.get_logger(__name__)


class _ProbesOnly:
    """The API of a process that only works."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") in WORKER_PATHS:
            await self._api(scope, receive, send)
        elif scope["type"] == "http":
            from tarsy.api.problems import ProblemKind, RequestRefusedError, respond  # noqa: PLC0415 - the application has imported it

            detail = "This process only works on sessions; it answers /health and /metrics."
            await respond(RequestRefusedError(ProblemKind.NOT_FOUND, detail))(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


async def run_server(settings: Settings) -> None:
    """Serve until told to stop.

    Raises:
        CannotServeError: the address is taken, or must not be listened on without a login.
    """
    had_terminal = has_terminal()
    sys.setswitchinterval(TURN_SECONDS)
    with closing(_listen(settings)) as listening, anyio.open_signal_receiver(*SIGNALS) as signals:
        async with _served(listening, settings) as (http, running):
            for warning in running.services.system.warnings():
                log.warning("server.remark", remark=warning.message)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(_obey, signals, http, running, had_terminal=had_terminal), name="signals")
                tasks.start_soon(_work, http, running, name="workers")
                if settings.lifeline is not None:
                    tasks.start_soon(_end_with_parent, settings.lifeline, http, running, name="lifeline")
                settle_collector()
                _announce(listening, settings, running.services.setup)
                await http.ended.wait()
                tasks.cancel_scope.cancel()


async def _obey(signals: AsyncIterator[signal.Signals], http: HttpServer, running: "Application", *, had_terminal: bool) -> None:
    """First signal to stop: finish what runs. Second: hand it back at once. A hang-up: read the configuration anew."""
    first = True
    async for number in signals:
        # A terminal that is closed says the same as `kill -HUP`, and means that the person has left.
        if number == signal.SIGHUP and not (had_terminal and not has_terminal()):
            running.reload.ask()
            continue
        log.info("server.stopping", signal=signal.Signals(number).name)
        if running.pool is None:
            http.should_exit = True
        elif first:
            running.pool.drain()
        else:
            running.pool.stop_now()
        first = False


async def _end_with_parent(lifeline: int, http: HttpServer, running: "Application") -> None:
    """Whatever ended the parent could not tell us: hand back what runs, so that others go on with it."""
    await anyio.wait_readable(lifeline)
    log.warning("server.parent_died")
    if running.pool is None:
        http.should_exit = True
    else:
        running.pool.stop_now()


async def _work(http: HttpServer, running: "Application") -> None:
    if running.pool:
        await running.pool.run()
        http.should_exit = True


@dataclass(frozen=True, slots=True)
class LocalServer:
    """Where the caller's own server is, and the token that opens it to the caller alone."""

    url: str
    token: str


@asynccontextmanager
async def local_server(settings: Settings) -> AsyncGenerator[LocalServer]:
    """A server on a free loopback port for as long as the caller needs it; what is still running then is handed back."""
    own, token = replace(settings, host="127.0.0.1", port=0), secrets.token_urlsafe()
    # The installation's tokens and proxies are for people who come from elsewhere; other users of this machine are not let in at all.
    auth = AuthSettings(tokens=ApiTokens({ANONYMOUS: token}), login_required=True)
    with closing(_listen(own)) as listening:
        async with _served(listening, own, auth) as (http, running), anyio.create_task_group() as tasks:
            tasks.start_soon(_work, http, running, name="workers")
            try:
                yield LocalServer(f"http://127.0.0.1:{listening.getsockname()[1]}", token)
            finally:
                # In order even when the caller failed: cut off in the middle of a query, the workers would complain at length.
                if running.pool:
                    running.pool.stop_now()
                http.should_exit = True
                with anyio.move_on_after(STOP_SECONDS, shield=True):
                    await http.ended.wait()


@asynccontextmanager
async def _served(
    listening: socket.socket, settings: Settings, auth: AuthSettings | None = None
) -> AsyncGenerator[tuple[HttpServer, "Application"]]:
    """The application behind its address, which answers from the first moment: requests wait until all is loaded and put together.

    `auth` takes the place of what the settings say.
    """
    database = _Database()
    door = FrontDoor(database.is_ready)
    http = http_server(door)
    with single_errors():
        async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
            listening.listen()
            tasks.start_soon(http.answer, listening, name="http")
            await _load(stack, settings, database)
            from tarsy.wiring import application  # noqa: PLC0415 - just loaded, off the event loop

            async with application(replace(settings, database_url=database.url), auth=auth) as running:
                http.streams = running.services.streams
                log_mask.mask = running.services.mask
                door.open(_ProbesOnly(running.api) if settings.role is Role.WORKER else running.api)
                yield http, running
            tasks.cancel_scope.cancel()


class _Database:
    """The database of a process that is starting, whose address is known when it was opened."""

    def __init__(self) -> None:
        self.url = ""
        self._opened = anyio.Event()

    def open(self, url: str) -> None:
        self.url = url
        self._opened.set()

    async def is_ready(self) -> bool:
        await self._opened.wait()
        return await is_current(self.url)


async def _load(stack: AsyncExitStack, settings: Settings, database: _Database) -> None:
    """Load the application while an embedded database, which `stack` lets go of, is started."""
    async with anyio.create_task_group() as both:
        both.start_soon(load, "tarsy.wiring", name="load")
        database.open(await stack.enter_async_context(open_database(settings.database_url, settings.data_dir)))


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


def _announce(listening: socket.socket, settings: Settings, desk: "SetupDesk | None") -> None:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    what = "TARSy worker, probes at" if settings.role is Role.WORKER else "TARSy is ready:"
    sys.stdout.write(f"{what} http://{shown}:{port}/\n")
    # For the person at this terminal. What is written elsewhere may be collected and read by others, and holds no code.
    if settings.role is not Role.WORKER and sys.stdout.isatty() and desk is not None:
        sys.stdout.write(f"To set it up, open http://{shown}:{port}/setup and enter the code {desk.door.issue()} (works once).\n")
    sys.stdout.flush()
