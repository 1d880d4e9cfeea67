"""Tools as vendors accept them: names, parameter schemas, arguments, call ids, and the signatures that Gemini requires on calls."""

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, cast

from tarsy.domain.tool import ToolDefinition, vendor_name

_COMBINATORS = ("anyOf", "oneOf", "allOf")
_OWN_CALL = "tarsy-"
# `gemini-flash-latest` and its like are aliases of the newest models.
_GEMINI_3 = re.compile(r"gemini-(?:[3-9]|\d\d|[a-z-]+-latest)")
# Sent in place of a lost signature, as the vendor documents for conversations that began with another model.
LOST_SIGNATURE = "skip_thought_signature_validator"


def name_from_vendor(vendors_name: str, tools: Iterable[ToolDefinition]) -> str:
    """Return the name of the tool with this name at a vendor. One that was never offered is guessed, so that the refusal can quote it."""
    offered = {vendor_name(tool.name): tool.name for tool in tools}
    return offered.get(vendors_name) or vendors_name.replace("__", ".", 1)


def declaration(tool: ToolDefinition, schema_key: str) -> dict[str, Any]:
    """Return a tool as it is offered to a vendor, with its parameters under the vendor's `schema_key`."""
    return {"name": vendor_name(tool.name), "description": tool.description, schema_key: object_schema(tool.parameters_schema)}


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` with an object at its root; alternatives at the root are merged. Calls are still validated by the tool's own schema.

    Null values are dropped: some servers write them for empty lists, and vendors refuse the whole call for it.
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


def arguments_object(arguments: str) -> dict[str, Any]:
    """Parse arguments into the object that vendors require. Other text is wrapped in one, so that the model sees what it wrote."""
    try:
        parsed: Any = json.loads(arguments or "{}")
    except ValueError:
        parsed = None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {"raw_arguments": arguments}


def own_call_id() -> str:
    """Return an id for a call that came without one. It is recognisable, because it must not be sent back to the vendor."""
    return f"{_OWN_CALL}{uuid.uuid4().hex}"


def is_own_call_id(call_id: str) -> bool:
    return call_id.startswith(_OWN_CALL)


def is_gemini_3(model: str) -> bool:
    """Return whether the model requires a signature on the first call of each turn, and thinks by level."""
    return _GEMINI_3.search(model) is not None
