"""PostgreSQL notifications, by which processes wake and stop each other. They are hints: polling finds what they lose."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import sqlalchemy as sa
import stamina
import structlog
from anyio.abc import TaskStatus
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import DRIVER_ERRORS, DatabaseUnavailableError, DriverConnection, listen_connection

# There is something to claim; the payload is its kind.
WORK = "tarsy_work"
# Stop; the payload is the id of an execution, or of the subject of the work.
CANCEL = "tarsy_cancel"
# A pause began or ended; the payload is its chain.
PAUSE = "tarsy_pause"
# Read the configuration again; the payload is the process that has done so already.
RELOAD = "tarsy_reload"

# A server that vanished (a failed host, a dropped NAT entry) is noticed after at most the sum of the two.
KEEPALIVE_SECONDS = 10.0
ANSWER_SECONDS = 5.0
# A restarting server is tried again soon, a missing one not so often that it fills the log.
RECONNECT_FIRST_SECONDS = 0.1
RECONNECT_MAX_SECONDS = 5.0

_NOTIFY = sa.text("SELECT pg_notify(:name, :payload)")
_NOTIFY_EACH = "SELECT pg_notify($1, p) FROM unnest($2::text[]) WITH ORDINALITY AS t(p, n) ORDER BY n"

log = structlog.stdlib.get_logger(__name__)

NotificationHandler = Callable[[str], None]
GapHandler = Callable[[], None]


async def notify(connection: AsyncConnection, name: str, payload: str) -> None:
    """Send a notification when (and only if) the connection's transaction commits."""
    await connection.execute(_NOTIFY, {"name": name, "payload": payload})


class ReloadNotices:
    """Asks the other processes of the installation to read the configuration again."""

    def __init__(self, engine: AsyncEngine, *, pod_id: str) -> None:
        self._engine = engine
        self._pod_id = pod_id

    async def publish(self, actor: str, details: Mapping[str, Any]) -> None:
        """Add to the audit log who reloaded the configuration in this process, and notify the other processes."""
        async with self._engine.begin() as connection:
            await add_audit_entry(connection, actor=actor, action=AuditAction.CONFIG_RELOADED, details=details)
            await notify(connection, RELOAD, self._pod_id)


class _ReconnectingConnection:
    """A connection outside the pool that is opened again whenever it is lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: DriverConnection | None = None
        # asyncpg refuses a second query while one runs.
        self._lock = anyio.Lock()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keep the connection open until cancelled; started once the first one is ready.

        Raises:
            DatabaseUnavailableError: the first connection could not be opened; lost ones are opened again.
        """
        async with listen_connection(self._url) as connection:
            await self._begin(connection, after_gap=False)
            task_status.started()
            await self._wait_until_lost(connection)
        while True:
            # Also when a server accepts the connection and drops it at once: without a pause that would be a busy loop.
            await anyio.sleep(RECONNECT_FIRST_SECONDS)
            attempts = stamina.retry_context(
                on=(DatabaseUnavailableError, *DRIVER_ERRORS),
                attempts=None,
                timeout=None,
                wait_initial=RECONNECT_FIRST_SECONDS,
                wait_max=RECONNECT_MAX_SECONDS,
            )
            async for attempt in attempts:
                with attempt:
                    async with listen_connection(self._url) as connection:
                        await self._begin(connection, after_gap=True)
                        await self._wait_until_lost(connection)

    async def _prepare(self, connection: DriverConnection, *, after_gap: bool) -> None:
        """Prepare a new connection before it is used."""
        del connection, after_gap

    async def _use(self, query: Callable[[DriverConnection], Awaitable[object]]) -> None:
        """Run a query if there is a connection, and close one that does not answer."""
        connection = self._connection
        if connection is None:
            return
        async with self._lock:
            try:
                # Shielded: half a query would leave the connection in an unknown state.
                with anyio.fail_after(ANSWER_SECONDS, shield=True):
                    await query(connection)
            except DRIVER_ERRORS:
                # Another one is opened in its place.
                connection.terminate()
                raise

    async def _begin(self, connection: DriverConnection, *, after_gap: bool) -> None:
        await self._prepare(connection, after_gap=after_gap)
        self._connection = connection
        if after_gap:
            log.info("notifications.reconnected")

    async def _wait_until_lost(self, connection: DriverConnection) -> None:
        lost = anyio.Event()
        connection.add_termination_listener(lambda _connection: lost.set())
        reason = "the server closed the connection"
        try:
            while not connection.is_closed():
                with anyio.move_on_after(KEEPALIVE_SECONDS):
                    await lost.wait()
                    break
                await self._use(lambda connection: connection.fetch("SELECT 1"))
        except DRIVER_ERRORS as error:
            reason = str(error) or type(error).__name__
        finally:
            self._connection = None
        log.warning("notifications.lost", reason=reason)


class NotificationListener(_ReconnectingConnection):
    """Passes PostgreSQL's notifications to handlers, and calls the gap handlers when some may have been missed.

    Handlers are plain functions, called in commit order: they only record what happened and leave the work to a task of their own, so
    that nothing delays the reading of the socket. Subscribe before `run`.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._handlers: dict[str, list[NotificationHandler]] = {}
        self._gap_handlers: list[GapHandler] = []
        # Nothing is dispatched before the gap handlers were called: they would take it for complete.
        self._is_ready = False

    def subscribe(self, name: str, handler: NotificationHandler) -> None:
        """Call `handler` with the payload of every notification `name`."""
        self._handlers.setdefault(name, []).append(handler)

    def on_gap(self, handler: GapHandler) -> None:
        """Call `handler` whenever listening begins again: notifications that were sent in between are lost."""
        self._gap_handlers.append(handler)

    async def _prepare(self, connection: DriverConnection, *, after_gap: bool) -> None:
        self._is_ready = False
        with anyio.fail_after(ANSWER_SECONDS):
            for name in self._handlers:
                await connection.add_listener(name, self._dispatch)
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
            # The dispatcher's guard: one handler's bug must not stop the others.
            except Exception:
                log.exception("notifications.handler_failed", notification=name)


class NotificationSender(_ReconnectingConnection):
    """Sends notifications that belong to no transaction, over a connection of its own: live text must not wait for the pool."""

    async def send(self, name: str, payloads: Sequence[str]) -> bool:
        """Send all payloads in one transaction, which takes PostgreSQL's global lock once; return False if that is not possible now."""
        if self._connection is None:
            return False
        try:
            await self._use(lambda connection: connection.fetch(_NOTIFY_EACH, name, list(payloads)))
        except DRIVER_ERRORS as error:
            log.warning("notifications.not_sent", error=str(error) or type(error).__name__)
            return False
        return True
