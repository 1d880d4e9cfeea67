"""Which schema a database has and which one this version speaks: asked before anything heavy is loaded, hence without SQLAlchemy."""

from pathlib import Path

import asyncpg

MIGRATIONS = Path(__file__).parent / "migrations"
# A start must not wait for an answer that only saves a second.
PATIENCE_SECONDS = 2.0


def head() -> str:
    """The newest revision we bring: the highest number among the files, so that a warm start needs no Alembic."""
    return max(path.name[1:5] for path in (MIGRATIONS / "versions").glob("v[0-9][0-9][0-9][0-9]_*.py"))


async def is_current(url: str) -> bool:
    """Whether the database answers and has the schema we speak; False also where only a closer look could tell."""
    address = url.replace("postgresql+asyncpg://", "postgresql://", 1)
    try:
        connection = await asyncpg.connect(address, timeout=PATIENCE_SECONDS, command_timeout=PATIENCE_SECONDS)
        try:
            return await connection.fetchval("SELECT version_num FROM alembic_version") == head()
        finally:
            connection.terminate()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError):
        return False
