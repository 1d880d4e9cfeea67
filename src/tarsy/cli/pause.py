"""`tarsy pause` and `tarsy resume`: the stop switch. They write to the database, so that they work also where no server answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.db import DatabaseUrl, DataDir, with_upgraded_engine

if TYPE_CHECKING:
    from tarsy.domain.work import Pause

ACTOR = "command line"

Chain = Annotated[str | None, typer.Option(metavar="NAME", help="Only sessions of this chain.", show_default="everything")]


def pause(
    chain: Chain = None,
    reason: Annotated[str, typer.Option(help="Why; shown to people who use TARSy.")] = "",
    *,
    now: Annotated[
        bool, typer.Option("--now", help="Also park running sessions; they continue where they stopped after `tarsy resume`.")
    ] = False,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Start no new investigations, answers or scores. Running ones finish; with --now they wait too."""
    from tarsy.db.work.pauses import PauseRepository

    left = with_upgraded_engine(
        lambda engine: PauseRepository(engine).pause(chain, actor=ACTOR, reason=reason, now=now), database_url, data_dir
    )
    _tell(left)


def resume(chain: Chain = None, database_url: DatabaseUrl = None, data_dir: DataDir = None) -> None:
    """End a pause: start waiting sessions and continue parked ones."""
    from tarsy.db.work.pauses import PauseRepository

    _tell(with_upgraded_engine(lambda engine: PauseRepository(engine).resume(chain, actor=ACTOR), database_url, data_dir))


def _tell(left: "Sequence[Pause]") -> None:
    for one in left:
        typer.echo(f"{one.chain_id or 'everything'}: {one.description}, since {one.since:%Y-%m-%d %H:%MZ}")
    if not left:
        typer.echo("Nothing is paused.")
