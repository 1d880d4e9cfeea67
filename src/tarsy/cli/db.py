"""`tarsy db`: look at the schema of the database and bring it up to date."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tarsy.cli.environment import process_settings

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.settings import Settings

app = typer.Typer(no_args_is_help=True)

DatabaseUrl = Annotated[
    str | None,
    typer.Option(envvar="DATABASE_URL", help="Address of your own PostgreSQL.", show_default="the embedded one", show_envvar=True),
]
DataDir = Annotated[
    Path | None,
    typer.Option(envvar="TARSY_DATA_DIR", help="Where the embedded PostgreSQL keeps its data.", show_default="the user data directory"),
]


@app.command()
def upgrade(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Update the database to the newest schema."""
    from tarsy.db import migrate

    typer.echo(f"The database is at revision {with_engine(migrate.upgrade, database_url, data_dir)}, the newest.")


@app.command()
def current(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Print the schema revision of the database."""
    from tarsy.db import migrate

    revision, newest = with_engine(migrate.current, database_url, data_dir), migrate.head()
    if revision == newest:
        typer.echo(f"The database is at revision {revision}, the newest.")
    else:
        typer.echo(f"The database is at revision {revision or 'none'}; the newest is {newest}. Run: tarsy db upgrade")


@app.command("backed-up")
def backed_up(database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """Record that a backup of the database was just made. If the next one is late, the System page and the doctor warn."""
    from tarsy.db.processes import VitalSignsReader

    with_upgraded_engine(lambda engine: VitalSignsReader(engine).note_backup(), database_url, data_dir)
    typer.echo("Recorded. If the next backup is late, `tarsy doctor` and the System page warn.")


Result = TypeVar("Result")


def with_engine(work: Callable[["AsyncEngine"], Awaitable[Result]], url: str | None, data_dir: Path | None) -> Result:
    """Run `work` on the database and let go of it again."""

    async def run() -> Result:
        async with opened_engine(process_settings(database_url=url, data_dir=data_dir)) as engine:
            return await work(engine)

    import anyio

    return anyio.run(run)


@asynccontextmanager
async def opened_engine(settings: "Settings") -> "AsyncGenerator[AsyncEngine]":
    """The database that `settings` name, or the embedded one, and nothing of it left open.

    Raises:
        DatabaseUnavailableError: saying what is wrong with it, and the cure.
    """
    from tarsy.db.connection import create_engine
    from tarsy.db.embedded.server import open_database

    async with open_database(settings.database_url, settings.data_dir) as address:
        engine = create_engine(address)
        try:
            yield engine
        finally:
            await engine.dispose()


def with_upgraded_engine(work: Callable[["AsyncEngine"], Awaitable[Result]], url: str | None, data_dir: Path | None) -> Result:
    """Run `work` on the database, brought up to date, and let go of it again."""
    from tarsy.db.migrate import upgrade

    async def upgraded(engine: "AsyncEngine") -> Result:
        await upgrade(engine)
        return await work(engine)

    return with_engine(upgraded, url, data_dir)
