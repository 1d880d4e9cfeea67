"""Connections to PostgreSQL: the engine with its pool, the connection to LISTEN on, and the errors of both.

Everything that the driver raises reaches the rest of the program as SQLAlchemy's `DBAPIError`, without the statement and its values.
"""

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from inspect import signature
from typing import Any, TypeAlias
from uuid import uuid4

import asyncpg
import orjson
from sqlalchemy import URL, PoolProxiedConnection, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, InvalidRequestError, OperationalError, StatementError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, QueuePool

from tarsy.db.errors import DatabaseUnavailableError

APPLICATION_NAME = "tarsy"
# Workers, HTTP requests and the heartbeat of one process; ten replicas stay below PostgreSQL's default of 100 connections.
# All of them are kept open: opening one and preparing its statements costs more than a dozen steps.
POOL_SIZE = 7
# One each for a step, the heartbeat and a claim: with less, one of them would wait for another.
LEAST_POOL_SIZE = 3
# The statements of a session with all shapes of its steps, and those of the API.
PREPARED_STATEMENTS = 250
CONNECT_SECONDS = 10
MAX_PORT = 65_535
# A process that is paused or cut off in the middle of a transaction keeps rows locked that others must take over. Ours take milliseconds.
IDLE_IN_TRANSACTION_SECONDS = 10
# A process that is paused between the two halves of a statement does not count as idle. Servers from PostgreSQL 17 on end that too.
TRANSACTION_SECONDS = 60
# Set on each connection of the pool by a statement: PgBouncer refuses connections that ask for these while they are opened.
# The rows that a session works on are in memory. PostgreSQL's `random_page_cost` of 4 means rotating disks, and reads small tables whole.
_SESSION_SETTINGS = f"SET idle_in_transaction_session_timeout = '{IDLE_IN_TRANSACTION_SECONDS}s'; SET random_page_cost = 1.1"
# After this long without a packet from the other machine, statements that wait for it fail. The system's default is a quarter of an hour.
SILENCE_SECONDS = 30
# What asyncpg raises when no server answers, the server refuses, or a connection breaks.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
# Only the type checker knows them as generic.
DriverConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_URL_REMEDY = "Set DATABASE_URL to postgresql://user:password@host:5432/database, or unset it to use the embedded PostgreSQL."
_ANSWER_REMEDY = "Check that the server runs and that DATABASE_URL has the right host, database, user and password."
_TLS_REMEDY = "Check the files in sslrootcert, sslcert and sslkey, and that TARSy may read them."
_POOLER_REMEDY = "Use a pooler in session mode (PgBouncer: pool_mode = session), or set DATABASE_URL to the address of PostgreSQL itself."
# How long a notification may take at start before it is looked for.
NOTIFICATION_SECONDS = 1.0
# Other names in an address are settings of the server, as asyncpg reads addresses: among them libpq's `options`.
_CONNECT_NAMES = frozenset(signature(asyncpg.connect).parameters)
_SSL_KEYS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "ssl")


def create_engine(url: str, *, connections: int = POOL_SIZE) -> AsyncEngine:
    """Create an engine for `url`, which may be spelt as libpq, Heroku or SQLAlchemy spell it."""
    sqlalchemy_url, arguments = connect_arguments(url)
    engine = create_async_engine(
        sqlalchemy_url,
        poolclass=DatabasePool,
        pool_size=connections,
        max_overflow=0,
        # The connection that was used last: its server process has the plans of the next statements at hand.
        pool_use_lifo=True,
        connect_args={**arguments, "prepared_statement_cache_size": PREPARED_STATEMENTS},
        hide_parameters=True,
        json_serializer=_json_text,
        json_deserializer=orjson.loads,
    )
    event.listen(engine.sync_engine, "connect", _configure_connection)
    event.listen(engine.sync_engine, "checkout", _replace_if_closed)
    event.listen(engine.sync_engine, "handle_error", _rename_error, retval=True)
    return engine


@asynccontextmanager
async def open_engine(url: str, *, connections: int = POOL_SIZE) -> AsyncGenerator[AsyncEngine]:
    """Create an engine, and close its connections at the end of the block."""
    engine = create_engine(url, connections=connections)
    try:
        yield engine
    finally:
        await engine.dispose()


def _json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def autocommit(engine: AsyncEngine) -> AsyncEngine:
    """Return the engine with every statement as a transaction of its own: one round trip each, nothing to begin or to commit."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def snapshot(engine: AsyncEngine) -> AsyncEngine:
    """Return the engine with transactions that only read, and in which all statements see the same moment."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


