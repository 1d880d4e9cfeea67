"""SQLAlchemy's dialect for the tests: what one engine has compiled, the others of the process need not.

The program makes one engine, and the tests make thousands: compiling the same statements for each was a sixth of the time of those with a
database.
"""

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

_COMPILED: dict[Any, Any] = {}


class SharedStatements(PGDialect_asyncpg):
    """The dialect of asyncpg. All of them are equal, because the cache finds a statement by its dialect, too."""

    # SQLAlchemy asks each class for it, and does not take it from the one above.
    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedStatements)

    def __hash__(self) -> int:
        return hash(SharedStatements)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_COMPILED)


def share_statements() -> None:
    """Use this dialect for every engine that is made from now on."""
    registry.register("postgresql.asyncpg", __name__, SharedStatements.__name__)
