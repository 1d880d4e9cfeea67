"""The `tarsy` command. A command imports what it needs when it runs, so that `tarsy --help` is quick."""

import sys
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from tarsy import __version__
from tarsy.cli import (
    approvals,
    audit,
    backup,
    config,
    db,
    doctor,
    evals,
    incidents,
    investigate,
    mcp,
    notify,
    recordings,
    reviews,
    serve,
    sessions,
    skills,
    tokens,
    tools,
    usage,
)
from tarsy.cli.terminal import explained

INVESTIGATE, START, MEASURE, CONFIGURE, OPERATE = (
    "Investigations",
    "Getting started",
    "Recordings and evals",
    "Configuration",
    "Operation",
)


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="TARSy investigates alerts with LLM agents.",
)
app.command(rich_help_panel=START)(serve.serve)
app.command(rich_help_panel=START)(config.init)
app.command(rich_help_panel=START)(doctor.doctor)
app.command(rich_help_panel=START)(investigate.demo)
app.add_typer(
    investigate.samples, name="samples", help="List the sample incidents, which need no key and no cluster.", rich_help_panel=START
)
app.command(rich_help_panel=INVESTIGATE)(investigate.investigate)
app.command(rich_help_panel=INVESTIGATE)(investigate.watch)
app.command(rich_help_panel=INVESTIGATE)(investigate.hint)
app.command(rich_help_panel=INVESTIGATE)(investigate.cancel)
app.command(rich_help_panel=INVESTIGATE)(investigate.ask)
app.command(rich_help_panel=INVESTIGATE)(investigate.fork)
app.command(rich_help_panel=INVESTIGATE)(reviews.review)
app.command(rich_help_panel=INVESTIGATE)(recordings.report)
app.add_typer(sessions.app, name="sessions", help="List, show and erase sessions.", rich_help_panel=INVESTIGATE)
app.add_typer(incidents.app, name="incidents", help="List, show, acknowledge and assign incidents.", rich_help_panel=INVESTIGATE)
app.command(rich_help_panel=INVESTIGATE)(mcp.mcp)
app.add_typer(
    approvals.app, name="approvals", help="List tool calls that wait for a person, approve and reject them.", rich_help_panel=INVESTIGATE
)
app.command(rich_help_panel=MEASURE)(recordings.export)
app.command(rich_help_panel=MEASURE)(recordings.replay)
app.add_typer(
    evals.app,
    name="eval",
    help="Measure how well TARSy investigates, on cases with a known answer, without a cluster.",
    rich_help_panel=MEASURE,
)
app.add_typer(config.app, name="config", help="Check, show and describe the configuration.", rich_help_panel=CONFIGURE)
app.add_typer(config.routes, name="routes", help="Try out the routes of the configuration.", rich_help_panel=CONFIGURE)
app.add_typer(tools.app, name="tools", help="List the tools of the tool servers, and call a tool by hand.", rich_help_panel=CONFIGURE)
app.add_typer(skills.app, name="skills", help="List, check, fetch and accept skills.", rich_help_panel=CONFIGURE)
app.command(rich_help_panel=CONFIGURE)(config.reload)
app.command(rich_help_panel=OPERATE)(usage.usage)
app.command(rich_help_panel=OPERATE)(audit.audit)
app.add_typer(tokens.app, name="tokens", help="Create, list and revoke API tokens.", rich_help_panel=OPERATE)
app.add_typer(notify.app, name="notify", help="List notifications, send one again, and test a target.", rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(db.pause)
app.command(rich_help_panel=OPERATE)(db.resume)
app.command(rich_help_panel=OPERATE)(backup.backup)
app.command(rich_help_panel=OPERATE)(backup.restore)
app.add_typer(db.app, name="db", help="Show the database's schema revision and update it.", rich_help_panel=OPERATE)
app.command("llm-service", rich_help_panel=OPERATE)(serve.llm_service)


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
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that is not UTF-8 shows a question mark for a letter that it lacks.
        sys.stdout.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType] - its buffer may be anything
    with explained():
        app()
    sys.exit(0)
