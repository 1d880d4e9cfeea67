"""The `tarsy` command. Commands import what they need when they run: `tarsy --help` must answer at once."""

import sys
from typing import Annotated, NoReturn

import typer

from tarsy import __version__
from tarsy.cli import config, db, evals, incidents, routes, samples, sessions, skills, tools
from tarsy.cli.doctor import doctor
from tarsy.cli.fork import fork
from tarsy.cli.hint import hint
from tarsy.cli.init import init
from tarsy.cli.investigate import investigate, watch
from tarsy.cli.pause import pause, resume
from tarsy.cli.recordings import export, replay
from tarsy.cli.reload import reload
from tarsy.cli.report import report
from tarsy.cli.samples import demo
from tarsy.cli.serve import llm_service, serve
from tarsy.cli.terminal import explained
from tarsy.cli.usage import usage

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="TARSy investigates alerts with LLM agents.",
)
app.command()(serve)
app.command()(investigate)
app.command()(watch)
app.command()(hint)
app.command()(fork)
app.command()(demo)
app.command()(init)
app.command()(doctor)
app.command()(pause)
app.command()(resume)
app.command()(reload)
app.command()(usage)
app.command()(export)
app.command()(replay)
app.command()(report)
app.command("llm-service")(llm_service)
app.add_typer(config.app, name="config", help="Check, show and describe the configuration.")
app.add_typer(db.app, name="db", help="Show the database's schema revision and update it.")
app.add_typer(evals.app, name="eval", help="Measure how well TARSy investigates, on cases with a known answer, without a cluster.")
app.add_typer(incidents.app, name="incidents", help="List and show incidents.")
app.add_typer(routes.app, name="routes", help="Try out the routes of the configuration.")
app.add_typer(samples.app, name="samples", help="Sample incidents that need no key and no cluster.")
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
    """Run the command; what a person can act on is told in a sentence, not in a traceback."""
    with explained():
        app()
    sys.exit(0)
