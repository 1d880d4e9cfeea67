"""What is wrong with a call's arguments, by its tool's schema. Pure module.

A schema comes from the server and may be anything: one that is broken finds nothing wrong, and none keeps us busy for long.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

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
