"""The tool servers that can be connected by choosing one: `recipes.yaml`, and what a choice makes of the configuration's files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict

from tarsy.config.resolve.resolved import ResolvedMcpServer, resolved_server
from tarsy.config.schema.configuration import Config, MCPServerRegistry
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.setup.template_files import CannotMergeError, merge


class FieldKind(StrEnum):
    FILE = "file"
    ADDRESS = "address"
    SECRET = "secret"  # noqa: S105 - a kind of field, not a password


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecipeField(_Written):
    variable: str
    label: str
    kind: FieldKind
    suggestion: str = ""


class Recipe(_Written):
    title: str
    description: str
    server: str
    fields: tuple[RecipeField, ...]
    # What stands under mcp_servers; absent where the server is built in.
    entry: dict[str, Any] | None = None
    # Agents that get the server, beside the ones they have.
    agents: tuple[str, ...] = ()


class FieldRefusedError(ValueError):
    """A field cannot be used; the person who typed it can act. Never holds the value."""


@cache
def recipes() -> Mapping[str, Recipe]:
    written: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("recipes.yaml").read_text(encoding="utf-8"))
    return {name: Recipe.model_validate(entry) for name, entry in written.items()}


def checked_fields(recipe: Recipe, values: Mapping[str, str]) -> Mapping[str, str]:
    """The values of a recipe's fields as they are to be written.

    Raises:
        FieldRefusedError: one is missing, unknown, or not what it should be.
    """
    known = {field.variable for field in recipe.fields}
    if unknown := sorted(values.keys() - known):
        raise FieldRefusedError(f"This recipe has no field {unknown[0]!r}; it has {', '.join(sorted(known))}.")
    return {field.variable: _checked(field, values.get(field.variable, "").strip()) for field in recipe.fields}


def _checked(field: RecipeField, value: str) -> str:
    if not value:
        raise FieldRefusedError(f"{field.label}: fill this in.")
    match field.kind:
        case FieldKind.FILE:
            path = Path(value).expanduser()
            if not path.is_file():
                raise FieldRefusedError(f"{field.label}: there is no such file.")
            return str(path.absolute())
        case FieldKind.ADDRESS:
            if not _is_address(value):
                raise FieldRefusedError(f"{field.label}: write an address such as {field.suggestion}.")
            return value
        case FieldKind.SECRET:
            return value


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.username or parts.password)


def server_of(recipe: Recipe, config: Config) -> ResolvedMcpServer:
    """The recipe's server as an agent would get it, whether or not the configuration has it yet."""
    if recipe.entry is None:
        return resolved_server(config, recipe.server)
    return resolved_server(_with_server(config, recipe.server, MCPServerConfig.model_validate(recipe.entry)), recipe.server)


def _with_server(config: Config, name: str, server: MCPServerConfig) -> Config:
    return replace(config, mcp_servers=MCPServerRegistry({**config.mcp_servers, name: server}))


def with_server(written: str, recipe: Recipe, config: Config) -> str:
    """The text of tarsy.yaml with the recipe's server, given to its agents. Nothing of the author's is written anew.

    Raises:
        CannotMergeError: the file is laid out in a way that has to be changed by hand.
    """
    agents = {name: [*(config.agents[name].mcp_servers or ())] for name in recipe.agents if name in config.agents}
    given = {name: servers if recipe.server in servers else [*servers, recipe.server] for name, servers in agents.items()}
    template = _template(recipe, given)
    merged = merge(written, template, replaced=[f"agents.{name}.mcp_servers" for name in given]).text
    if not _holds(yaml.safe_load(merged), given):
        raise CannotMergeError(f"add {recipe.server} to mcp_servers of {', '.join(given)} by hand")
    return merged


def _template(recipe: Recipe, agents: Mapping[str, Sequence[str]]) -> str:
    entry = yaml.safe_dump({recipe.server: recipe.entry}, sort_keys=False, width=10_000)
    indented = "".join(f"  {line}\n" for line in entry.splitlines())
    lines = "".join(f"  {name}:\n    mcp_servers: [{', '.join(servers)}]\n" for name, servers in agents.items())
    return f"mcp_servers:\n  # {recipe.title}\n{indented}\nagents:\n{lines}"


def _holds(read: Any, agents: Mapping[str, Sequence[str]]) -> bool:
    return all(read["agents"][name]["mcp_servers"] == servers for name, servers in agents.items())
