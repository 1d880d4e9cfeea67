"""Input schemas of tools: coercing a model's arguments towards a schema, and checking them against it."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
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


_MAX_PROBLEMS = 5
# Recursive types need a few for each level of the arguments; what needs more than this has no end.
_MAX_REFERENCES = 2000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Expressions are written for another engine, and can take for ever in ours: what they say is left to the server.
_BY_EXPRESSION = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")


class EndlessSchemaError(Exception):
    """A schema that leads in circles."""


def violations(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """What is wrong, by field; a handful at most."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - heavy, imported on first use
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - heavy, imported on first use

    try:
        found = _checker(json.dumps(schema, sort_keys=True)).errors(arguments)
    except (SchemaError, Unresolvable, EndlessSchemaError, RecursionError, TypeError, ValueError):
        # A schema that is none cannot be violated; the server will have its own opinion.
        return []
    told = [_told(error) for error in found[:_MAX_PROBLEMS]]
    return [*told, "and more"] if len(found) > _MAX_PROBLEMS else told


def _told(error: Any) -> str:
    field = ".".join(str(part) for part in error.absolute_path) or "arguments"
    message = str(error.message)
    return f"{field}: {message if len(message) <= 300 else f'{message[:150]} … {message[-120:]}'}"


class _Checker:
    """One schema, made ready."""

    def __init__(self, schema: str) -> None:
        from jsonschema import validators  # noqa: PLC0415 - heavy, imported on first use
        from referencing import Registry  # noqa: PLC0415 - heavy, imported on first use

        untyped: Any = validators
        parsed = json.loads(schema)
        kind = untyped.validator_for(parsed)
        kind.check_schema(parsed)
        keywords: Mapping[str, Any] = kind.VALIDATORS
        changed: dict[str, Any] = dict.fromkeys(_BY_EXPRESSION, _nothing)
        changed |= {name: self._counted(keywords[name]) for name in _REFERENCES if name in keywords}
        changed["additionalProperties"] = _unless_by_expression(keywords["additionalProperties"])
        # An empty registry: a schema must not make us fetch anything.
        self._validator = untyped.extend(kind, changed)(parsed, registry=Registry[Any]())
        self._followed = 0

    def errors(self, arguments: Mapping[str, Any]) -> list[Any]:
        self._followed = 0
        return list(islice(self._validator.iter_errors(arguments), _MAX_PROBLEMS + 1))

    def _counted(self, keyword: Any) -> Any:
        def follow(*call: Any) -> Any:
            self._followed += 1
            if self._followed > _MAX_REFERENCES:
                raise EndlessSchemaError
            return keyword(*call)

        return follow


_checker = lru_cache(maxsize=512)(_Checker)


def _nothing(*_call: Any) -> Iterator[Any]:
    return iter(())


def _unless_by_expression(keyword: Any) -> Any:
    def check(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
        return () if "patternProperties" in schema else keyword(validator, value, instance, schema)

    return check
