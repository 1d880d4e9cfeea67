"""The reference page, generated from the models: `python -m tarsy.config.reference > docs/configuration.md`."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarsy.config.file_names import PROVIDERS_FILE, TARSY_FILE
from tarsy.config.load.retired_keys import STRATEGIES
from tarsy.config.parsed_data import as_list, as_mapping, list_at, mapping_at
from tarsy.config.resolve.hierarchy import BUILT_IN
from tarsy.config.schema import documents
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument
from tarsy.config.schema.mcp_servers import GROUPS, PATTERNS
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.config.schema.values import NO_EFFECT, Section

_KINDS = {
    "duration": "duration",
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "`true` \\| `false`",
    "object": "mapping",
}
_PLURALS = {"text": "texts", "number": "numbers", "mapping": "mappings"}

# The rules that are not in the tables.
_INTRODUCTION = Path(__file__).with_name("reference_introduction.md")


def render() -> str:
    """Render the whole page."""
    built_in = {
        "llm_backend": BUILT_IN.llm_backend,
        "tool_calling": BUILT_IN.tool_calling,
        "max_iterations": BUILT_IN.max_iterations,
        "iteration_timeout": _as_duration(BUILT_IN.iteration_timeout or 0),
        "llm_call_timeout": _as_duration(BUILT_IN.llm_call_timeout or 0),
        "tool_call_timeout": _as_duration(BUILT_IN.tool_call_timeout or 0),
        "success_policy": "any",
    }
    rows = [f"| `{strategy}` | {', '.join(f'`{line}`' for line in lines)} |" for strategy, lines in STRATEGIES.items()]
    heading = "## Coming from `iteration_strategy`"
    note = "`type` belongs to the agent's definition; leave it out everywhere else. The `synthesis` and `scoring` blocks set it themselves."
    parts = [
        _INTRODUCTION.read_text(encoding="utf-8"),
        f"The built-in level: {', '.join(f'`{name}: {value}`' for name, value in built_in.items())}.",
        *_document(TARSY_FILE, TarsyDocument),
        *_document(PROVIDERS_FILE, ProvidersDocument),
        *_builtins(),
        "\n".join([heading, "", note, "", "| was | write |", "|---|---|", *rows]),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _document(file: str, model: type[Section]) -> Iterator[str]:
    schema = model.model_json_schema()
    page = _Page(mapping_at(schema, "$defs"))
    yield f"## {file}"
    for name, prop in mapping_at(schema, "properties").items():
        yield from page.section(name, prop)


@dataclass(frozen=True, slots=True)
class _Page:
    """The tables of one file, following the definitions of its schema."""

    definitions: dict[str, Any]

    def section(self, path: str, prop: dict[str, Any]) -> Iterator[str]:
        """Yield a table for the mapping at `path`, and then one for each mapping within it."""
        inner, path = self._mapping_within(prop, path)
        if inner is None:
            return
        keys, required = mapping_at(inner, "properties"), list_at(inner, "required")
        rows: list[str] = []
        for name, key in keys.items():
            text = str(key.get("description", "")).replace("|", "\\|")
            if reason := key.get(NO_EFFECT):
                text = f"*No effect*: {reason}. {text}"
            elif key.get("x-later"):
                text = f"*Later.* {text}"
            rows.append(f"| `{name}` | {self._kind(key)} | {self._default(key, required=name in required)} | {text} |")
        yield "\n".join(
            [f"### `{path}`", "", str(prop.get("description", "")), "", "| key | value | default | |", "|---|---|---|---|", *rows]
        )
        for name, key in keys.items():
            yield from self.section(f"{path}.{name}", key)

    def _mapping_within(self, prop: dict[str, Any], path: str) -> tuple[dict[str, Any] | None, str]:
        prop = self._followed(prop)
        if "properties" in prop:
            return prop, path
        if items := mapping_at(prop, "items"):
            return self._mapping_within(items, f"{path}[]")
        if values := mapping_at(prop, "additionalProperties"):
            return self._mapping_within(values, f"{path}.NAME")
        return None, path

    def _followed(self, prop: dict[str, Any]) -> dict[str, Any]:
        """Resolve references and optional values."""
        if "$ref" in prop:
            return self._followed(self.definitions[str(prop["$ref"]).rsplit("/", maxsplit=1)[-1]])
        options = [option for option in list_at(prop, "anyOf") if option != {"type": "null"}]
        # If a name is accepted in place of a mapping, the mapping is described.
        sections = [option for option in options if "$ref" in option or "properties" in option]
        options = sections or options
        return self._followed(options[0]) if len(options) == 1 else prop

    def _kind(self, prop: dict[str, Any]) -> str:
        prop = self._followed(prop)
        if "enum" in prop:
            return " \\| ".join(f"`{value}`" for value in prop["enum"])
        if "items" in prop:
            inner = self._kind(mapping_at(prop, "items"))
            return f"list of {_PLURALS.get(inner, inner)}" if inner else "list"
        return _KINDS.get(prop.get("x-kind") or prop.get("type", ""), "")

    def _default(self, prop: dict[str, Any], *, required: bool) -> str:
        if required:
            return "required"
        default = prop.get("default")
        if default is None or default in ({}, [], "") or as_mapping(default) is not None:
            return ""
        if self._followed(prop).get("x-kind") == "duration":
            return f"`{_as_duration(float(default))}`"
        if (items := as_list(default)) is not None:
            return ", ".join(f"`{item}`" for item in items)
        return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _as_duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def _builtins() -> Iterator[str]:
    yield "## Built-ins"
    yield "### Agents"
    yield "\n".join(f"- `{name}`: {entry['description']}" for name, entry in documents.AGENTS.items())
    yield "### MCP servers"
    yield "\n".join(
        f"- `{name}`: `{' '.join([entry['transport']['command'], *entry['transport']['args']])}`"
        for name, entry in documents.MCP_SERVERS.items()
    )
    yield "### Chains"
    yield "\n".join(
        f"- `{name}`: {entry['description']} (alert type `{'`, `'.join(entry['alert_types'])}`)" for name, entry in documents.CHAINS.items()
    )
    yield "### LLM providers"
    rows: list[str] = []
    for name, entry in documents.LLM_PROVIDERS.items():
        provider = LLMProviderConfig.model_validate(entry)
        names = ", ".join(f"`{variable}`" for variable in provider.announcing_variables())
        rows.append(f"| `{name}` | {provider.type} | {provider.model} | {names} |")
    yield "\n".join(["| name | type | model | variables |", "|---|---|---|---|", *rows])
    yield "### Masking"
    yield f"Patterns: {', '.join(f'`{name}`' for name in PATTERNS)}."
    yield "\n".join(["| group | patterns |", "|---|---|", *(f"| `{name}` | {', '.join(members)} |" for name, members in GROUPS.items())])


if __name__ == "__main__":
    sys.stdout.write(render())
