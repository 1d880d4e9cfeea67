"""Waiting out a database that restarts, fails over, has no room or cannot be reached for a while."""

import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import asyncpg
import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

T = TypeVar("T")

# A failover takes a minute, a forgotten disk longer; beyond this the operator is called by other means.
GIVE_UP_SECONDS = 600.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
# A network that swallows everything without a word would otherwise keep an attempt waiting for a quarter of an hour.
ATTEMPT_SECONDS = 30.0

log = structlog.get_logger(__name__)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that there is no room left, where the database is or where we are."""
    cause = _cause(error)
    no_room = isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT}
    return no_room or isinstance(cause, asyncpg.DiskFullError)


def _cause(error: BaseException) -> BaseException:
    """What the driver raised."""
    return (error.orig.__cause__ if isinstance(error, DBAPIError) and error.orig else None) or error


def is_transient(error: BaseException) -> bool:
    """Whether an error says that the database is away for now, not that it refuses what it was asked."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(
        _cause(error),
        OSError
        | TimeoutError
        | PoolTimeoutError
        | asyncpg.InterfaceError
        # What asyncpg says when the server's farewell and our next request cross.
        | asyncpg.InternalClientError
        | asyncpg.PostgresConnectionError
        | asyncpg.OperatorInterventionError
        # The operator makes room, or the retention does.
        | asyncpg.DiskFullError
        # We were paused in the middle of a transaction, and it was ended without us.
        | asyncpg.IdleInTransactionSessionTimeoutError
        | asyncpg.TransactionTimeoutError
        | asyncpg.TooManyConnectionsError
        # Another process is paused with the lock that we need, and will lose it.
        | asyncpg.LockNotAvailableError
        | asyncpg.DeadlockDetectedError
        | asyncpg.SerializationError,
    )


async def retrying(attempt: Callable[[], Awaitable[T]], *, whole: bool = False) -> T:
    """Repeat `attempt` while the database is away. What is attempted must bear being repeated.

    With `whole`, a cancellation waits for the end of the attempt under way; between two attempts it passes through.

    Raises:
        Exception: what the last attempt raised, when the patience is used up or the error will not pass.
    """
    deadline = anyio.current_time() + GIVE_UP_SECONDS
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            with anyio.fail_after(ATTEMPT_SECONDS, shield=whole):
                return await attempt()
        except (DBAPIError, PoolTimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if not is_transient(error) or anyio.current_time() + pause > deadline:
                raise
            event = "database.full" if is_disk_full(error) else "database.away"
            log.warning(event, error=str(error).splitlines()[0] if str(error) else type(error).__name__, retry_in=pause)
        await anyio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
