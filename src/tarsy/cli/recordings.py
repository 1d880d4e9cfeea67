"""`tarsy export` and `tarsy replay`: sessions as files, and files as sessions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tarsy.cli.environment import process_settings
from tarsy.cli.terminal import harmless

if TYPE_CHECKING:
    from tarsy.replay.rerun import NotReplayed, ReplayOutcome


def export(
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.", show_default="standard output")] = None,
) -> None:
    """Export a session as a self-contained recording that you can replay, with secrets masked."""
    import anyio

    from tarsy.domain.recording import recording_text
    from tarsy.replay.export import read_session

    recording = anyio.run(read_session, process_settings(), session_id)
    if recording is None:
        typer.echo(f"There is no session {session_id} in this database.", err=True)
        raise typer.Exit(1)
    if output:
        output.write_text(recording_text(recording), encoding="utf-8")
        return
    sys.stdout.write(recording_text(recording))


def replay(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Recordings, or with --check directories of them.", exists=True)
    ],
    live_model: Annotated[str | None, typer.Option(help="Ask this configured provider instead of the recorded model.")] = None,
    from_step: Annotated[int | None, typer.Option(min=0, help="With --live-model: play this many recorded calls first.")] = None,
    *,
    live_tools: Annotated[bool, typer.Option("--live-tools", help="Call the real tool servers.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only say which recordings replay exactly.")] = False,
) -> None:
    """Run recordings again through the real pipeline and report every difference. Exit status 1 if there is any."""
    import anyio

    from tarsy.replay.rerun import ReplayOptions, replay_all

    if from_step is not None and live_model is None:
        raise typer.BadParameter("--from-step needs --live-model: what should go on from there?")
    files = [
        file for path in recordings for file in (sorted(path.glob("*.json")) + sorted(path.glob("*.yaml")) if path.is_dir() else [path])
    ]
    if not files:
        raise typer.BadParameter(f"no recording (*.json, *.yaml) in {', '.join(str(path) for path in recordings)}")
    options = ReplayOptions(live_model=live_model, live_tools=live_tools, from_step=from_step or 0)
    outcomes = anyio.run(replay_all, process_settings(), files, options)
    same = [_told(outcome, brief=check) for outcome in outcomes]
    raise typer.Exit(0 if all(same) else 1)


def _told(outcome: "ReplayOutcome | NotReplayed", *, brief: bool) -> bool:
    """Say what came of a file; true if it replayed exactly."""
    from tarsy.replay.rerun import NotReplayed

    if isinstance(outcome, NotReplayed):
        typer.echo(f"{outcome.file}: not replayed: {harmless(outcome.reason)}", err=True)
        return False
    typer.echo(f"{outcome.file}: {'identical' if not outcome.differences else f'{len(outcome.differences)} differences'}")
    for difference in () if brief else outcome.differences:
        typer.echo(f"  {harmless(str(difference))}")
    return not outcome.differences
