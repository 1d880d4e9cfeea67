"""`tarsy config`: check, show and describe the configuration."""

import json
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from tarsy.config.agent_resolver import ExplainedAgent
from tarsy.config.configuration import NoProviderError
from tarsy.config.json_schema import FILES, json_schema, schema_file_name
from tarsy.config.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError, report
from tarsy.config.redaction import redacted, redacted_chain
from tarsy.config.registries import UnknownEntryError
from tarsy.config.resolver import ExplainedChain, explain_chain

app = typer.Typer(name="config", help="Check, show and describe the configuration.", no_args_is_help=True)

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
    """Report everything that is wrong with the configuration; exit status 1 if anything is."""
    loaded = _load(config)
    if loaded.warnings:
        typer.echo(report(loaded.warnings), err=True)
    found = loaded.config
    place = loaded.directory or "built-in configuration"
    typer.echo(f"{place}: ok ({len(found.chains)} chains, {len(found.agents)} agents, {len(found.mcp_servers)} MCP servers)")


@app.command()
def show(
    config: Directory = None,
    resolved: Annotated[str | None, typer.Option(metavar="CHAIN", help="Show what a session of this chain would run with.")] = None,
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Say for each field which level it came from (with --resolved).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
) -> None:
    """Print the effective configuration, files and built-ins together; secrets are hidden."""
    if origin and resolved is None:
        raise typer.BadParameter("--origin explains a chain: add --resolved CHAIN")
    loaded = _load(config)
    if resolved is None:
        _print(redacted(loaded.config), as_json=as_json)
        return
    explained = _explain(loaded, resolved)
    if origin:
        _print(_origins(explained), as_json=as_json)
    else:
        _print(redacted_chain(explained.chain), as_json=as_json)


@app.command()
def schema(
    file: Annotated[SchemaFile, typer.Argument(help="Which of the two files.")] = SchemaFile.TARSY,
    write: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the schemas of both files into this directory instead.")] = None,
) -> None:
    """Print the JSON Schema of a file, for editors that complete and check YAML."""
    if write is None:
        typer.echo(json.dumps(json_schema(f"{file}.yaml"), indent=2))
        return
    for name in FILES:
        target = write / schema_file_name(name)
        target.write_text(json.dumps(json_schema(name), indent=2) + "\n", encoding="utf-8")
        typer.echo(str(target))


def _load(directory: Path | None) -> LoadedConfig:
    try:
        return load_config(directory, os.environ)
    except ConfigError as error:
        typer.echo(str(error), err=True)
        count = len(error.problems)
        typer.echo(f"{count} problem{'' if count == 1 else 's'} in the configuration", err=True)
        raise typer.Exit(1) from error


def _explain(loaded: LoadedConfig, chain_id: str) -> ExplainedChain:
    try:
        return explain_chain(loaded.config, chain_id)
    except (UnknownEntryError, NoProviderError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def _origins(explained: ExplainedChain) -> dict[str, Any]:
    return {agent.title: dict(_fields(agent)) for agent in explained.agents}


def _fields(explained: ExplainedAgent) -> Iterator[tuple[str, dict[str, Any]]]:
    values = explained.agent.model_dump(mode="json")
    for name, level in sorted(explained.levels.items()):
        value = values[name]
        if name == "provider":
            value = explained.agent.provider.name
        elif name == "fallback_providers":
            value = [fallback.provider.name for fallback in explained.agent.fallback_providers]
        yield name, {"value": value, "from": level.value}


def _print(shown: dict[str, Any], *, as_json: bool) -> None:
    typer.echo(json.dumps(shown, indent=2) if as_json else yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120).rstrip())
