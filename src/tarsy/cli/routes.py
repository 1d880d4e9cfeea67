"""`tarsy routes`: what would happen to an alert."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tarsy.cli.config import Directory
from tarsy.cli.terminal import harmless

app = typer.Typer(no_args_is_help=True)


@app.command("test")
def try_out(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A request body as the sender sends it; - reads standard input.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="The sender.", show_default="recognised by the body")] = None,
    config: Directory = None,
) -> None:
    """Show what TARSy would do with the alerts of a request body, and why. It sends and stores nothing."""
    from datetime import UTC, datetime

    from tarsy.config.load.loader import load_config
    from tarsy.intake.adapters.registry import deliver
    from tarsy.intake.delivery import parse_request
    from tarsy.intake.explanation import explain
    from tarsy.intake.policy import policy_of

    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    loaded = load_config(config, os.environ)
    policy = policy_of(loaded.config, loaded.env)
    delivery = deliver(parse_request(text, {"content-type": "application/json"}), source, policy.mappings)
    for line in explain(delivery, policy, datetime.now(UTC)):
        typer.echo(harmless(line))
