"""Parameter schemas as vendors accept them: an object at the root. Pure; the tool's own schema still decides what a call may hold."""

from collections.abc import Mapping
from typing import Any, cast

_COMBINATORS = ("anyOf", "oneOf", "allOf")


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` with an object at its root; alternatives there are laid over each other."""
    merged = {name: value for name, value in schema.items() if name not in _COMBINATORS}
    merged["type"] = "object"
    properties = dict(_mapping(schema.get("properties")))
    for name in _COMBINATORS:
        for branch in cast("list[Any]", schema.get(name) or []):
            properties = {**_mapping(_mapping(branch).get("properties")), **properties}
    merged["properties"] = properties
    return merged


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
