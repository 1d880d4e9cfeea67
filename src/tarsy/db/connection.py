"""Ways to the database: the pooled engine, the raw connection for LISTEN, and what to say when neither works."""

import asyncio
import logging
import select
import socket
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson
from sqlalchemy import URL, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, StatementError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from tarsy.db.errors import DatabaseUnavailableError

APPLICATION_NAME = "tarsy"
# Workers, HTTP requests and the heartbeat of one process; ten replicas stay below PostgreSQL's default of 100 connections.
# All of them are kept: to open one, and to prepare its statements, costs more than a dozen steps.
POOL_SIZE = 7
# A step, the heartbeat, and a claim: less would let one of them wait for another.
LEAST_POOL_SIZE = 3
CONNECT_SECONDS = 10
# A process that is paused, or cut off, in the middle of a transaction keeps rows locked that others must take over. Ours take milliseconds.
IDLE_IN_TRANSACTION_SECONDS = 10
# A process that is paused between the two halves of a statement does not count as idle. Servers from PostgreSQL 17 on see that too.
TRANSACTION_SECONDS = 60
# After this long without a sign of life from the other machine, whatever waits for it is told. The system's own patience is a quarter of an hour.
SILENCE_SECONDS = 30
_POOL_LOGGER = "sqlalchemy.pool.impl.AsyncAdaptedQueuePool"
# What asyncpg raises, beside OSError, when no server answers or it turns us away.
REFUSALS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


def create_engine(url: str, *, connections: int = POOL_SIZE) -> AsyncEngine:
    """A pooled engine for `url`, which may be spelt as libpq, Heroku or SQLAlchemy spell it."""
    sqlalchemy_url, arguments = connect_arguments(url)
    engine = create_async_engine(
        sqlalchemy_url,
        pool_size=connections,
        max_overflow=0,
        # The one that was used last: its server process has all at hand that the next statement needs, the plans of prepared ones included.
        pool_use_lifo=True,
        connect_args=arguments,
        hide_parameters=True,
        json_serializer=_json_text,
        json_deserializer=orjson.loads,
    )
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "connect", _give_up_on_silence)
    event.listen(engine.sync_engine, "checkout", _replace_if_closed)
    event.listen(engine.sync_engine, "handle_error", _tell_no_values)
    # Added once, however many engines there are.
    logging.getLogger(_POOL_LOGGER).addFilter(_is_worth_telling)
    return engine


def _tell_no_values(context: ExceptionContext) -> None:
    if context.sqlalchemy_exception is not None:
        tell_no_values(context.sqlalchemy_exception)


def tell_no_values(told: StatementError) -> None:
    """Take out of an error the statement and what it was about to store: alerts, questions, results. They end in logs and in answers."""
    told.statement = told.params = None
    chain = [error for error in (told, told.orig, told.orig and told.orig.__cause__) if error]
    cause = chain[-1]
    if isinstance(cause, asyncpg.PostgresError):
        # It quotes the row that could not be stored.
        cause.detail = None
    if isinstance(cause, asyncpg.DataError):
        # Already its first line quotes the value.
        for error in chain:
            error.args = (f"PostgreSQL does not take a value ({type(cause).__name__})",)


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """A connection that is closed because its user was cancelled is no error, though the pool speaks of it with a traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def transaction_limit(seconds: int, *, only_this: bool = False) -> str:
    """The statement that limits transactions (0: does not), or this one alone, on servers that can."""
    setting = f"set_config('transaction_timeout', '{seconds}s', {str(only_this).lower()})"
    return f"SELECT {setting} WHERE current_setting('transaction_timeout', true) IS NOT NULL"


# What a session works on is in memory. PostgreSQL's own 4 stands for disks that turn, and has it read small tables whole.
_IN_MEMORY = "SELECT set_config('random_page_cost', '1.1', false)"


def _prepare(connection: Any, _record: object) -> None:
    async def prepare(driver: "asyncpg.Connection[asyncpg.Record]") -> None:
        await driver.execute(f"{transaction_limit(TRANSACTION_SECONDS)}; {_IN_MEMORY}")

    connection.run_async(prepare)


def socket_of(connection: Any) -> socket.socket:
    return connection.driver_connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg shows its socket nowhere else


def _give_up_on_silence(connection: Any, _record: object) -> None:
    """Let the system find out that the other machine has vanished without a word: requests that wait for it would use up the pool."""
    line = socket_of(connection)
    if line.family == socket.AF_UNIX:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENCE_SECONDS // 3)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENCE_SECONDS // 6)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_SECONDS * 1000)


def _replace_if_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Never hand out a connection that a restarted server has closed. Our own end of it knows: asking the server costs three round trips."""
    if is_closed(connection):
        raise DisconnectionError("the server has closed this connection")


