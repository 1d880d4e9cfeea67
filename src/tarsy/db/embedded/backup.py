"""Backups of the embedded database: files that PostgreSQL's own pg_dump writes and pg_restore reads."""

import os
from pathlib import Path

import anyio
import asyncpg
import sqlalchemy as sa
from anyio.to_thread import run_sync
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db import migrate
from tarsy.db.connection import autocommit, driver_error, open_engine
from tarsy.db.embedded.programs import EmbeddedPostgresError, ServerAccount, run
from tarsy.db.embedded.server import DATABASE, embedded_postgres
from tarsy.db.errors import DatabaseUnavailableError
from tarsy.db.processes import BACKUP, record_upkeep

# A backup is restored next to the database, and takes its place when it is complete.
RESTORED, REPLACED = f"{DATABASE}_restored", f"{DATABASE}_replaced"
# The database that every server has: a database cannot be renamed by its own users.
MAINTENANCE = "postgres"


class BackupError(DatabaseUnavailableError):
    """A backup cannot be written or restored; the database is as it was."""


async def write_backup(data_dir: Path, file: Path, *, overwrite: bool) -> int:
    """Write the database as of now to `file`, which only its owner may read, and return its size. Other processes may use the database.

    Raises:
        BackupError: the file exists, there is no database, or pg_dump failed.
        EmbeddedPostgresError: the server cannot be started.
    """
    target = anyio.Path(file)
    if await target.exists() and not overwrite:
        raise BackupError(f"{file} exists.", "Choose another name, or overwrite it with --force.")
    if not await anyio.Path(data_dir / "postgres").exists():
        raise BackupError(f"There is no database in {data_dir}.", "Name its directory with --data-dir or TARSY_DATA_DIR.")
    # An incomplete file never has the name of a backup.
    partial = target.with_name(f"{file.name}.partial")
    await partial.unlink(missing_ok=True)
    await partial.touch(mode=0o600, exist_ok=False)
    try:
        async with embedded_postgres(data_dir) as url:
            await _run("pg_dump", "--format=custom", f"--file={partial}", f"--dbname={url}")
            await partial.replace(target)
            async with open_engine(url) as engine:
                await record_upkeep(engine, BACKUP)
    finally:
        await partial.unlink(missing_ok=True)
    return (await target.stat()).st_size


async def restore_backup(data_dir: Path, file: Path, *, overwrite: bool) -> str:
    """Replace the database by the backup in `file`, migrated to the schema of this version, and return its revision.

    The present database stays as it is until the backup has been restored completely.

    Raises:
        BackupError: there is a database already and `overwrite` is False, or another process uses it.
        DatabaseUnavailableError: the server cannot be started, the file is not a backup, or a later version of TARSy has written it.
    """
    await _run("pg_restore", "--list", str(file))
    async with embedded_postgres(data_dir) as url:
        async with open_engine(url) as present:
            stored = await migrate.current(present)
        if stored is not None and not overwrite:
            raise BackupError(f"{data_dir} has a database already.", "Replace it, with all its sessions, with --force.")
        async with open_engine(_address(url, MAINTENANCE)) as server:
            await _drop(server, RESTORED)
            await _execute(server, f"CREATE DATABASE {RESTORED}")
            try:
                await _run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={_address(url, RESTORED)}", str(file))
                async with open_engine(_address(url, RESTORED)) as restored:
                    revision = await migrate.upgrade(restored)
                await _swap(server, data_dir)
            finally:
                with anyio.CancelScope(shield=True):
                    await _drop(server, RESTORED)
            await _drop(server, REPLACED)
    return revision


async def _swap(server: AsyncEngine, data_dir: Path) -> None:
    """Give the restored database the name of the present one. PostgreSQL refuses that while there are connections to the latter."""
    await _drop(server, REPLACED)
    try:
        async with server.begin() as connection:
            await connection.execute(sa.text(f"ALTER DATABASE {DATABASE} RENAME TO {REPLACED}"))
            await connection.execute(sa.text(f"ALTER DATABASE {RESTORED} RENAME TO {DATABASE}"))
    except DBAPIError as error:
        if not isinstance(driver_error(error), asyncpg.ObjectInUseError):
            raise
        raise BackupError(f"Another process uses the database in {data_dir}.", "Stop TARSy, and restore the backup then.") from error


async def _drop(server: AsyncEngine, name: str) -> None:
    await _execute(server, f"DROP DATABASE IF EXISTS {name}")


async def _execute(server: AsyncEngine, statement: str) -> None:
    async with autocommit(server).connect() as connection:
        await connection.execute(sa.text(statement))


def _address(url: str, database: str) -> str:
    return sa.make_url(url).set(database=database).render_as_string(hide_password=False)


async def _run(name: str, *arguments: str) -> None:
    """Run a program as ourselves, because the file is ours."""
    account = ServerAccount(os.geteuid(), os.getegid())
    try:
        await run_sync(lambda: run(name, list(arguments), account))
    except EmbeddedPostgresError as error:
        raise BackupError(error.problem, "Check the file, and the space on its disk.") from error
