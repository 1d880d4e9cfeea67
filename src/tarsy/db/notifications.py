"""Names of the PostgreSQL notifications by which processes wake and stop each other. They carry hints: polling finds what they lose."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import anyio
import asyncpg
import structlog
from anyio.abc import TaskStatus
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.connection import REFUSALS, DatabaseUnavailableError, listen_connection
from tarsy.db.driver import Connection, RawConnection, Statement

# There is something to claim; the payload is its kind.
WORK = "tarsy_work"
# Stop; the payload is the id of an execution, or of what the work is about.
CANCEL = "tarsy_cancel"
# A pause began or ended; the payload is its chain.
PAUSE = "tarsy_pause"
# Read the configuration anew; the payload is the process that has done so already.
RELOAD = "tarsy_reload"

_NOTIFY = Statement("SELECT pg_notify(:name, :payload)")


async def notify(connection: Connection, name: str, payload: str) -> None:
    """Send when (and only if) the connection's transaction commits."""
    await _NOTIFY.rows(connection, {"name": name, "payload": payload})


log = structlog.stdlib.get_logger(__name__)

Handler = Callable[[str], None]
GapHandler = Callable[[], None]

# A server that vanished without a word (a failed host, a dropped NAT entry) is noticed after at most the sum of the two.
KEEPALIVE_SECONDS = 10.0
ANSWER_SECONDS = 5.0
# A restarting server is asked again soon, a missing one not so often that it fills the log.
RECONNECT_FIRST_SECONDS = 0.1
RECONNECT_MAX_SECONDS = 5.0

# A connection cut in the middle of an exchange leaves asyncpg itself confused; that is no reason to end the process.
_BREAKS = (*REFUSALS, asyncpg.InternalClientError)

_NOTIFY_EACH = "SELECT pg_notify($1, p) FROM unnest($2::text[]) WITH ORDINALITY AS t(p, n) ORDER BY n"


class NotificationListener:
    """Hands PostgreSQL's notifications to handlers, and says so when some may have been missed.

    Handlers are plain functions, called in commit order: they note what happened and leave the work to a task of their own, so that
    nothing waits between them and the socket. Subscribe before `run`.
    """

    def __init__(self, url: str) -> None:
        self._handlers: dict[str, list[Handler]] = {}
        # Those that wake this process only while they are wanted.
        self._unwanted: set[str] = set()
        self._gap_handlers: list[GapHandler] = []
        # Nothing is handed on before the handlers know of the gap: out of order, half the news would mislead them.
        self._is_ready = False
        self._line = _Line(url, prepare=self._listen, ready=self._ready)

    def subscribe(self, name: str, handler: Handler, *, when_wanted: bool = False) -> None:
        """Call `handler` with the payload of every notification `name`; with `when_wanted`, not before `want` has said so."""
        self._handlers.setdefault(name, []).append(handler)
        if when_wanted:
            self._unwanted.add(name)

    async def want(self, name: str, *, wanted: bool) -> None:
        """Have notifications `name` told from now on, or not until they are wanted again.

        In force when this returns; without a connection, as soon as there is one, and then a gap is told as well.
        """
        (self._unwanted.discard if wanted else self._unwanted.add)(name)
        try:
            await self._line.tell(partial(self._hear if wanted else self._ignore, name))
        except _BREAKS as error:
            log.warning("notifications.not_changed", notification=name, error=str(error) or type(error).__name__)

    def on_gap(self, handler: GapHandler) -> None:
        """Call `handler` whenever listening begins anew: what was sent in between is lost to us."""
        self._gap_handlers.append(handler)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled; started once the first LISTEN is in force.

        Raises:
            DatabaseUnavailableError: the first connection could not be opened; lost ones are opened again.
        """
        await self._line.run(task_status)

    async def _listen(self, connection: RawConnection) -> None:
        self._is_ready = False
        with anyio.fail_after(ANSWER_SECONDS):
            heard: set[str] = set()
            # Some may become wanted meanwhile.
            while missing := self._handlers.keys() - self._unwanted - heard:
                for name in missing:
                    await self._hear(name, connection)
                heard |= missing

    async def _hear(self, name: str, connection: RawConnection) -> None:
        await connection.add_listener(name, self._dispatch)

    async def _ignore(self, name: str, connection: RawConnection) -> None:
        await connection.remove_listener(name, self._dispatch)

    def _ready(self, *, after_gap: bool) -> None:
        if after_gap:
            for handler in self._gap_handlers:
                handler()
        self._is_ready = True

    def _dispatch(self, _connection: object, _pid: int, name: str, payload: object) -> None:
        if not self._is_ready:
            return
        for handler in self._handlers.get(name, ()):
            try:
                handler(str(payload))
            # The dispatcher's guard: one handler's bug must not silence the others.
            except Exception:
                log.exception("notifications.handler_failed", notification=name)


class NotificationSender:
    """Sends notifications that belong to no transaction, over a connection of its own: live text must not wait for the pool."""

    def __init__(self, url: str) -> None:
        self._line = _Line(url, prepare=_nothing_to_prepare, ready=_nothing_to_tell)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keep the connection open until cancelled.

        Raises:
            DatabaseUnavailableError: the first connection could not be opened; lost ones are opened again.
        """
        await self._line.run(task_status)

    async def send(self, name: str, payloads: Sequence[str]) -> bool:
        """Send all payloads, or say that it is not possible now. One transaction, so PostgreSQL's global lock is taken once."""
        connection = self._line.connection
        if connection is None:
            return False
        try:
            await self._line.ask(connection, _NOTIFY_EACH, name, list(payloads))
        except _BREAKS as error:
            log.warning("notifications.not_sent", error=str(error) or type(error).__name__)
            # After a timeout the state of the connection is unknown.
            connection.terminate()
            return False
        return True


