"""`tarsy backup` and `tarsy restore`, for the embedded database."""

from pathlib import Path
from typing import Annotated

import anyio
import typer

from tarsy.cli.environment import DataDir, process_settings

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The backup, in the custom format of pg_dump.", show_default=False, dir_okay=False, resolve_path=True
    ),
]


def backup(
    file: File,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Write the embedded database to a file. TARSy may run meanwhile."""
    from tarsy.db.embedded.backup import write_backup

    directory = _embedded_data(data_dir)

    async def run() -> int:
        return await write_backup(directory, file, overwrite=force)

    typer.echo(f"{file}: {anyio.run(run):,} bytes. Keep your configuration and keys as well: they are not in the database.")


def restore(
    file: File,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace the present database, with all its sessions.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Restore the embedded database from a file of `tarsy backup`. Stop TARSy before."""
    from tarsy.db.embedded.backup import restore_backup

    directory = _embedded_data(data_dir)

    async def run() -> str:
        return await restore_backup(directory, file, overwrite=force)

    typer.echo(f"Restored, at revision {anyio.run(run)}.")


def _embedded_data(data_dir: Path | None) -> Path:
    """Return the data directory of the embedded database.

    Raises:
        BackupError: the settings name another database.
    """
    from tarsy.db.embedded.backup import BackupError

    settings = process_settings(data_dir=data_dir)
    if settings.database_url:
        raise BackupError(
            "DATABASE_URL names a PostgreSQL of your own; this command is for the embedded one.",
            "Use pg_dump and pg_restore, and run `tarsy db backed-up` after each backup.",
        )
    return settings.data_directory
