"""`tarsy config`: check, show and describe the configuration."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
    import anyio

    from tarsy.cli.checkup import price_remarks
    from tarsy.config.load.display import check_report

    usable, verdict, remarks = check_report(config, os.environ, lambda loaded: anyio.run(price_remarks, loaded))
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
    from tarsy.config.load.display import effective, effective_chain
    from tarsy.config.load.loader import load_config
    from tarsy.config.problems import ConfigError
    from tarsy.config.schema.configuration import NoProviderError, UnknownEntryError

    if origin and resolved is None:
        raise typer.BadParameter("--origin explains a chain: add --resolved CHAIN")
    try:
        loaded = load_config(config, os.environ)
        text = effective_chain(loaded, resolved, origin=origin, as_json=as_json) if resolved else effective(loaded, as_json=as_json)
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
