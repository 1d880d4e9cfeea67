"""The configuration as text for people and programs: the report of a check, the effective values, where they came from."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError, Problem, report
from tarsy.config.resolve.agent_resolver import ExplainedAgent
from tarsy.config.resolve.redaction import redacted, redacted_chain
from tarsy.config.resolve.resolver import ExplainedChain, explain_chain
from tarsy.config.schema.json_schema import FILES, json_schema, schema_file_name


def check_report(
    directory: Path | None, env: Mapping[str, str], remarks: Callable[[LoadedConfig], Iterable[Problem]]
) -> tuple[bool, str, str]:
    """Whether the configuration can be used, one line that says so, and everything to be said about it, `remarks` too."""
    try:
        loaded = load_config(directory, env)
    except ConfigError as error:
        return False, f"{_counted(len(error.problems), 'problem')} in the configuration", str(error)
    config = loaded.config
    sizes = ", ".join(
        (_counted(len(config.chains), "chain"), _counted(len(config.agents), "agent"), _counted(len(config.mcp_servers), "MCP server"))
    )
    return True, f"{loaded.place or 'built-in configuration'}: ok ({sizes})", report((*loaded.warnings, *remarks(loaded)))


def effective(loaded: LoadedConfig, *, as_json: bool = False) -> str:
    """Files and built-ins together, secrets hidden."""
    return _written(redacted(loaded.config), as_json=as_json)


def effective_chain(loaded: LoadedConfig, chain_id: str, *, origin: bool = False, as_json: bool = False) -> str:
    """What a session of the chain would run with, or with `origin` the level that each field came from.

    Raises:
        UnknownEntryError: there is no such chain.
        NoProviderError: there is no model to run it with.
    """
    explained = explain_chain(loaded.config, chain_id)
    return _written(_origins(explained) if origin else redacted_chain(explained.chain), as_json=as_json)


def schema_text(file: str) -> str:
    """The JSON Schema of one of the two files."""
    return json.dumps(json_schema(file), indent=2)


def write_schemas(directory: Path) -> Iterator[Path]:
    """Write the schemas of both files and name what was written."""
    for file in FILES:
        target = directory / schema_file_name(file)
        target.write_text(schema_text(file) + "\n", encoding="utf-8")
        yield target


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _origins(explained: ExplainedChain) -> dict[str, Any]:
    """Agents by title; an agent that stands twice in a stage is told by its number."""
    shown: dict[str, Any] = {}
    for agent in explained.agents:
        title, number = agent.title, 2
        while title in shown:
            title, number = f"{agent.title} ({number})", number + 1
        shown[title] = dict(_fields(agent))
    return shown


def _fields(explained: ExplainedAgent) -> Iterator[tuple[str, dict[str, Any]]]:
    values = explained.agent.model_dump(mode="json")
    values["provider"] = explained.agent.provider.name
    values["fallback_providers"] = [fallback.provider.name for fallback in explained.agent.fallback_providers]
    values["sub_agents"] = [sub.agent_name for sub in explained.agent.sub_agents]
    # The dump leaves them out where they are empty.
    values |= {"skills": [*explained.agent.skills], "required_skills": [*explained.agent.required_skills]}
    for name, level in sorted(explained.levels.items()):
        yield name, {"value": values[name], "from": level.value}


def _written(shown: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(shown, indent=2) if as_json else yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120).rstrip()
