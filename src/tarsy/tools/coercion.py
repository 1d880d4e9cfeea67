"""A tool's input schema: what it admits, how values are bent towards it, what is wrong with them. Pure module."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_MAX_PROBLEMS = 5


def properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def only_property(schema: Schema) -> str | None:
    """The property a bare value must mean: the only required one, or the only one there is."""
    required = cast("list[Any]", schema.get("required") or [])
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
    if kinds & {"integer", "number"} and _NUMBER.fullmatch(word):
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
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(str(each) for each in cast("list[Any]", named))
    alternatives = [
        _resolved(cast("Schema", each), root) for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if isinstance(each, dict)
    ]
    inner = [_kinds(each, root) for each in alternatives]
    return frozenset[str]().union(*inner) if all(inner) else frozenset()


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a local `$ref`, one step: coercion may give up where validation will not."""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    target: Any = root
    for part in ref[2:].split("/"):
        target = cast("Mapping[str, Any]", target).get(part) if isinstance(target, dict) else None
    return cast("Schema", target) if isinstance(target, dict) and "$ref" not in target else schema


def violations(arguments: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    """What is wrong, by field; a handful at most."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - heavy, imported on first use

    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
    except (SchemaError, TypeError, ValueError):
        # A schema that is none cannot be violated; the server will have its own opinion.
        return
    for count, error in enumerate(validator.iter_errors(arguments)):
        if count == _MAX_PROBLEMS:
            yield "and more"
            return
        field = ".".join(str(part) for part in error.absolute_path) or "arguments"
        message = str(error.message)
        yield f"{field}: {message if len(message) <= 300 else f'{message[:150]} … {message[-120:]}'}"


@lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    from jsonschema.validators import validator_for  # noqa: PLC0415 - heavy, imported on first use
    from referencing import Registry  # noqa: PLC0415 - heavy, imported on first use

    parsed = json.loads(schema)
    kind = validator_for(parsed)
    kind.check_schema(parsed)
    # An empty registry: a schema must not make us fetch anything.
    return kind(parsed, registry=Registry())


def expected(schema: Schema) -> str:
    """The properties with their types, required ones first: what a model needs to write it right."""
    known = properties(schema)
    required = [str(each) for each in schema.get("required", ())]
    parts = [
        f"{name} ({'/'.join(sorted(_kinds(_resolved(known[name], schema), schema))) or 'any'}{', required' if name in required else ''})"
        for name in sorted(known, key=lambda name: (name not in required, name))
        if isinstance(known[name], dict)
    ]
    return f"properties: {', '.join(parts)}" if parts else "no properties"
