"""What is there without any file: `builtins.yaml`, written as the files would write it. An entry of the same name overrides it field by field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tarsy.config.parsed_data import mapping

_WRITTEN: Mapping[str, Mapping[str, Any]] = yaml.load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
AGENTS, MCP_SERVERS = _WRITTEN["agents"], _WRITTEN["mcp_servers"]
CHAINS, LLM_PROVIDERS = _WRITTEN["agent_chains"], _WRITTEN["llm_providers"]


def over_builtin(builtin: Any, own: Any) -> Any:
    """Lay an own entry over a built-in one: mappings key by key, anything else replaces.

    A mapping of another `type` is another thing and replaces too: an `http` transport does not inherit a command.
    """
    below, above = mapping(builtin), mapping(own)
    if below is None or own is None:
        return builtin if own is None else own
    if above is None or above.get("type", below.get("type")) != below.get("type"):
        return own
    return {**below, **{key: over_builtin(below.get(key), value) for key, value in above.items()}}
