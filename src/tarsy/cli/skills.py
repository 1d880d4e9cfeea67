"""`tarsy skills`: list, check, fetch and accept the procedures that agents may load."""

import os
from typing import TYPE_CHECKING

import typer

from tarsy.cli.config import Directory
from tarsy.cli.terminal import without_control_characters

if TYPE_CHECKING:
    from tarsy.skills.sync import SyncedSource

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_skills(config: Directory = None) -> None:
    """List the skills with their source and, for those from Git, the commit."""
    from tarsy.config.load.display import render_skills
    from tarsy.config.load.loader import load_config

    typer.echo(without_control_characters(render_skills(load_config(config, os.environ).config.skills.values())))


@app.command()
def check(config: Directory = None) -> None:
    """Report all problems of the skills; exit status 1 if there are any."""
    from tarsy.config.load.display import check_skills

    usable, verdict, remarks = check_skills(config, os.environ)
    if remarks:
        typer.echo(without_control_characters(remarks), err=True)
    typer.echo(verdict, err=not usable)
    if not usable:
        raise typer.Exit(1)


@app.command()
def sync(config: Directory = None) -> None:
    """Fetch the skills from Git and show what is new on branches and tags. TARSy uses it only after `tarsy skills accept`."""
    from tarsy.skills.git import GitError
    from tarsy.skills.sync import git_sources
    from tarsy.skills.sync import sync as fetch

    found = git_sources(config, os.environ)
    failed = False
    for each in fetch(found) if found else ():
        if isinstance(each, GitError):
            failed = True
            typer.echo(without_control_characters(str(each)), err=True)
        else:
            typer.echo(without_control_characters(_describe(each)))
    if found is None:
        typer.echo("The configuration names no Git repository of skills.")
    if failed:
        raise typer.Exit(1)


@app.command()
def accept(config: Directory = None) -> None:
    """Accept what `tarsy skills sync` showed last: write its commits to skills.lock in the configuration directory."""
    from tarsy.skills.sync import accept as take
    from tarsy.skills.sync import git_sources

    found = git_sources(config, os.environ)
    taken = take(found) if found else []
    for each in taken:
        typer.echo(without_control_characters(f"{each.source.git} ({each.source.ref or 'default branch'}): {each.waiting} is accepted"))
    typer.echo("To use it: tarsy reload" if taken else "There is nothing to accept. To look for changes: tarsy skills sync")


def _describe(each: "SyncedSource") -> str:
    title = f"{each.source.git} ({each.source.ref or 'default branch'})"
    if each.waiting is None:
        return f"{title}: {each.used}, nothing new"
    parts = [f"{title}: {each.waiting} is new, {f'{each.used} is used' if each.used else 'nothing is accepted yet'}", each.changes.rstrip()]
    next_step = "These cannot be accepted:" if each.problems else "To use it: tarsy skills accept"
    return "\n".join([*(part for part in parts if part), next_step, *map(str, each.problems)])