def is_closed(connection: Any) -> bool:
    """Whether an idle connection is closed, by us or by the server."""
    return connection.driver_connection.is_closed() or _has_news(socket_of(connection).fileno())


def _has_news(fileno: int) -> bool:
    """Whether something waits to be read: on an idle connection that is the server's farewell."""
    poll = select.poll()
    poll.register(fileno, select.POLLIN)
    return bool(poll.poll(0))


def pool_use(engine: AsyncEngine) -> tuple[int, int]:
    """How many of the engine's connections are in use, and how many lie idle."""
    pool = engine.pool
    return (pool.checkedout(), pool.checkedin()) if isinstance(pool, QueuePool) else (0, 0)


async def ping(engine: AsyncEngine) -> None:
    """Ask the database for a sign of life.

    Raises:
        DatabaseUnavailableError: there is none.
    """
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (DBAPIError, *REFUSALS) as error:
        raise unavailable(engine.url, error) from error


@asynccontextmanager
async def listen_connection(url: str) -> AsyncGenerator[asyncpg.Connection]:
    """One connection outside the pool, to LISTEN on.

    Raises:
        DatabaseUnavailableError: it could not be opened.
    """
    parsed, arguments = connect_arguments(url)
    try:
        connection = await asyncpg.connect(asyncpg_dsn(parsed), **arguments)
    except REFUSALS as error:
        raise unavailable(parsed, error) from error
    try:
        yield connection
    finally:
        # Not `close()`: that waits for an answer a dead server never gives.
        connection.terminate()


def connect_arguments(url: str) -> tuple[URL, dict[str, Any]]:
    """The URL as SQLAlchemy wants it, and what asyncpg takes as arguments instead."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise DatabaseUnavailableError("DATABASE_URL is not a database address.", _URL_CURE) from error
    if parsed.drivername not in {"postgres", "postgresql", "postgresql+asyncpg"}:
        raise DatabaseUnavailableError(f"DATABASE_URL names {parsed.drivername}, but TARSy speaks PostgreSQL only.", _URL_CURE)
    arguments: dict[str, Any] = {
        "timeout": CONNECT_SECONDS,
        "server_settings": {
            "application_name": APPLICATION_NAME,
            "timezone": "UTC",
            # Statements that write a date as text mean it so, whatever the server's habit.
            "datestyle": "ISO",
            "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s",
        },
    }
    ssl_argument = _ssl_argument(parsed)
    if ssl_argument is not None:
        arguments["ssl"] = ssl_argument
    kept = parsed.difference_update_query([*_SSL_KEYS, "application_name", "connect_timeout", "channel_binding"])
    return kept.set(drivername="postgresql+asyncpg"), arguments


def asyncpg_dsn(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def unavailable(url: URL, error: BaseException) -> DatabaseUnavailableError:
    """Name what failed without ever naming the password."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    where = url.set(drivername="postgresql").render_as_string(hide_password=True)
    return DatabaseUnavailableError(f"The database at {where} does not answer: {cause or type(cause).__name__}", _ANSWER_CURE)


_URL_CURE = "Set DATABASE_URL to postgresql://user:password@host:5432/database, or unset it to use the embedded PostgreSQL."
_ANSWER_CURE = "Check that the server runs and that DATABASE_URL has the right host, database, user and password."
_SSL_KEYS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "ssl")


def _json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _query_value(url: URL, key: str) -> str | None:
    value = url.query.get(key)
    return value if isinstance(value, str) or value is None else value[0]


def _ssl_argument(url: URL) -> str | ssl.SSLContext | None:
    """The TLS settings of libpq as asyncpg's `ssl` argument; certificate files need a context of their own."""
    mode = _query_value(url, "sslmode") or _query_value(url, "ssl")
    root, certificate, key = (_query_value(url, name) for name in ("sslrootcert", "sslcert", "sslkey"))
    if root is None and certificate is None:
        return mode
    context = ssl.create_default_context(cafile=root)
    context.check_hostname = mode == "verify-full"
    if mode not in {"verify-ca", "verify-full"} and root is None:
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context
