"""`tarsy db`, which works on the database itself, and `tarsy pause` and `tarsy resume`."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio
import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token, process_settings
from tarsy.cli.terminal import minute, without_control_characters

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.settings import Settings

app = typer.Typer(no_args_is_help=True)


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
    """Record that a backup of the database was just made. If the next one is late, the System page and `tarsy doctor` warn."""
    from tarsy.db.processes import BACKUP, record_upkeep

    with_upgraded_engine(lambda engine: record_upkeep(engine, BACKUP), database_url, data_dir)
    typer.echo("Recorded. If the next backup is late, `tarsy doctor` and the System page warn.")


Result = TypeVar("Result")


def with_engine(work: Callable[["AsyncEngine"], Awaitable[Result]], url: str | None, data_dir: Path | None) -> Result:
    """Open the database, run `work` on it and return the result."""

    async def run() -> Result:
        async with opened_engine(process_settings(database_url=url, data_dir=data_dir)) as engine:
            return await work(engine)

    return anyio.run(run)


@asynccontextmanager
async def opened_engine(settings: "Settings") -> "AsyncGenerator[AsyncEngine]":
    """Open the configured database, or the embedded one.

    Raises:
        DatabaseUnavailableError: it cannot be used; the error says why and what to do.
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
    """Open the database, upgrade its schema, run `work` on it and return the result."""
    from tarsy.db.migrate import upgrade

    async def upgraded(engine: "AsyncEngine") -> Result:
        await upgrade(engine)
        return await work(engine)

    return with_engine(upgraded, url, data_dir)


Chain = Annotated[str | None, typer.Option(metavar="NAME", help="Only sessions of this chain.", show_default="everything")]


def pause(
    chain: Chain = None,
    reason: Annotated[str, typer.Option(help="Why; shown to people who use TARSy.")] = "",
    *,
    now: Annotated[
        bool, typer.Option("--now", help="Also park running sessions; they continue where they stopped after `tarsy resume`.")
    ] = False,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Start no new investigations, answers or scores. Running ones finish; with --now they wait too."""
    from tarsy.cli.client import call_server_or_database

    left = call_server_or_database(
        lambda client: client.pause(chain, reason, now=now), url=url, token=token, database_url=database_url, data_dir=data_dir
    )
    _print_pauses(left)


def resume(
    chain: Chain = None, url: ServerUrl = None, token: Token = None, database_url: DatabaseUrl = None, data_dir: DataDir = None
) -> None:
    """End a pause: start waiting sessions and continue parked ones."""
    from tarsy.cli.client import call_server_or_database

    _print_pauses(
        call_server_or_database(lambda client: client.resume(chain), url=url, token=token, database_url=database_url, data_dir=data_dir)
    )


def _print_pauses(left: Sequence[Mapping[str, Any]]) -> None:
    for one in left:
        reason = f": {one['reason']}" if one["reason"] else ""
        typer.echo(
            without_control_characters(f"{one['chain_id'] or 'everything'}: paused by {one['actor']}{reason}, since {minute(one['since'])}")
        )
    if not left:
        typer.echo("Nothing is paused.")
