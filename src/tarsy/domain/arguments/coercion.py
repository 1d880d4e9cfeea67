"""A tool's input schema: what it admits, and how values are bent towards it. Pure module."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
# Longer ones are no numbers that a tool could mean.
_LONGEST_NUMBER = 400


def properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _listed(value: Any) -> list[Any]:
    """What stands where a list should: servers write null for an empty one, and worse."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def only_property(schema: Schema) -> str | None:
    """The property a bare value must mean: the only required one, or the only one there is."""
    required = _listed(schema.get("required"))
    if len(required) == 1:
        return str(required[0])
    known = properties(schema)
    return next(iter(known)) if len(known) == 1 and not required else None


def coerce(value: Any, schema: Any, root: Schema) -> Any:
    """Turn what was written into what was meant, where the schema leaves no doubt."""
    if not isinstance(schema, dict):
        return value
    wanted = _resolved(cast("Schema", schema), root)
    kinds = _kinds(wanted, root)
    match value:
        case str():
            return _coerce_text(value, kinds, wanted, root)
        case dict():
            known = properties(wanted)
            return {key: coerce(item, known.get(key), root) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [coerce(item, wanted.get("items"), root) for item in cast("list[Any]", value)]
        case bool() | int() | float():
            return _coerce_scalar(value, kinds, wanted, root)
        case _:
            return value


def _coerce_scalar(value: float, kinds: frozenset[str], schema: Schema, root: Schema) -> Any:
    if kinds == frozenset({"string"}):
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        return int(value)
    if kinds == frozenset({"array"}):
        return [coerce(value, schema.get("items"), root)]
    return value


def _coerce_text(text: str, kinds: frozenset[str], schema: Schema, root: Schema) -> Any:
    if not kinds or "string" in kinds:
        return text
    word = text.strip()
    if "boolean" in kinds and word.lower() in _BOOLEANS:
        return _BOOLEANS[word.lower()]
    if "null" in kinds and word.lower() in {"null", "none", ""}:
        return None
    if kinds & {"integer", "number"} and len(word) <= _LONGEST_NUMBER and _NUMBER.fullmatch(word):
        return _coerce_scalar(json.loads(word), kinds, schema, root)
    return _coerce_structure(text, kinds, schema, root)


def _coerce_structure(text: str, kinds: frozenset[str], schema: Schema, root: Schema) -> Any:
    read = loose_json(text.strip())
    if isinstance(read, dict | list) and kinds & {"array", "object"}:
        return coerce(read, schema, root)
    if "array" in kinds:
        return [coerce(part.strip(), schema.get("items"), root) for part in text.split(",") if part.strip()]
    return text


def loose_json(text: str) -> Any:
    """`text` read as JSON if it is an array or object, else as it is."""
    if text.startswith(("[", "{")):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
    return text


def _kinds(schema: Schema, root: Schema) -> frozenset[str]:
    """The JSON types a schema admits; empty when it does not say."""
    found: set[str] = set()
    # Each is looked at once, however often and in whatever circles it is referred to.
    seen: set[int] = set()
    ahead = [schema]
    while ahead:
        each = _resolved(ahead.pop(), root)
        if id(each) in seen:
            continue
        seen.add(id(each))
        named = each.get("type")
        if isinstance(named, str):
            found.add(named)
        elif isinstance(named, list):
            found.update(str(name) for name in cast("list[Any]", named))
        else:
            alternatives = (*_listed(each.get("anyOf")), *_listed(each.get("oneOf")))
            inner = [cast("Schema", one) for one in alternatives if isinstance(one, dict)]
            if not inner:
                return frozenset()
            ahead += inner
    return frozenset(found)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a local `$ref`, one step: coercion may give up where validation will not."""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    target: Any = root
    for part in ref[2:].split("/"):
        target = cast("Mapping[str, Any]", target).get(part) if isinstance(target, dict) else None
    return cast("Schema", target) if isinstance(target, dict) and "$ref" not in target else schema


def expected(schema: Schema) -> str:
    """The properties with their types, required ones first: what a model needs to write it right."""
    known = properties(schema)
    required = [str(each) for each in _listed(schema.get("required"))]
    parts = [
        f"{name} ({'/'.join(sorted(_kinds(_resolved(known[name], schema), schema))) or 'any'}{', required' if name in required else ''})"
        for name in sorted(known, key=lambda name: (name not in required, name))
        if isinstance(known[name], dict)
    ]
    return f"properties: {', '.join(parts)}" if parts else "no properties"
