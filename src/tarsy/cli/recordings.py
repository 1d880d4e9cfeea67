"""Commands that write a session to a file or run one from a file: `tarsy export`, `tarsy replay`, `tarsy report`."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Session, Token, process_settings
from tarsy.cli.terminal import without_control_characters


def export(
    session: Session,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.", show_default="standard output")] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Export a session as a self-contained recording that you can replay, with secrets masked."""
    from tarsy.cli.client import TarsyClient, call_server_or_database

    async def read(client: TarsyClient) -> str:
        return await client.recording(await client.session_id(session))

    text = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    if output:
        output.write_text(text, encoding="utf-8")
    else:
        # UTF-8 in every locale, as `tarsy replay` reads it.
        typer.echo(text.encode(), nl=False)


def replay(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Recordings, or with --check directories of them.", exists=True)
    ],
    live_model: Annotated[str | None, typer.Option(help="Ask this configured provider instead of the recorded model.")] = None,
    from_step: Annotated[int | None, typer.Option(min=0, help="With --live-model: play this many recorded calls first.")] = None,
    *,
    live_tools: Annotated[bool, typer.Option("--live-tools", help="Call your configured tool servers of the recorded names.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only report which recordings replay exactly.")] = False,
) -> None:
    """Run recordings again through the real pipeline and report every difference. Exit status 1 if there is any."""
    from tarsy.replay import NotReplayed, ReplayOptions, replay_all

    if from_step is not None and live_model is None:
        raise typer.BadParameter("--from-step needs --live-model, which names the model that continues")
    files = [
        file for path in recordings for file in (sorted(path.glob("*.json")) + sorted(path.glob("*.yaml")) if path.is_dir() else [path])
    ]
    if not files:
        raise typer.BadParameter(f"no recording (*.json, *.yaml) in {', '.join(str(path) for path in recordings)}")
    options = ReplayOptions(live_model=live_model, live_tools=live_tools, from_step=from_step or 0)
    outcomes = anyio.run(replay_all, process_settings(), files, options)
    identical = True
    for outcome in outcomes:
        if isinstance(outcome, NotReplayed):
            typer.echo(f"{outcome.file}: not replayed: {without_control_characters(outcome.reason)}", err=True)
            identical = False
            continue
        typer.echo(f"{outcome.file}: {'identical' if not outcome.differences else f'{len(outcome.differences)} differences'}")
        for difference in () if check else outcome.differences:
            typer.echo(f"  {without_control_characters(str(difference))}")
        identical = identical and not outcome.differences
    raise typer.Exit(0 if identical else 1)


_PAGES = frozenset({".html", ".htm"})
_MARKDOWN = frozenset({".md", ".markdown"})


def report(
    session: Session,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it: FILE.html or FILE.md.", show_default="standard output, as Markdown"),
    ] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Write a session as one self-contained file: alert, verdict, analysis, questions, and every cited result."""
    from tarsy.cli.client import TarsyClient, call_server_or_database

    suffix = output.suffix.lower() if output else ".md"
    if suffix not in _PAGES | _MARKDOWN:
        raise typer.BadParameter(f"{output}: name the report FILE.html or FILE.md.")

    async def read(client: TarsyClient) -> str:
        return await client.report(await client.session_id(session), "html" if suffix in _PAGES else "md")

    text = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    if output:
        output.write_bytes(text.encode("utf-8", "replace"))
    else:
        sys.stdout.write(without_control_characters(text))
