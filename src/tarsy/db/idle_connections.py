"""The short way to a connection that lies idle in the engine's pool, and back.

SQLAlchemy's own way leads through a greenlet, a proxy with a weak reference and a reset of what was never begun: ten times the work, for each
statement. The pool's accounts stay right: it is the same queue. Whatever is not an idle connection in good order is SQLAlchemy's business.
"""

from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.util.queue import Empty

from tarsy.db.connection import is_closed


class IdleConnection:
    """A connection that was taken out of the pool's queue."""

    def __init__(self, pool: QueuePool, entry: ConnectionPoolEntry) -> None:
        self._pool = pool
        self._entry = entry

    @property
    def driver_connection(self) -> object:
        return self._entry.driver_connection

    def close(self) -> None:
        self._pool._do_return_conn(self._entry)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the pool has no other door for it

    def invalidate(self) -> None:
        """Have the pool make another one in its place."""
        self._entry.invalidate()
        self.close()


def take_idle(engine: AsyncEngine) -> IdleConnection | None:
    """An idle connection; None where the pool has none in good order at the moment."""
    pool = engine.sync_engine.pool
    if not isinstance(pool, QueuePool):
        return None
    try:
        entry = pool._pool.get(block=False)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above
    except Empty:
        return None
    found = IdleConnection(pool, entry)
    if entry.dbapi_connection is not None and not is_closed(entry.dbapi_connection):
        return found
    found.close()
    return None
