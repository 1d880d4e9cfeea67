"""The driver under SQLAlchemy, for the statements of which a session makes many: they are prepared once, and cost a quarter.

The connections are those of the engine's pool, which alone decides how many there are, replaces the lost ones, and hands them out.
"""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeAlias, cast

import asyncpg
import sqlalchemy as sa
from sqlalchemy import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import tell_no_values
from tarsy.db.idle_connections import IdleConnection, take_idle
from tarsy.db.tables import Id

# Only the type checker knows them as generic.
RawConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
# A transaction is SQLAlchemy's or the driver's: what is written into both takes either.
Connection: TypeAlias = "AsyncConnection | asyncpg.Connection[asyncpg.Record]"

# Not the casts (`::`), nor what stands in a quoted word (`session:…`).
_PARAMETER = re.compile(r"(?<![:\w]):([a-z]\w*)")
_REFUSALS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class Row(Protocol):
    """A row that was read, by SQLAlchemy or by the driver."""

    def __getitem__(self, key: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


class Statement:
    """SQL with parameters by name (`:name`). The driver prepares it once per connection: make it once, too."""

    def __init__(self, sql: str) -> None:
        numbers: dict[str, int] = {}
        self._sql = _PARAMETER.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", sql)
        self._names = tuple(numbers)

    async def rows(self, connection: Connection, values: Mapping[str, Any] | None = None) -> list[asyncpg.Record]:
        """What it answers with `values`, of which it takes those that it names.

        Raises:
            DBAPIError: the database refused, or went away.
        """
        driver = await driver_of(connection)
        arguments = [values[name] for name in self._names] if values else ()
        try:
            return await driver.fetch(self._sql, *arguments)
        except _REFUSALS as error:
            raise _renamed(error, driver) from error

    async def row(self, connection: Connection, values: Mapping[str, Any] | None = None) -> asyncpg.Record | None:
        """Its first row; see `rows`."""
        found = await self.rows(connection, values)
        return found[0] if found else None


def columns_of(table: sa.Table, alias: str, *, without: frozenset[str] = frozenset()) -> str:
    """The columns of a table as a statement selects them; ids are read as the text that they are everywhere else."""
    wanted = [column for column in table.c if column.name not in without]
    return ", ".join(f"{alias}.{one.name}{f'::text AS {one.name}' if one.type is Id else ''}" for one in wanted)


class _Borrowed:
    """See `borrowed`. Not a generator: the event loop keeps a book of those, which costs as much as all that is done here."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._pooled: IdleConnection | PoolProxiedConnection | None = None

    async def __aenter__(self) -> RawConnection:
        self._pooled = take_idle(self._engine) or await _pooled(self._engine)
        return cast("RawConnection", self._pooled.driver_connection)

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._pooled is None:
            return
        if error is not None and not isinstance(error, Exception):
            # Cancelled in the middle of a statement: what the server still answers would be taken for the answer to the next.
            self._pooled.invalidate()
        else:
            self._pooled.close()


def borrowed(engine: AsyncEngine) -> AbstractAsyncContextManager[RawConnection]:
    """A connection of the pool. Each statement is a transaction of its own: nothing to begin and nothing to commit."""
    return _Borrowed(engine)


async def _pooled(engine: AsyncEngine) -> PoolProxiedConnection:
    try:
        return await engine.raw_connection()
    except Exception as error:
        # The adapter under SQLAlchemy has a third name for what the driver raised while it was connecting.
        if isinstance(error.__cause__, _REFUSALS):
            raise DBAPIError(None, None, error) from error
        raise


@asynccontextmanager
async def transaction(engine: AsyncEngine, *, begins_with: str = "") -> AsyncGenerator[RawConnection]:
    """A transaction on a connection of the pool; `begins_with` is its first statement, if that has no parameters."""
    async with borrowed(engine) as driver:
        try:
            try:
                # One round trip for both.
                await driver.execute(f"BEGIN; {begins_with}")
                yield driver
            except Exception:
                if not driver.is_closed():
                    await driver.execute("ROLLBACK")
                raise
            await driver.execute("COMMIT")
        except _REFUSALS as error:
            raise _renamed(error, driver) from error


async def driver_of(connection: Connection) -> RawConnection:
    """The driver's connection, inside the transaction that SQLAlchemy has open on it."""
    if not isinstance(connection, AsyncConnection):
        return connection
    driver = cast("RawConnection", (await connection.get_raw_connection()).driver_connection)
    if not driver.is_in_transaction():
        # SQLAlchemy begins a transaction with its first statement.
        await connection.execute(sa.text("SELECT"))
    return driver


def _renamed(error: Exception, driver: RawConnection) -> DBAPIError:
    """What the driver raises, under the name by which the rest of the program knows it."""
    if isinstance(error, asyncpg.PostgresError):
        # It quotes the row that could not be stored.
        error.detail = None
    told = DBAPIError(None, None, error, connection_invalidated=driver.is_closed())
    tell_no_values(told)
    return told
