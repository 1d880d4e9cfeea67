"""The `tarsy` command. A command imports what it needs when it runs, so that `tarsy --help` is quick."""

import sys
from typing import Annotated, NoReturn

import typer

from tarsy import __version__
from tarsy.cli import config, db, doctor, evals, incidents, investigate, recordings, serve, sessions, skills, tools, usage
from tarsy.cli.terminal import explained

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="TARSy investigates alerts with LLM agents.",
)
app.command()(serve.serve)
app.command()(investigate.investigate)
app.command()(investigate.watch)
app.command()(investigate.hint)
app.command()(investigate.fork)
app.command()(investigate.demo)
app.command()(config.init)
app.command()(doctor.doctor)
app.command()(db.pause)
app.command()(db.resume)
app.command()(config.reload)
app.command()(usage.usage)
app.command()(recordings.export)
app.command()(recordings.replay)
app.command()(recordings.report)
app.command("llm-service")(serve.llm_service)
app.add_typer(config.app, name="config", help="Check, show and describe the configuration.")
app.add_typer(db.app, name="db", help="Show the database's schema revision and update it.")
app.add_typer(evals.app, name="eval", help="Measure how well TARSy investigates, on cases with a known answer, without a cluster.")
app.add_typer(incidents.app, name="incidents", help="List and show incidents.")
app.add_typer(config.routes, name="routes", help="Try out the routes of the configuration.")
app.add_typer(investigate.samples, name="samples", help="Sample incidents that need no key and no cluster.")
app.add_typer(sessions.app, name="sessions", help="List, show and erase sessions.")
app.add_typer(skills.app, name="skills", help="List, check, fetch and accept skills.")
app.add_typer(tools.app, name="tools", help="List the tools of the tool servers, and call a tool by hand.")


def _version(value: bool) -> None:  # noqa: FBT001 - typer calls it so
    if value:
        typer.echo(f"tarsy {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """TARSy takes an alert, investigates it with LLM agents and real tools, and hands you a root-cause analysis."""
    del version  # its callback has answered
    import logging

    from tarsy.kit.logs import configure_logs
    from tarsy.kit.process import keep_memory_private

    keep_memory_private()
    # A command's output is its answer: logs only where something is wrong. Servers turn theirs up.
    configure_logs(level=logging.WARNING)


def main() -> NoReturn:
    """Run the command. Errors that a person can act on are printed as a sentence, others with a traceback."""
    with explained():
        app()
    sys.exit(0)
