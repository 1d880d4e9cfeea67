"""Migrating a database to the schema of this version."""

from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import transaction_limit, unavailable
from tarsy.db.errors import DatabaseUnavailableError

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
# The first migration makes all tables of this revision; this commit is the last one that migrates older databases to it.
FIRST_REVISION = "0022"
UPGRADING_COMMIT = "3909e02"
# Any fixed number will do, as long as every replica uses the same one.
LOCK_KEY = 7_276_817_001
# How long a replica waits for another one that is migrating.
LOCK_SECONDS = 300

log = structlog.get_logger(__name__)


class SchemaTooNewError(DatabaseUnavailableError):
    """The database has been migrated by a later version of TARSy."""


class SchemaTooOldError(DatabaseUnavailableError):
    """The database is older than the first migration of this version."""


def head() -> str:
    """Return the newest revision of this version: the highest number among the files."""
    return max(path.name[1:5] for path in (MIGRATIONS / "versions").glob("v[0-9][0-9][0-9][0-9]_*.py"))


async def current(engine: AsyncEngine) -> str | None:
    """Return the revision of the database; None for an empty one.

    Raises:
        DatabaseUnavailableError: it does not answer.
    """
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_stored_revision)
    except DBAPIError as error:
        raise unavailable(engine.url, error) from error


async def upgrade(engine: AsyncEngine) -> str:
    """Migrate the database to `head()` and return that. Of replicas that start together one migrates, and the others wait.

    Raises:
        SchemaTooNewError: this version is older than the database.
        SchemaTooOldError: the database is older than the first migration.
        DatabaseUnavailableError: it does not answer.
    """
    target = head()
    stored = await current(engine)
    if stored == target:
        return target
    if stored is not None and stored > target:
        raise SchemaTooNewError(
            f"The database is at schema revision {stored}; this TARSy knows revisions up to {target}.",
            "Start the newer TARSy version that migrated it, or restore a backup from before.",
        )
    if stored is not None and stored < FIRST_REVISION:
        raise SchemaTooOldError(
            f"The database is at schema revision {stored}; this TARSy upgrades databases from revision {FIRST_REVISION} on.",
            f"Start TARSy of commit {UPGRADING_COMMIT} on it once, which upgrades it to {FIRST_REVISION}; then start this version again.",
        )
    try:
        async with engine.begin() as connection:
            await connection.execute(text(transaction_limit(0, only_this=True)))
            await connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
            # Held until the commit: the lock ends with the migration, even when the process is killed.
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK_KEY})
            migrated = await connection.run_sync(_run_migrations)
    except DBAPIError as error:
        raise unavailable(engine.url, error) from error
    if migrated:
        log.info("database.migrated", before=stored, after=target)
    return target


def alembic_config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - large, and a database is seldom migrated

    config = Config()
    # Alembic reads its options with interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "v%%(rev)s_%%(slug)s")
    return config


def _run_migrations(connection: Connection) -> bool:
    """Migrate and return True, unless another replica did while this one waited for the lock."""
    if _stored_revision(connection) == head():
        return False
    from alembic import command  # noqa: PLC0415 - large, and a database is seldom migrated

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return True


def _stored_revision(connection: Connection) -> str | None:
    # Read from the catalogue's rows: `to_regclass` may answer from a cache older than the lock that was just waited for.
    known = "SELECT 1 FROM pg_tables WHERE tablename = 'alembic_version' AND schemaname = ANY (current_schemas(false))"
    if connection.scalar(text(known)) is None:
        return None
    return connection.scalar(text("SELECT version_num FROM alembic_version"))
