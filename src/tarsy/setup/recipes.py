"""Recipes: the tool servers of `recipes.yaml` that the setup page offers, and how one is added to the configuration."""

from collections.abc import Mapping
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
    # The entry under mcp_servers; absent if the server is built in.
    entry: dict[str, Any] | None = None
    # Agents that get the server in addition to their own.
    agents: tuple[str, ...] = ()


class StepRefusedError(Exception):
    """A step of setup cannot be done as requested; the person who requested it can act. Never contains a typed value."""


@cache
def recipes() -> Mapping[str, Recipe]:
    written: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("recipes.yaml").read_text(encoding="utf-8"))
    return {name: Recipe.model_validate(entry) for name, entry in written.items()}


def checked_fields(recipe: Recipe, values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of a recipe's fields as they are written to the files.

    Raises:
        StepRefusedError: one is missing, unknown or invalid.
    """
    known = {field.variable for field in recipe.fields}
    if unknown := sorted(values.keys() - known):
        raise StepRefusedError(f"This recipe has no field {unknown[0]!r}; it has {', '.join(sorted(known))}.")
    return {field.variable: _checked(field, values.get(field.variable, "").strip()) for field in recipe.fields}


def _checked(field: RecipeField, value: str) -> str:
    if not value:
        raise StepRefusedError(f"{field.label}: fill this in.")
    match field.kind:
        case FieldKind.FILE:
            path = Path(value).expanduser()
            if not path.is_file():
                raise StepRefusedError(f"{field.label}: there is no such file.")
            return str(path.absolute())
        case FieldKind.ADDRESS:
            try:
                parts = urlsplit(value)
                valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.username or parts.password)
            except ValueError:
                valid = False
            if not valid:
                raise StepRefusedError(f"{field.label}: write an address such as {field.suggestion}.")
            return value
        case FieldKind.SECRET:
            return value


def server_of(recipe: Recipe, config: Config) -> ResolvedMcpServer:
    """Return the recipe's server as an agent would get it, whether or not the configuration has it yet."""
    if recipe.entry is not None:
        server = MCPServerConfig.model_validate(recipe.entry)
        config = replace(config, mcp_servers=MCPServerRegistry({**config.mcp_servers, recipe.server: server}))
    return resolved_server(config, recipe.server)


def with_server(written: str, recipe: Recipe, config: Config) -> str:
    """Return the text of tarsy.yaml with the recipe's server, given to its agents; everything else is unchanged.

    Raises:
        CannotMergeError: the layout of the file has to be changed by hand.
    """
    agents = {name: [*(config.agents[name].mcp_servers or ())] for name in recipe.agents if name in config.agents}
    given = {name: servers if recipe.server in servers else [*servers, recipe.server] for name, servers in agents.items()}
    entry = yaml.safe_dump({recipe.server: recipe.entry}, sort_keys=False, width=10_000)
    indented = "".join(f"  {line}\n" for line in entry.splitlines())
    lines = "".join(f"  {name}:\n    mcp_servers: [{', '.join(servers)}]\n" for name, servers in given.items())
    template = f"mcp_servers:\n  # {recipe.title}\n{indented}\nagents:\n{lines}"
    merged = merge(written, template, replaced=[f"agents.{name}.mcp_servers" for name in given]).text
    parsed: Any = yaml.safe_load(merged)
    if any(parsed["agents"][name]["mcp_servers"] != servers for name, servers in given.items()):
        raise CannotMergeError(f"add {recipe.server} to mcp_servers of {', '.join(given)} by hand")
    return merged