class DatabasePool(AsyncAdaptedQueuePool):
    """A pool that raises DBAPIError when no connection can be opened, whichever error the driver or the dialect raised."""

    def connect(self) -> PoolProxiedConnection:
        try:
            return super().connect()
        except DRIVER_ERRORS as error:
            raise OperationalError(None, None, error) from error
        except InvalidRequestError as error:
            # The server closed a connection, and then those that were opened in its place.
            raise OperationalError(None, None, error, connection_invalidated=True) from error


def _configure_connection(connection: Any, _record: object) -> None:
    async def configure(driver: DriverConnection) -> None:
        await driver.execute(f"{_SESSION_SETTINGS}; {transaction_limit(TRANSACTION_SECONDS)}")

    connection.run_async(configure)
    # The system ends connections to a machine that has vanished: requests that wait for it would use up the pool.
    sock = socket_of(connection)
    if sock is None or sock.fileno() < 0:
        # Options of a closed socket are a ValueError on uvloop, which is not recognised as a lost connection.
        raise ConnectionResetError("the server closed the connection while it was being opened")
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE_SECONDS // 3)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENCE_SECONDS // 6)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_SECONDS * 1000)


def transaction_limit(seconds: int, *, only_this: bool = False) -> str:
    """Return the statement that limits transactions of a connection, or only the open one (0: no limit), on servers that can."""
    setting = f"set_config('transaction_timeout', '{seconds}s', {str(only_this).lower()})"
    return f"SELECT {setting} WHERE current_setting('transaction_timeout', true) IS NOT NULL"


def socket_of(connection: Any) -> socket.socket | None:
    """Return the socket of a connection; None, or one without a descriptor, once it is closed."""
    return connection.driver_connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg has no public way to its socket


def _replace_if_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Have the pool open another connection in place of one that a restarted server has closed."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("the server has closed this connection")


def _rename_error(context: ExceptionContext) -> DBAPIError | None:
    """Rename what the dialect passes on as the driver raised it, and take the stored values out of every error."""
    error, original = context.sqlalchemy_exception, context.original_exception
    if error is None and isinstance(original, DRIVER_ERRORS):
        context.is_disconnect = True
        error = OperationalError(None, None, original, connection_invalidated=True)
        remove_values(error)
        return error
    if error is not None:
        remove_values(error)
    return None


def driver_error(error: BaseException) -> BaseException:
    """Return what the driver raised, if SQLAlchemy has wrapped it, else the error itself."""
    return error.driver_exception if isinstance(error, DBAPIError) and error.orig is not None else error


def remove_values(error: StatementError) -> None:
    """Remove the statement and its values from an error: alerts, questions and results must not end in logs and answers."""
    error.statement = error.params = None
    cause = driver_error(error)
    if isinstance(cause, asyncpg.PostgresError):
        # It quotes the row that could not be stored.
        cause.detail = None
    if isinstance(cause, asyncpg.DataError):
        # Already its first line quotes the value.
        for one in (error, error.orig, cause):
            if one is not None:
                one.args = (f"PostgreSQL does not take a value ({type(cause).__name__})",)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """The pool logs a traceback when it closes a connection whose user was cancelled; that is no error."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


_pool_logger = logging.getLogger(f"{DatabasePool.__module__}.{DatabasePool.__qualname__}")
_pool_logger.setLevel(logging.WARNING)
_pool_logger.addFilter(_is_no_cancellation)


def pool_use(engine: AsyncEngine) -> tuple[int, int]:
    """Return how many of the engine's connections are in use, and how many are idle."""
    pool = engine.pool
    return (pool.checkedout(), pool.checkedin()) if isinstance(pool, QueuePool) else (0, 0)


async def ping(engine: AsyncEngine) -> None:
    """Check that the database answers.

    Raises:
        DatabaseUnavailableError: it does not.
    """
    try:
        async with autocommit(engine).connect() as connection:
            await connection.execute(text("SELECT 1"))
    except DBAPIError as error:
        raise unavailable(engine.url, error) from error


