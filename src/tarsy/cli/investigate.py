"""`tarsy investigate` and `tarsy watch`: an investigation in the terminal, of a new alert or of a session that runs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tarsy.cli.environment import process_settings


def investigate(
    alert: Annotated[str, typer.Argument(metavar="FILE|-", help="The alert: a file, or - for standard input.")],
    alert_type: Annotated[str | None, typer.Option("--type", help="Alert type.", show_default="the configured default")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Address of a running TARSy that should investigate it.", show_default="run everything in this process"),
    ] = None,
    runbook: Annotated[str | None, typer.Option(help="Address of a runbook.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="'$0.20,5m'", help="The most it may use: dollars, time, `50k tokens`, `10 model calls`, `20 tool calls`."),
    ] = None,
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token for --url.")] = None,
    config: Annotated[Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files.")] = None,
) -> None:
    """Investigate an alert: show the timeline live, then the analysis. Exit status 0 if it completed, 1 if not."""
    import logging

    import anyio

    from tarsy.cli.live_view import investigate_here, investigate_there
    from tarsy.kit.logs import configure_logs

    text = _read(alert)
    ceilings = _budget(budget) if budget else None
    if url:
        succeeded = anyio.run(investigate_there, url, token, text, alert_type, runbook, ceilings)
    else:
        # A refusal or a failure is told to the client of our own server, which is us.
        configure_logs(level=logging.ERROR)
        succeeded = anyio.run(investigate_here, process_settings(config), text, alert_type, runbook, ceilings)
    raise typer.Exit(0 if succeeded else 1)


def _budget(text: str) -> dict[str, Any]:
    from tarsy.config.schema.budget import parse_budget

    try:
        return parse_budget(text).model_dump(mode="json", exclude_none=True)
    except ValueError as error:
        typer.echo(f"--budget: {error}", err=True)
        raise typer.Exit(2) from error


def _read(path: str) -> str:
    try:
        # Standard input too is UTF-8, whatever the terminal's language is.
        return sys.stdin.buffer.read().decode() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        typer.echo(f"Cannot read the alert from {path}: {error}", err=True)
        raise typer.Exit(2) from error


def watch(
    session: Annotated[str, typer.Argument(help="Id of the session.")],
    url: Annotated[str, typer.Option(envvar="TARSY_URL", help="Address of the running TARSy.")] = "http://127.0.0.1:8080",
    token: Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token.")] = None,
) -> None:
    """Follow a session from its beginning to its end. Exit status 0 if it completed, 1 if not."""
    import anyio

    raise typer.Exit(0 if anyio.run(_watch, session, url, token) else 1)


async def _watch(session_id: str, url: str, token: str | None) -> bool:
    from rich.console import Console

    from tarsy.cli.client import connect
    from tarsy.cli.live_view import follow, print_end
    from tarsy.domain.status import SessionStatus

    console = Console()
    async with connect(url, token) as client:
        session = await client.session(session_id)
        if SessionStatus(session["status"]).is_final:
            # Its live events may be forgotten already; how it ended is not.
            print_end(console, session)
            return session["status"] == SessionStatus.COMPLETED
        return await follow(client, session_id, console)
