"""Waiting out a database that restarts, fails over, has no room or cannot be reached for a while."""

import errno
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import anyio
import asyncpg
import structlog
from sqlalchemy.exc import DBAPIError, InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

if TYPE_CHECKING:
    import stamina

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
    cause = cause_of(error)
    no_room = isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT}
    return no_room or isinstance(cause, asyncpg.DiskFullError)


def cause_of(error: BaseException) -> BaseException:
    """What the driver raised; SQLAlchemy may have wrapped it twice."""
    if not isinstance(error, DBAPIError) or error.orig is None:
        return error
    return error.orig.__cause__ or error.orig


def is_transient(error: BaseException) -> bool:
    """Whether an error says that the database is away for now, not that it refuses what it was asked."""
    if (isinstance(error, DBAPIError) and error.connection_invalidated) or _is_cut_again(error):
        return True
    return isinstance(
        cause_of(error),
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


def _is_cut_again(error: BaseException) -> bool:
    """Whether the pool gave up: the server had closed a connection, and then the ones that were made in its place. Only its words tell."""
    return isinstance(error, InvalidRequestError) and str(error) == "This connection is closed"


@cache
def _retried() -> "stamina.BoundAsyncRetryingCaller":
    """Made when the database is away for the first time: most processes never need it."""
    import stamina  # noqa: PLC0415 - see above

    return stamina.AsyncRetryingCaller(
        # However many attempts fit in: a failover says nothing about their number.
        attempts=None,
        timeout=GIVE_UP_SECONDS,
        wait_initial=FIRST_PAUSE_SECONDS,
        wait_max=LONGEST_PAUSE_SECONDS,
        # So that the workers of a process, all thrown out at once, do not come back at once.
        wait_jitter=FIRST_PAUSE_SECONDS,
    ).on(is_transient)


async def retrying(attempt: Callable[[], Awaitable[T]], *, whole: bool = False) -> T:
    """Repeat `attempt` while the database is away. What is attempted must bear being repeated.

    With `whole`, a cancellation waits for the end of the attempt under way; between two attempts it passes through.

    Raises:
        Exception: what the last attempt raised, when the patience is used up or the error will not pass.
    """
    try:
        # Without the machinery, which costs as much as a tenth of a short transaction.
        return await _bounded(attempt, whole=whole)
    except Exception as error:
        if not is_transient(error):
            raise
        event = "database.full" if is_disk_full(error) else "database.away"
        log.warning(event, error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    await anyio.sleep(FIRST_PAUSE_SECONDS)
    return await _retried()(_bounded, attempt, whole=whole)


async def _bounded(attempt: Callable[[], Awaitable[T]], *, whole: bool) -> T:
    with anyio.move_on_after(ATTEMPT_SECONDS, shield=whole):
        return await attempt()
    raise TimeoutError


def took_too_long(error: Exception) -> bool:
    """Whether the server ended a statement of ours: then the database is there, and one of the batch is to blame."""
    return isinstance(cause_of(error), asyncpg.QueryCanceledError)