async def check_sessions(url: str) -> None:
    """Check that each connection has a server session of its own, as notifications, locks and prepared statements need.

    Raises:
        DatabaseUnavailableError: the database does not answer, or it is behind a pooler that gives connections another session for each transaction.
    """
    received = asyncio.Event()

    def receive(*_: object) -> None:
        received.set()

    channel = f"tarsy_start_{uuid4().hex}"
    # Without prepared statements, whose names would collide in a shared session before this is decided.
    async with listen_connection(url, prepared_statements=0) as listener, listen_connection(url, prepared_statements=0) as sender:
        try:
            async with listener.transaction():
                await listener.add_listener(channel, receive)
            await sender.execute(f"NOTIFY {channel}")
            with suppress(TimeoutError):
                await asyncio.wait_for(received.wait(), NOTIFICATION_SECONDS)
            # PostgreSQL delivers it at the latest with the answer to the next statement, however slow it is.
            await listener.execute("SELECT 1")
        except DRIVER_ERRORS as error:
            raise unavailable(connect_arguments(url)[0], error) from error
    if not received.is_set():
        where = connect_arguments(url)[0].set(drivername="postgresql").render_as_string(hide_password=True)
        raise DatabaseUnavailableError(
            f"Connections to {where} lose their session between transactions: there is a pooler in transaction mode.", _POOLER_REMEDY
        )


@asynccontextmanager
async def listen_connection(url: str, *, prepared_statements: int = PREPARED_STATEMENTS) -> AsyncGenerator[DriverConnection]:
    """Open a connection of the driver outside the pool, to LISTEN on.

    Raises:
        DatabaseUnavailableError: it could not be opened.
    """
    parsed, arguments = connect_arguments(url)
    try:
        address = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
        connection = await asyncpg.connect(address, statement_cache_size=prepared_statements, **arguments)
    except DRIVER_ERRORS as error:
        raise unavailable(parsed, error) from error
    try:
        yield connection
    finally:
        # Not `close()`: that waits for an answer a dead server never gives.
        connection.terminate()


def connect_arguments(url: str) -> tuple[URL, dict[str, Any]]:
    """Return the URL as SQLAlchemy wants it, and the arguments that asyncpg takes instead of parts of it.

    Raises:
        DatabaseUnavailableError: it is no address of a PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # SQLAlchemy raises a ValueError for a port that is no number.
        raise DatabaseUnavailableError("DATABASE_URL is not a database address.", _URL_REMEDY) from error
    if (parsed.port or 0) > MAX_PORT:
        raise DatabaseUnavailableError(f"DATABASE_URL names the port {parsed.port}, which no server can have.", _URL_REMEDY)
    if parsed.drivername not in {"postgres", "postgresql", "postgresql+asyncpg"}:
        raise DatabaseUnavailableError(f"DATABASE_URL names {parsed.drivername}, but TARSy works with PostgreSQL only.", _URL_REMEDY)
    arguments: dict[str, Any] = {
        "timeout": CONNECT_SECONDS,
        "server_settings": {
            "application_name": APPLICATION_NAME,
            "timezone": "UTC",
            # Statements that cast a date to text get it in this form, independent of the server's default.
            "datestyle": "ISO",
        },
    }
    try:
        ssl_argument = _ssl_argument(parsed)
    except OSError as error:
        raise DatabaseUnavailableError(f"The certificates that DATABASE_URL names cannot be used: {error}", _TLS_REMEDY) from error
    if ssl_argument is not None:
        arguments["ssl"] = ssl_argument
    kept = parsed.difference_update_query([*_SSL_KEYS, "application_name", "connect_timeout", "channel_binding"])
    settings = {name: value for name, value in kept.query.items() if name not in _CONNECT_NAMES}
    arguments["server_settings"] = settings | arguments["server_settings"]
    kept = kept.difference_update_query(settings)
    return kept.set(drivername="postgresql+asyncpg"), arguments


def _ssl_argument(url: URL) -> str | ssl.SSLContext | None:
    """Return the TLS settings of libpq as asyncpg's `ssl` argument; certificate files need a context of their own."""
    values = {name: value if isinstance(value := url.query.get(name), str) or value is None else value[0] for name in _SSL_KEYS}
    mode, root, certificate = values["sslmode"] or values["ssl"], values["sslrootcert"], values["sslcert"]
    # With a context asyncpg does not fall back to a connection without TLS: `allow` and `prefer` with a file are as strict as `require`.
    if mode == "disable" or (root is None and certificate is None):
        return mode
    # As in libpq, "system" stands for the certificates that the system trusts, and the name of the server is checked.
    context = ssl.create_default_context(cafile=None if root == "system" else root)
    context.check_hostname = mode == "verify-full" or root == "system"
    if mode not in {"verify-ca", "verify-full"} and root is None:
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, values["sslkey"])
    return context


def unavailable(url: URL, error: BaseException) -> DatabaseUnavailableError:
    """Return the error that names the database, without its password, and the cause."""
    cause = driver_error(error)
    where = url.set(drivername="postgresql").render_as_string(hide_password=True)
    return DatabaseUnavailableError(f"The database at {where} does not answer: {str(cause) or type(cause).__name__}", _ANSWER_REMEDY)
