"""From what a model wrote to the arguments a tool accepts. Pure module.

Models that have no structured calls write JSON, almost JSON, YAML, `key=value` or just the one value they mean; all of them are understood,
coerced towards the tool's schema and then checked against it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import yaml

Schema = Mapping[str, Any]

_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_][\w.-]*)\s*[=:]\s*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MAX_PROBLEMS = 5
# YAML is slow and can be made to explode; no tool needs arguments of that size in it.
_MAX_YAML = 64 * 1024


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """Why a call was not made, in words for the model that made it."""

    message: str


def parse_arguments(text: str, schema: Schema) -> dict[str, Any] | ArgumentProblem:
    """Read `text` as arguments for a tool with this input schema, and check them."""
    read = _read(_unfenced(text), schema)
    if isinstance(read, ArgumentProblem):
        return read
    coerced = cast("dict[str, Any]", _coerce(read, schema, schema))
    problems = list(_violations(coerced, schema))
    return ArgumentProblem(_violation_text(problems, schema)) if problems else coerced


def _unfenced(text: str) -> str:
    fenced = _FENCE.match(text)
    return (fenced.group(1) if fenced else text).strip()


def _read(text: str, schema: Schema) -> dict[str, Any] | ArgumentProblem:
    if not text or text in {"None", "null", "N/A"}:
        return {}
    for reader in (_from_json, _from_yaml, _from_pairs):
        read = reader(text, schema)
        if read is not None:
            return read
    return _from_raw(text, schema)


def _from_json(text: str, schema: Schema) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and value.strip().startswith("{"):
        # JSON wrapped in JSON: some models quote their arguments twice.
        return _from_json(value, schema)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    only = _only_property(schema)
    return {only: value} if only else None


def _from_yaml(text: str, schema: Schema) -> dict[str, Any] | None:
    # Anchors and tags have no place in arguments, and an alias can blow up.
    if len(text) > _MAX_YAML or re.search(r"(?:^|[\s\[{,])[&*!]\w", text):
        return None
    try:
        value: Any = yaml.load(text, Loader=_YamlLoader)  # noqa: S506 - a safe loader, made safer below
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[Any, Any]", value)):
        return None
    read = cast("dict[str, Any]", value)
    known = _properties(schema)
    # "namespace=prod, note: x" is a mapping in YAML's eyes; only keys the tool knows count as understood.
    if known and not set(read) <= set(known) and any(not re.fullmatch(r"[\w.-]+", key) for key in read):
        return None
    return read


def _from_pairs(text: str, schema: Schema) -> dict[str, Any] | None:
    """`a=1, b: two words` or one pair a line; a value runs up to the next key the tool knows."""
    known = _properties(schema)
    keys = [found for found in _PAIR.finditer(text) if not known or found.group(1) in known]
    if not keys or text[: keys[0].start()].strip(" \t\n,;{-"):
        return None
    ends = [*(found.start() for found in keys[1:]), len(text)]
    return {key.group(1): _scalar(text[key.end() : end].strip().strip(",;&}").strip()) for key, end in zip(keys, ends, strict=True)}


def _scalar(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _from_raw(text: str, schema: Schema) -> dict[str, Any] | ArgumentProblem:
    """Take the whole text as the one value the tool needs."""
    only = _only_property(schema)
    if only is None:
        return ArgumentProblem(f"The arguments could not be read. Write them as a JSON object{_expected(schema)}.")
    return {only: text.strip("\"'") if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text}


def _only_property(schema: Schema) -> str | None:
    """The property a bare value must mean: the only required one, or the only one there is."""
    required = schema.get("required")
    if isinstance(required, list) and len(cast("list[Any]", required)) == 1:
        return str(cast("list[Any]", required)[0])
    known = _properties(schema)
    return next(iter(known)) if len(known) == 1 and not required else None


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _coerce(value: Any, schema: Any, root: Schema) -> Any:
    """Turn what was written into what was meant, where the schema leaves no doubt."""
    if not isinstance(schema, dict):
        return value
    schema = _resolved(cast("Schema", schema), root)
    kinds = _kinds(schema, root)
    if isinstance(value, str):
        return _coerce_text(value, kinds, schema, root)
    if isinstance(value, bool | int | float) and kinds == {"string"}:
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        return int(value)
    if isinstance(value, dict) and ("object" in kinds or not kinds):
        known = _properties(schema)
        return {key: _coerce(item, known.get(key), root) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_coerce(item, schema.get("items"), root) for item in cast("list[Any]", value)]
    if kinds and "array" in kinds and "object" not in kinds and value is not None:
        return [_coerce(value, schema.get("items"), root)]
    return value


def _coerce_text(text: str, kinds: frozenset[str], schema: Schema, root: Schema) -> Any:
    if not kinds or "string" in kinds:
        return text
    word = text.strip()
    if "null" in kinds and word.lower() in {"null", "none", ""}:
        return None
    if "boolean" in kinds and word.lower() in {"true", "false", "yes", "no"}:
        return word.lower() in {"true", "yes"}
    if kinds & {"integer", "number"} and _NUMBER.fullmatch(word):
        number = json.loads(word)
        return int(number) if isinstance(number, float) and number.is_integer() and "number" not in kinds else number
    if kinds & {"array", "object"}:
        read: Any = _scalar(word)
        if isinstance(read, dict | list):
            return _coerce(read, schema, root)
        if "array" in kinds:
            return [_coerce(part.strip(), schema.get("items"), root) for part in word.split(",") if part.strip()]
    return text


def _kinds(schema: Schema, root: Schema) -> frozenset[str]:
    """The JSON types a schema admits; empty when it does not say."""
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(str(each) for each in cast("list[Any]", named))
    found: set[str] = set()
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if isinstance(each, dict):
            inner = _kinds(_resolved(cast("Schema", each), root), root)
            if not inner:
                return frozenset()
            found |= inner
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


def _violations(arguments: Mapping[str, Any], schema: Schema) -> Iterator[str]:
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
        yield f"{field}: {_shortened(error.message)}"


@lru_cache(maxsize=512)
def _validator(schema: str) -> Any:
    from jsonschema.validators import validator_for  # noqa: PLC0415 - heavy, imported on first use
    from referencing import Registry  # noqa: PLC0415 - heavy, imported on first use

    parsed = json.loads(schema)
    kind = validator_for(parsed)
    kind.check_schema(parsed)
    # An empty registry: a schema must not make us fetch anything.
    return kind(parsed, registry=Registry())


def _shortened(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:150]} … {text[-120:]}"


def _violation_text(problems: list[str], schema: Schema) -> str:
    return f"The call was not made: its arguments do not fit the tool. {'; '.join(problems)}. Expected{_expected(schema)}."


def _expected(schema: Schema) -> str:
    """The properties with types, required ones first: what a model needs to write it right."""
    known = _properties(schema)
    required = [str(each) for each in schema.get("required", ())]
    parts = [
        f"{name} ({'/'.join(sorted(_kinds(known[name], schema))) or 'any'}{', required' if name in required else ''})"
        for name in sorted(known, key=lambda name: (name not in required, name))
        if isinstance(known[name], dict)
    ]
    return f" with: {', '.join(parts)}" if parts else " without properties"


class _YamlLoader(yaml.SafeLoader):
    """YAML 1.1 without its surprises: dates, `on`, and octal numbers stay what the model wrote."""


_YamlLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:int"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_YamlLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false|True|False|TRUE|FALSE)$"), list("tTfF"))
_YamlLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9]\d*)$"), list("-0123456789"))
