"""Commands about the configuration: `tarsy config`, `tarsy init`, `tarsy routes`, `tarsy reload`."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import anyio
import typer

from tarsy.cli.environment import ServerUrl, Token
from tarsy.cli.terminal import without_control_characters

app = typer.Typer(no_args_is_help=True)

Directory = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="DIR", help="Directory of tarsy.yaml and llm-providers.yaml. [default: TARSY_CONFIG_DIR, then ./config]"
    ),
]


class SchemaFile(StrEnum):
    TARSY = "tarsy"
    PROVIDERS = "llm-providers"


@app.command()
def check(config: Directory = None) -> None:
    """Report all problems of the configuration; exit status 1 if there are any."""
    from tarsy.cli.config_remarks import approval_remarks, namesake_remarks, price_remarks, token_remarks
    from tarsy.config.load.display import check_report
    from tarsy.settings import API_TOKENS

    usable, verdict, remarks = check_report(
        config,
        os.environ,
        lambda loaded: (
            *approval_remarks(loaded),
            *namesake_remarks(loaded),
            *anyio.run(price_remarks, loaded),
            *token_remarks(loaded.env.get(API_TOKENS)),
        ),
    )
    if remarks:
        typer.echo(remarks, err=True)
    typer.echo(verdict, err=not usable)
    if not usable:
        raise typer.Exit(1)


@app.command()
def show(
    config: Directory = None,
    resolved: Annotated[str | None, typer.Option(metavar="CHAIN", help="Show the values that a session of this chain would use.")] = None,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Show which level each field comes from (with --resolved).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
) -> None:
    """Print the effective configuration, files and built-ins together; secrets are hidden."""
    from tarsy.config.load.display import render_chain, render_config
    from tarsy.config.load.loader import load_config
    from tarsy.config.problems import ConfigError
    from tarsy.config.schema.configuration import NoProviderError, UnknownEntryError

    if origin and resolved is None:
        raise typer.BadParameter("--origin needs --resolved CHAIN")
    try:
        loaded = load_config(config, os.environ)
        text = render_chain(loaded, resolved, origin=origin, as_json=as_json) if resolved else render_config(loaded, as_json=as_json)
    except (ConfigError, NoProviderError, UnknownEntryError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(text)


@app.command()
def schema(
    file: Annotated[SchemaFile, typer.Argument(help="Which of the two files.")] = SchemaFile.TARSY,
    write: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="Write the schemas of both files into this directory instead."),
    ] = None,
) -> None:
    """Print the JSON Schema of a file, for editors that complete and check YAML."""
    from tarsy.config.load.display import schema_text, write_schemas

    if write is None:
        typer.echo(schema_text(f"{file}.yaml"))
        return
    for target in write_schemas(write):
        typer.echo(str(target))


URL = "http://localhost:11434/v1"
MODEL = "qwen3:32b"


class Template(StrEnum):
    KUBERNETES = "kubernetes"
    LOCAL_MODEL = "local-model"


def init(
    template: Annotated[
        Template, typer.Argument(help="For a cluster, or for a model at an OpenAI-compatible address.")
    ] = Template.KUBERNETES,
    directory: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where to write the files.")] = Path("config"),
    url: Annotated[str | None, typer.Option(help="local-model: the address of the model server.", show_default=URL)] = None,
    model: Annotated[str | None, typer.Option(help="local-model: the model's name there.", show_default=MODEL)] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before an existing file is changed.")] = False,
) -> None:
    """Write commented configuration files that work as they are. Existing files keep every line and get what is missing.

    It shows the changes to existing files and, in a terminal, asks before it makes them.
    """
    from difflib import unified_diff

    from tarsy.setup.template_files import CannotAddError, local_model, planned_files

    replaced = [path for path, given in (("llm_providers.local.base_url", url), ("llm_providers.local.model", model)) if given]
    try:
        planned = planned_files(template, directory, local_model(url or URL, model or MODEL), replaced=replaced, force=force)
    except CannotAddError as error:
        typer.echo(f"{error} Fix it, or use --force to overwrite it.", err=True)
        raise typer.Exit(1) from error
    changes = ""
    for file in planned:
        before = file.path.read_text(encoding="utf-8", errors="replace") if file.path.exists() else file.text
        lines = before.splitlines(keepends=True), file.text.splitlines(keepends=True)
        changes += "".join(unified_diff(*lines, str(file.path), f"{file.path} (new)"))
    typer.echo(without_control_characters(changes), nl=False)
    if changes and not yes and sys.stdin.isatty():
        typer.confirm("Make these changes?", abort=True)
    directory.mkdir(parents=True, exist_ok=True)
    for file in planned:
        file.path.write_bytes(file.content)
        typer.echo(file.summary)
    place = "" if directory == Path("config") else f" --config {directory}"
    typer.echo(f"Next: tarsy doctor{place}, then tarsy serve{place}")


routes = typer.Typer(no_args_is_help=True)


@routes.command("test")
def try_out(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A request body as the sender sends it; - reads standard input.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="The sender.", show_default="recognised by the body")] = None,
    config: Directory = None,
) -> None:
    """Show what TARSy would do with the alerts of a request body, and why. It sends and stores nothing."""
    from datetime import UTC, datetime

    from tarsy.config.load.loader import load_config
    from tarsy.intake.adapters.registry import parse_delivery
    from tarsy.intake.delivery import parse_request
    from tarsy.intake.explanation import explain
    from tarsy.intake.policy import policy_of

    try:
        # Standard input is UTF-8, too, in every locale.
        text = (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode()
    except UnicodeDecodeError as error:
        raise typer.BadParameter("this is not UTF-8 text", param_hint="FILE") from error
    if not text.strip():
        raise typer.BadParameter("this is empty, and TARSy refuses a request without a body", param_hint="FILE")
    loaded = load_config(config, os.environ)
    policy = policy_of(loaded.config, loaded.env)
    delivery = parse_delivery(parse_request(text, {"content-type": "application/json"}), source, policy.mappings)
    for line in explain(delivery, policy, datetime.now(UTC)):
        typer.echo(without_control_characters(line))


_REPORTED = {"added": "Added", "changed": "Changed", "removed": "Removed", "at_next_start": "At the next start"}


def reload(
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Reload the configuration in every process of the installation. Running sessions keep theirs; a file with mistakes changes nothing.

    List problems and exit with status 1 if there are any.
    """
    from tarsy.cli.client import call_server

    report = call_server(url, token, lambda client: client.reload())
    lines = [f"{words}: {', '.join(report[key])}" for key, words in _REPORTED.items() if report[key]]
    typer.echo("\n".join(lines) or "Nothing has changed.")
