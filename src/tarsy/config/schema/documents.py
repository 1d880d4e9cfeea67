"""The two configuration files: their models, JSON Schemas, built-in entries, and the places of each key."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, Field

from tarsy.config.file_names import PROVIDERS_FILE, TARSY_FILE
from tarsy.config.parsed_data import as_mapping, mapping_at
from tarsy.config.schema.agents import AgentConfig
from tarsy.config.schema.chains import ChainConfig, DefaultsConfig
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.notify import NotifyConfig
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.config.schema.routes import MuteConfig, RouteConfig, SenderConfig
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.config.schema.system import QueueConfig, SystemConfig
from tarsy.config.schema.values import Section


class TarsyDocument(Section):
    """`tarsy.yaml` with the files of `tarsy.d`: everything but the models."""

    system: SystemConfig = Field(default=SystemConfig(), description="The installation's surroundings.")
    defaults: DefaultsConfig = Field(default=DefaultsConfig(), description="Values that apply unless something more specific is set.")
    queue: QueueConfig = Field(default=QueueConfig(), description="How many sessions run, and when TARSy takes over an abandoned one.")
    mcp_servers: Mapping[str, MCPServerConfig] = Field(default={}, description="Tool servers by name.")
    skills: tuple[SkillSourceConfig, ...] = Field(
        default=(), description="Further sources of skills, besides the directory `skills` next to this file and the built-in skills."
    )
    agents: Mapping[str, AgentConfig] = Field(default={}, description="Agents by name.")
    agent_chains: Mapping[str, ChainConfig] = Field(default={}, description="Chains by id.")
    routes: tuple[RouteConfig, ...] = Field(
        default=(),
        description="What TARSy does with the alerts of monitoring systems. The first route that matches applies; see [Monitoring systems](senders.md).",
    )
    senders: Mapping[str, SenderConfig] = Field(
        default={},
        description="How senders authenticate, and mappings for senders that TARSy does not know. The name is the last part of the webhook's address.",
    )
    mute: tuple[MuteConfig, ...] = Field(default=(), description="Times in which TARSy only records alerts, such as maintenance.")
    notify: NotifyConfig = Field(default=NotifyConfig(), description="Who is notified of what; see [Notifications](notifications.md).")


class ProvidersDocument(Section):
    """`llm-providers.yaml`: the models."""

    llm_providers: Mapping[str, LLMProviderConfig] = Field(default={}, description="Models and how to reach them, by name.")


_DOCUMENTS: dict[str, type[Section]] = {TARSY_FILE: TarsyDocument, PROVIDERS_FILE: ProvidersDocument}
# Entries that override a built-in one may leave out its required keys; the loader checks them after merging.
_OVERRIDABLE = ("MCPServerConfig", "TransportConfig", "ChainConfig", "LLMProviderConfig")

FILES = tuple(_DOCUMENTS)


def json_schema(file: str) -> dict[str, Any]:
    """Return the JSON Schema of `tarsy.yaml` or `llm-providers.yaml`."""
    schema = _DOCUMENTS[file].model_json_schema()
    definitions = mapping_at(schema, "$defs")
    for name in _OVERRIDABLE:
        mapping_at(definitions, name).pop("required", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": file}


def schema_file_name(file: str) -> str:
    return file.removesuffix(".yaml") + ".schema.json"


@cache
def key_places(document: type[BaseModel]) -> Mapping[str, tuple[str, ...]]:
    """Return for each key the sections that have it, in the form `agent_chains.NAME.stages[]`."""
    places: dict[str, list[str]] = {}
    for key, place in _keys(document, ""):
        if place not in places.setdefault(key, []):
            places[key].append(place)
    return {key: tuple(found) for key, found in places.items()}


def _keys(model: type[BaseModel], place: str) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        yield name, place
        inner = f"{place}.{name}" if place else name
        for section, where in _sections(field.annotation, inner):
            yield from _keys(section, where)


def _sections(annotation: Any, place: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the sections of a value: itself, the items of a list, the entries of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, place
        return
    arguments, origin = get_args(annotation), get_origin(annotation)
    if origin is Annotated:
        yield from _sections(arguments[0], place)
    elif origin in {Union, UnionType}:
        for option in arguments:
            yield from _sections(option, place)
    elif origin is tuple:
        yield from _sections(arguments[0], f"{place}[]")
    elif arguments:
        yield from _sections(arguments[-1], f"{place}.NAME")


_BUILT_IN: Mapping[str, Mapping[str, Any]] = yaml.load(
    Path(__file__).with_name("builtins.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
AGENTS, MCP_SERVERS = _BUILT_IN["agents"], _BUILT_IN["mcp_servers"]
CHAINS, LLM_PROVIDERS = _BUILT_IN["agent_chains"], _BUILT_IN["llm_providers"]


def over_builtin(builtin: Any, own: Any) -> Any:
    """Merge an entry of the operator with a built-in one: mappings key by key; other values replace.

    A mapping of another `type` replaces too: an `http` transport does not inherit a command.
    """
    below, above = as_mapping(builtin), as_mapping(own)
    if below is None or own is None:
        return builtin if own is None else own
    if above is None or above.get("type", below.get("type")) != below.get("type"):
        return own
    return {**below, **{key: over_builtin(below.get(key), value) for key, value in above.items()}}
