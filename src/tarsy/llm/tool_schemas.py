"""Parameter schemas as vendors accept them: an object at the root. Pure; the tool's own schema still decides what a call may hold."""

from collections.abc import Mapping
from typing import Any, cast

_COMBINATORS = ("anyOf", "oneOf", "allOf")


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` with an object at its root; alternatives there are laid over each other.

    Some servers write null where a list is empty, for which a vendor refuses the whole call.
    """
    merged = {name: value for name, value in schema.items() if name not in _COMBINATORS and value is not None}
    merged["type"] = "object"
    properties = dict(_mapping(schema.get("properties")))
    for name in _COMBINATORS:
        branches = schema.get(name)
        for branch in cast("list[Any]", branches) if isinstance(branches, list) else ():
            properties = {**_mapping(_mapping(branch).get("properties")), **properties}
    merged["properties"] = properties
    return merged


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