class _Ready(Protocol):
    def __call__(self, *, after_gap: bool) -> None: ...


class _Line:
    """A connection outside the pool that is opened again, for as long as it takes, whenever it is lost."""

    def __init__(self, url: str, *, prepare: Callable[[RawConnection], Awaitable[None]], ready: _Ready) -> None:
        self.connection: RawConnection | None = None
        self._url = url
        self._prepare = prepare
        self._ready = ready
        # asyncpg refuses a second query while one runs; the keepalive must not meet a send. There is no other claimant to give way to.
        self._turn = anyio.Lock(fast_acquire=True)

    async def run(self, task_status: TaskStatus[None]) -> None:
        async with listen_connection(self._url) as connection:
            await self._prepare(connection)
            self.connection = connection
            self._ready(after_gap=False)
            task_status.started()
            await self._stay(connection)
        while True:
            # Also when a server takes the connection and drops it at once: without a pause that would be a busy loop.
            await anyio.sleep(RECONNECT_FIRST_SECONDS)
            await self._reopen()

    async def ask(self, connection: RawConnection, query: str, *arguments: object) -> None:
        """Run a query whose answer is only that there was one."""
        async with self._turn:
            await connection.fetch(query, *arguments, timeout=ANSWER_SECONDS)

    async def tell(self, say: Callable[[RawConnection], Awaitable[None]]) -> None:
        """Say something to the server, if it can be reached; a connection that does not answer is given up."""
        connection = self.connection
        if connection is None:
            return
        async with self._turn:
            try:
                with anyio.fail_after(ANSWER_SECONDS):
                    await say(connection)
            except BaseException:
                # Its state is unknown; the one in its place says anew what it is to hear.
                connection.terminate()
                raise

    async def _reopen(self) -> None:
        import stamina  # noqa: PLC0415 - most processes never lose it

        attempts = stamina.retry_context(
            on=(DatabaseUnavailableError, *_BREAKS),
            attempts=None,
            timeout=None,
            wait_initial=RECONNECT_FIRST_SECONDS,
            wait_max=RECONNECT_MAX_SECONDS,
        )
        async for attempt in attempts:
            with attempt:
                async with listen_connection(self._url) as connection:
                    await self._prepare(connection)
                    self.connection = connection
                    log.info("notifications.reconnected")
                    self._ready(after_gap=True)
                    await self._stay(connection)

    async def _stay(self, connection: RawConnection) -> None:
        """Return when the connection is of no use any more."""
        lost = anyio.Event()
        connection.add_termination_listener(lambda _connection: lost.set())
        reason = "the server closed the connection"
        try:
            while not connection.is_closed():
                with anyio.move_on_after(KEEPALIVE_SECONDS):
                    await lost.wait()
                    break
                await self.ask(connection, "SELECT 1")
        except _BREAKS as error:
            reason = str(error) or type(error).__name__
        finally:
            self.connection = None
        log.warning("notifications.lost", reason=reason)


async def _nothing_to_prepare(_connection: RawConnection) -> None: ...


def _nothing_to_tell(*, after_gap: bool) -> None: ...


class ReloadNotices:
    def __init__(self, engine: AsyncEngine, *, pod_id: str) -> None:
        self._engine = engine
        self._pod_id = pod_id

    async def tell(self, actor: str, details: Mapping[str, Any]) -> None:
        """Write who had it done here, and let the others follow."""
        async with self._engine.begin() as connection:
            await note(connection, actor=actor, action=AuditAction.CONFIG_RELOADED, details=details)
            await notify(connection, RELOAD, self._pod_id)
