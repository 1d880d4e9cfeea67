"""Commands that write a session to a file or run one from a file: `tarsy export`, `tarsy replay`, `tarsy report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import anyio
import typer

from tarsy.cli.db import DatabaseUrl, DataDir, with_upgraded_engine
from tarsy.cli.environment import process_settings
from tarsy.cli.terminal import harmless

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.domain.recording import Recording
    from tarsy.report.report import Report


def export(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.", show_default="standard output")] = None,
) -> None:
    """Export a session as a self-contained recording that you can replay, with secrets masked."""
    from tarsy.domain.recording import recording_text

    text = recording_text(read_recording(session_id))
    if output:
        output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


def read_recording(session_id: str) -> "Recording":
    """Read a session of the database as a recording; end the command if there is none."""
    from tarsy.db.session.recordings import RecordingSource

    try:
        UUID(session_id)
    except ValueError:
        raise _no_session(session_id) from None
    recording = with_upgraded_engine(lambda engine: RecordingSource(engine).read(session_id), None, None)
    if recording is None:
        raise _no_session(session_id)
    return recording


def _no_session(session_id: str) -> typer.Exit:
    typer.echo(f"There is no session {session_id} in this database.", err=True)
    return typer.Exit(1)


def replay(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Recordings, or with --check directories of them.", exists=True)
    ],
    live_model: Annotated[str | None, typer.Option(help="Ask this configured provider instead of the recorded model.")] = None,
    from_step: Annotated[int | None, typer.Option(min=0, help="With --live-model: play this many recorded calls first.")] = None,
    *,
    live_tools: Annotated[bool, typer.Option("--live-tools", help="Call your configured tool servers of the recorded names.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only say which recordings replay exactly.")] = False,
) -> None:
    """Run recordings again through the real pipeline and report every difference. Exit status 1 if there is any."""
    from tarsy.replay import NotReplayed, ReplayOptions, replay_all

    if from_step is not None and live_model is None:
        raise typer.BadParameter("--from-step needs --live-model: what should go on from there?")
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
            typer.echo(f"{outcome.file}: not replayed: {harmless(outcome.reason)}", err=True)
            identical = False
            continue
        typer.echo(f"{outcome.file}: {'identical' if not outcome.differences else f'{len(outcome.differences)} differences'}")
        for difference in () if check else outcome.differences:
            typer.echo(f"  {harmless(str(difference))}")
        identical = identical and not outcome.differences
    raise typer.Exit(0 if identical else 1)


_PAGES = frozenset({".html", ".htm"})
_MARKDOWN = frozenset({".md", ".markdown"})


def report(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it: FILE.html or FILE.md.", show_default="standard output, as Markdown"),
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Write a session as one self-contained file: alert, verdict, analysis, questions, and every cited result."""
    from tarsy.db.errors import NotFoundError
    from tarsy.db.repositories import SessionRepositories
    from tarsy.report.html import as_html
    from tarsy.report.markdown import as_markdown
    from tarsy.report.report import read_report

    suffix = output.suffix.lower() if output else ".md"
    if suffix not in _PAGES | _MARKDOWN:
        raise typer.BadParameter(f"{output}: a report is FILE.html or FILE.md.")

    async def read(engine: "AsyncEngine") -> "Report | None":
        try:
            return await read_report(SessionRepositories.on(engine), str(UUID(session_id)))
        except (ValueError, NotFoundError):
            return None

    found = with_upgraded_engine(read, database_url, data_dir)
    if found is None:
        raise _no_session(session_id)
    text = as_html(found) if suffix in _PAGES else as_markdown(found)
    if output:
        output.write_bytes(text.encode("utf-8", "replace"))
    else:
        sys.stdout.write(harmless(text))
