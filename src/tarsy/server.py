"""A server process: builds the application, listens, and stops without losing anything."""

import gc
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace

import anyio
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from tarsy.api.auth import ANONYMOUS, AuthSettings, check_bind
from tarsy.api.http_server import HttpServer, http_server, prepare_listener
from tarsy.api.problems import ProblemKind, RequestRefusedError, respond
from tarsy.api.tokens import ApiTokens, read_tokens
from tarsy.config.load.loader import load_config
from tarsy.domain.access_role import AccessRole
from tarsy.kit.groups import single_errors
from tarsy.kit.logs import log_mask
from tarsy.kit.process import has_lost_terminal, has_terminal
from tarsy.kit.server_file import RunningServer, database_digest, server_file
from tarsy.queue.pool import WorkerPool
from tarsy.settings import CannotServeError, ProcessRole, Settings
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides

# The paths that a worker process serves: its probes and its metrics.
WORKER_PATHS = frozenset({"/live", "/ready", "/health", "/metrics"})
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Longer than releasing sessions and closing connections take together.
STOP_SECONDS = 15
# Runs have 15 s of it to write their last step and to close their tools.
SHUTDOWN_SECONDS = 25.0

log = structlog.get_logger(__name__)


async def run_server(settings: Settings) -> None:
    """Serve until a signal says to stop.

    Raises:
        CannotServeError: the address is taken, or must not be listened on without a login.
    """
    had_terminal = has_terminal()
    with closing(_bind(settings)) as listening, anyio.open_signal_receiver(*SIGNALS) as signals, _shutdown_deadline() as start_deadline:
        async with _serving(listening, settings) as (http, running):
            for warning in running.services.system.installation.warnings():
                log.warning("server.remark", remark=warning.message)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_handle_signals, signals, running, had_terminal, name="signals")
                tasks.start_soon(_work, http, running, name="workers")
                if settings.role is not ProcessRole.WORKER:
                    tasks.start_soon(running.slack.run, name="slack")
                if settings.role is not ProcessRole.API:
                    tasks.start_soon(running.notifications.run, name="notifications")
                tasks.start_soon(_start_at_release, running.pool, start_deadline, name="shutdown deadline")
                if settings.lifeline is not None:
                    tasks.start_soon(_end_with_parent, settings.lifeline, running, name="lifeline")
                # What is loaded by now stays: if the garbage collector examined it again and again, all streams would pause for 0.1 s each time.
                gc.freeze()
                with _announced(listening, settings, running):
                    await http.ended.wait()
                start_deadline()
                tasks.cancel_scope.cancel()


@contextmanager
def _shutdown_deadline() -> Generator[Callable[[], None]]:
    """Yield a function after whose call the block has SHUTDOWN_SECONDS to end; then the process ends like one that was killed.

    A database that accepts connections and never answers holds up everything that wants to write. Nothing that such a process still
    waits for can be stored: other processes resume its sessions as they resume those of a killed one.
    """

    def end() -> None:
        log.error("server.ended_unfinished", after_seconds=SHUTDOWN_SECONDS)
        os._exit(1)

    def start_deadline() -> None:
        if not timer.is_alive():
            timer.start()

    timer = threading.Timer(SHUTDOWN_SECONDS, end)
    timer.daemon = True
    try:
        yield start_deadline
    finally:
        timer.cancel()


async def _start_at_release(pool: WorkerPool, start_deadline: Callable[[], None]) -> None:
    await pool.stopping_now.wait()
    start_deadline()


async def _handle_signals(
    signals: AsyncIterator[signal.Signals],
    running: Application,
    had_terminal: bool,  # noqa: FBT001 - start_soon passes by position
) -> None:
    """First signal to stop: finish what runs. Second: release it at once. SIGHUP: reload the configuration."""
    first = True
    async for number in signals:
        if number == signal.SIGHUP and not has_lost_terminal(had_terminal=had_terminal):
            running.reload.request()
            continue
        log.info("server.stopping", signal=signal.Signals(number).name)
        if first:
            running.pool.drain()
        else:
            running.pool.stop_now()
        first = False


async def _end_with_parent(lifeline: int, running: Application) -> None:
    """Stop when the parent process is gone, and release what runs, so that other processes resume it."""
    await anyio.wait_readable(lifeline)
    log.warning("server.parent_died")
    running.pool.stop_now()


