"""Input schemas of tools: coercing a model's arguments towards a schema, and validating them against it.

A schema comes from the tool server and may be anything: an invalid one allows all arguments, and none takes long to evaluate.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from jsonschema import validators
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
# No tool means a longer number.
_LONGEST_NUMBER = 400


def properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _listed(value: Any) -> list[Any]:
    """Return the value if it is a list: servers write null and other values for an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def only_property(schema: Schema) -> str | None:
    """Return the property that a bare value is meant for: the only required one, or the only one; None if there is no such property."""
    required = _listed(schema.get("required"))
    if len(required) == 1:
        return str(required[0])
    known = properties(schema)
    return next(iter(known)) if len(known) == 1 and not required else None


def coerce(value: Any, schema: Any, root: Schema) -> Any:
    """Convert a value to the type that the schema requires, where that is unambiguous."""
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
    structure = loose_json(word)
    if isinstance(structure, (dict, list)) and kinds & {"array", "object"}:
        return coerce(structure, schema, root)
    parts = [coerce(part.strip(), schema.get("items"), root) for part in text.split(",") if part.strip()] if "array" in kinds else None
    return text if parts is None else parts


def loose_json(text: str) -> Any:
    """Parse `text` if it is a JSON array or object, else return it unchanged."""
    if text.startswith(("[", "{")):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
    return text


def _kinds(schema: Schema, root: Schema) -> frozenset[str]:
    """Return the JSON types that a schema allows; empty if it does not restrict them."""
    found: set[str] = set()
    # Each is visited once: references may be circular.
    seen: set[int] = set()
    remaining = [schema]
    while remaining:
        each = _resolved(remaining.pop(), root)
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
            remaining += inner
    return frozenset(found)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Follow a local `$ref` by one step: coercion need not handle everything that validation does."""
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    target: Any = root
    for part in ref[2:].split("/"):
        target = cast("Mapping[str, Any]", target).get(part) if isinstance(target, dict) else None
    return cast("Schema", target) if isinstance(target, dict) and "$ref" not in target else schema


def expected(schema: Schema) -> str:
    """Describe the properties and their types for a model, required ones first."""
    known = properties(schema)
    required = [str(each) for each in _listed(schema.get("required"))]
    parts = [
        f"{name} ({'/'.join(sorted(_kinds(_resolved(known[name], schema), schema))) or 'any'}{', required' if name in required else ''})"
        for name in sorted(known, key=lambda name: (name not in required, name))
        if isinstance(known[name], dict)
    ]
    return f"properties: {', '.join(parts)}" if parts else "no properties"


_MAX_PROBLEMS = 5
# Recursive types need a few for each level of the arguments; a schema that needs more is circular.
_MAX_REFERENCES = 2000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Regular expressions of a schema can take exponential time in Python: the server checks these keywords itself.
_BY_EXPRESSION = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")


class EndlessSchemaError(Exception):
    """A schema whose references are circular."""


def violations(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the problems of the arguments, field by field; a handful at most."""
    try:
        # Sorted, so that the order of the problems does not depend on the server.
        validator = _validator(json.dumps(schema, sort_keys=True))
        _followed.set(0)
        found: list[Any] = list(islice(validator.iter_errors(arguments), _MAX_PROBLEMS + 1))
    except (SchemaError, Unresolvable, EndlessSchemaError, RecursionError, TypeError, ValueError):
        # An invalid schema cannot be violated; the server decides.
        return []
    problems: list[str] = []
    for error in found[:_MAX_PROBLEMS]:
        field = ".".join(str(part) for part in error.absolute_path) or "arguments"
        message = str(error.message)
        problems.append(f"{field}: {message if len(message) <= 300 else f'{message[:150]} … {message[-120:]}'}")
    return [*problems, "and more"] if len(found) > _MAX_PROBLEMS else problems


# The references that the current validation has followed.
_followed: ContextVar[int] = ContextVar("followed")


# Cached, because building a validator takes far longer than using it; so many tools are seldom in use at once.
@lru_cache(maxsize=512)
def _validator(schema_json: str) -> Any:
    """Build a validator that evaluates no regular expressions, follows a limited number of references and fetches nothing."""
    schema = json.loads(schema_json)
    untyped: Any = validators
    kind = untyped.validator_for(schema)
    kind.check_schema(schema)
    keywords: Mapping[str, Any] = kind.VALIDATORS

    def counted(keyword: Any) -> Any:
        def follow(*call: Any) -> Any:
            _followed.set(_followed.get() + 1)
            if _followed.get() > _MAX_REFERENCES:
                raise EndlessSchemaError
            return keyword(*call)

        return follow

    def skip(*_call: Any) -> Iterator[Any]:
        return iter(())

    def additional_properties(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
        # Without patternProperties it is unknown which properties are additional.
        return () if "patternProperties" in schema else keywords["additionalProperties"](validator, value, instance, schema)

    changed: dict[str, Any] = dict.fromkeys(_BY_EXPRESSION, skip)
    changed |= {name: counted(keywords[name]) for name in _REFERENCES if name in keywords}
    changed["additionalProperties"] = additional_properties
    return untyped.extend(kind, changed)(schema, registry=Registry[Any]())
