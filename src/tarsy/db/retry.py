"""Retrying while the database restarts, fails over, has no disk space left or cannot be reached."""

import errno
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar, cast

import anyio
import asyncpg
import stamina
import structlog
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tarsy.db.connection import driver_error

T = TypeVar("T")
AsyncFunction = TypeVar("AsyncFunction", bound=Callable[..., Coroutine[Any, Any, Any]])

# A failover takes a minute, a full disk longer; beyond this the attempt is given up.
GIVE_UP_SECONDS = 600.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
# A network that drops every packet would otherwise keep an attempt waiting for a quarter of an hour.
ATTEMPT_SECONDS = 30.0

log = structlog.get_logger(__name__)


def is_transient(error: BaseException) -> bool:
    """Return whether an error means that the database is away for now, and not that it refuses the statement."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(
        driver_error(error),
        OSError
        | PoolTimeoutError
        | asyncpg.InterfaceError
        # asyncpg raises it when the server closes the connection while a request is being sent.
        | asyncpg.InternalClientError
        | asyncpg.PostgresConnectionError
        | asyncpg.OperatorInterventionError
        # The operator or the retention makes room.
        | asyncpg.DiskFullError
        # This process was paused in the middle of a transaction, and the server ended it.
        | asyncpg.IdleInTransactionSessionTimeoutError
        | asyncpg.TransactionTimeoutError
        | asyncpg.TooManyConnectionsError
        # Another process is paused while it holds the lock, and will lose it.
        | asyncpg.LockNotAvailableError
        | asyncpg.DeadlockDetectedError
        | asyncpg.SerializationError,
    )


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that there is no room left, on the database's disk or on ours."""
    cause = driver_error(error)
    no_room = isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT}
    return no_room or isinstance(cause, asyncpg.DiskFullError)


def took_too_long(error: Exception) -> bool:
    """Return whether the server ended a statement for its duration: the database is there, and the statement is to blame."""
    return isinstance(driver_error(error), asyncpg.QueryCanceledError)


@contextmanager
def time_limit(seconds: float, *, shield: bool = False) -> Generator[None]:
    """Limit a wait for the database; one that takes longer fails like a lost connection, so that it can be told from waits for others."""
    try:
        with anyio.fail_after(seconds, shield=shield):
            yield
    except TimeoutError as error:
        raise OperationalError(None, None, error, connection_invalidated=True) from error


def retried(*, finish_attempt: bool = False) -> Callable[[AsyncFunction], AsyncFunction]:
    """Return a decorator that repeats a function while the database is away; see `retrying`.

    The function must be safe to repeat, and its arguments must not be used up by an attempt.
    """

    def decorator(function: AsyncFunction) -> AsyncFunction:
        @wraps(function)
        async def repeated(*args: Any, **kwargs: Any) -> Any:
            return await retrying(partial(function, *args, **kwargs), finish_attempt=finish_attempt)

        return cast("AsyncFunction", repeated)

    return decorator


async def retrying(attempt: Callable[[], Awaitable[T]], *, finish_attempt: bool = False) -> T:
    """Repeat `attempt`, which must be safe to repeat, while the database is away.

    With `finish_attempt`, a cancellation waits for the end of the attempt under way; between two attempts it takes effect.

    Raises:
        Exception: what the last attempt raised, after GIVE_UP_SECONDS or when it is no transient error.
    """
    # The time limits the attempts, not their number.
    retries = stamina.retry_context(
        on=is_transient,
        attempts=None,
        timeout=GIVE_UP_SECONDS,
        wait_initial=FIRST_PAUSE_SECONDS,
        wait_max=LONGEST_PAUSE_SECONDS,
        # So that the workers of a process, all disconnected at once, do not come back at once.
        wait_jitter=FIRST_PAUSE_SECONDS,
    )
    async for retry in retries:
        with retry:
            try:
                with time_limit(ATTEMPT_SECONDS, shield=finish_attempt):
                    return await attempt()
            except Exception as error:
                if retry.num == 1 and is_transient(error):
                    event = "database.full" if is_disk_full(error) else "database.away"
                    log.warning(event, error=str(error).splitlines()[0] if str(error) else type(error).__name__)
                raise
    raise AssertionError("the retries end with a result or an error")