async def _work(http: HttpServer, running: Application) -> None:
    await running.pool.run()
    http.should_exit = True


@dataclass(frozen=True, slots=True)
class LocalServer:
    """The address of a server of the caller's own, and the token that admits the caller alone."""

    url: str
    token: str
    # Makes the server work on a session; it works on no others.
    work_on: Callable[[str], None]


@asynccontextmanager
async def local_server(settings: Settings) -> AsyncGenerator[LocalServer]:
    """Run a server on a free loopback port within the block; work that still runs at its end is released.

    It may have another configuration than the servers on the same database, and is no replica of them: it does nothing that concerns the
    whole installation.
    """
    own, token, sessions = replace(settings, host="127.0.0.1", port=0), secrets.token_urlsafe(), set[str]()
    # The installation's tokens and proxies are for remote clients; other users of this machine are not admitted at all.
    auth = AuthSettings(tokens=ApiTokens({ANONYMOUS: token}, {ANONYMOUS: AccessRole.ADMIN}), login_required=True)
    with closing(_bind(own)) as listening:
        overrides = Overrides(auth=auth, own_sessions=sessions)
        async with _serving(listening, own, overrides) as (http, running), anyio.create_task_group() as tasks:
            tasks.start_soon(_work, http, running, name="workers")

            def work_on(session_id: str) -> None:
                sessions.add(session_id)
                running.pool.wake_all()

            try:
                yield LocalServer(f"http://127.0.0.1:{listening.getsockname()[1]}", token, work_on)
            finally:
                # In order even if the block failed: workers that are cancelled in the middle of a query log errors.
                running.pool.stop_now()
                http.should_exit = True
                with anyio.move_on_after(STOP_SECONDS, shield=True):
                    await http.ended.wait()


@asynccontextmanager
async def _serving(
    listening: socket.socket, settings: Settings, overrides: Overrides | None = None
) -> AsyncGenerator[tuple[HttpServer, Application]]:
    """Build the application, then listen."""
    with single_errors():
        async with application(settings, overrides=overrides) as running, anyio.create_task_group() as tasks:
            api = _probes_only(running.api) if settings.role is ProcessRole.WORKER else running.api
            http = http_server(api, running.services.live.streams)
            log_mask.mask = lambda text: running.services.mask(text)  # noqa: PLW0108 - a reload may change it
            listening.listen()
            tasks.start_soon(http.run_on, listening, name="http")
            yield http, running
            tasks.cancel_scope.cancel()


def _probes_only(api: ASGIApp) -> ASGIApp:
    """Return the API of a process that only works on sessions."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") in WORKER_PATHS:
            await api(scope, receive, send)
        elif scope["type"] == "http":
            detail = "This process only works on sessions; it answers /live, /ready, /health and /metrics."
            await respond(RequestRefusedError(ProblemKind.NOT_FOUND, detail))(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    return serve


def _bind(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address and does not listen yet.

    The address is taken first: a second server on the same port fails before it has started a database.
    """
    system = load_config(settings.config_dir, settings.env).config.system
    refusal = check_bind(settings.host, read_tokens(settings.api_tokens), system, insecure=settings.insecure)
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


@contextmanager
def _announced(listening: socket.socket, settings: Settings, running: Application) -> Generator[None]:
    """Print the address and, except for a worker, write the file by which commands find it, for the time of the block."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if settings.role is ProcessRole.WORKER:
        sys.stdout.write(f"TARSy worker, probes at http://{shown}:{port}/\n")
        sys.stdout.flush()
        yield
        return
    sys.stdout.write(f"TARSy is ready: http://{shown}:{port}/\n")
    setup = running.services.setup
    # For the person at this terminal. Output that goes anywhere else may be collected and read by others, and contains no code.
    if sys.stdout.isatty() and setup is not None:
        sys.stdout.write(f"To set it up, open http://{shown}:{port}/setup and enter the code {setup.access.issue()} (works once).\n")
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, shown)  # noqa: S104 - an address to connect to, not to bind
    server = RunningServer(
        f"http://{local}:{port}", os.getpid(), running.services.auth.login_required, database_digest(settings.database_url)
    )
    with server_file(settings.data_directory, server):
        # After the file: who reads the line may run a command at once.
        sys.stdout.flush()
        yield
