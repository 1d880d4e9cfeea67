"""The `tarsy` command. Commands import what they need when they run: `tarsy --help` must answer at once."""

import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tarsy import __version__
from tarsy.cli.doctor import doctor
from tarsy.cli.fork import fork
from tarsy.cli.hint import hint
from tarsy.cli.init import init
from tarsy.cli.investigate import investigate, watch
from tarsy.cli.late_group import LateGroup
from tarsy.cli.llm_service import llm_service
from tarsy.cli.pause import pause, resume
from tarsy.cli.recordings import export, replay
from tarsy.cli.reload import reload
from tarsy.cli.report import report
from tarsy.cli.samples import demo
from tarsy.cli.serve import serve
from tarsy.cli.usage import usage

GROUPS = (
    LateGroup("config", "config", "Check, show and describe the configuration."),
    LateGroup("db", "db", "Show the database's schema revision and update it."),
    LateGroup("eval", "evals", "Measure how well TARSy investigates, on cases with a known answer, without a cluster."),
    LateGroup("incidents", "incidents", "List and show incidents."),
    LateGroup("routes", "routes", "Try out the routes of the configuration."),
    LateGroup("samples", "samples", "Sample incidents that need no key and no cluster."),
    LateGroup("sessions", "sessions", "List, show and erase sessions."),
    LateGroup("skills", "skills", "List, check, fetch and accept skills."),
    LateGroup("tools", "tools", "List the tools of the tool servers, and call a tool by hand."),
)


class Program(TyperGroup):
    """All commands: those that stand alone, then the groups."""

    def __init__(self, **said: Any) -> None:
        super().__init__(**said)
        for group in GROUPS:
            self.add_command(group)


app = typer.Typer(
    cls=Program,
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
    from tarsy.cli.terminal import explained

    with explained():
        app()
    sys.exit(0)
