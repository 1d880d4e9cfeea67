"""Parsing the arguments of tool calls.

Models without structured calls write JSON, almost JSON, YAML, `key=value` or just the one value they mean. Each of these is parsed, coerced
towards the tool's schema and validated against it.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

import yaml

from tarsy.domain.tool_schema import Schema, coerce, expected, loose_json, only_property, properties, violations
from tarsy.kit.text import whole_characters

_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)```\s*\Z", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_][\w.-]{0,80})[ \t]{0,8}[=:][ \t]{0,8}")
_PLAIN_KEY = re.compile(r"[\w.-]+")
# JSON can spell half of a surrogate pair, which no transport can encode.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
# An object that ends after its brace or within a quoted key; a list of strings or objects; a string without its end.
_BROKEN_JSON = re.compile(r"""\{\s*(?:"[^"]*(?:"\s*(?::|\Z)|\Z)|\Z)|\[\s*(?:["{\[]|\Z)|"[^"]*\Z""")
# Aliases can expand to any size, and arguments need no tags.
_YAML_MAGIC = re.compile(r"(?:^|[\s\[{,])[&*!]\w")
# Parsing YAML is slow; no tool needs larger arguments in it.
_MAX_YAML = 64 * 1024


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """Why a call was not made, for the model that requested it."""

    message: str


def canonical_arguments(text: str) -> str:
    """Return the arguments of a call in one layout, so that equal ones are equal texts."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()


def parse_arguments(text: str, schema: Schema) -> dict[str, Any] | ArgumentProblem:
    """Parse `text` as arguments of a tool with this input schema, coerce them towards the schema, and validate them."""
    fenced = _FENCE.match(text)
    content = (fenced.group(1) if fenced else text).strip()
    parsed: dict[str, Any] | None = {} if not content or content in {"None", "null", "N/A"} else None
    for parse in (_from_json, _from_yaml, _from_pairs):
        if parsed is None:
            parsed = parse(content, schema)
    only = only_property(schema)
    if parsed is None and only and not _breaks_off(content, only):
        # The whole text is the one value that the tool needs.
        parsed = {only: _unquoted(content)}
    if parsed is None:
        return ArgumentProblem(f"The call was not made: its arguments could not be read. Write a JSON object with {expected(schema)}.")
    try:
        arguments = cast("dict[str, Any]", coerce(parsed, dict(schema), schema))
    except RecursionError:
        return ArgumentProblem("The call was not made: its arguments are nested too deeply.")
    problems = violations(arguments, schema)
    if problems:
        return ArgumentProblem(
            f"The call was not made: its arguments do not fit the tool. {'; '.join(problems)}. It takes {expected(schema)}."
        )
    return arguments


def _breaks_off(text: str, only: str) -> bool:
    """Return whether a text is the beginning of a JSON value: an object with a key, a list, a string without end.

    A selector such as `{app="shop"}` is none.
    """
    names_property = re.match(rf"""\{{\s*["']?{re.escape(only)}["']?\s*:""", text)
    return names_property is not None or _BROKEN_JSON.match(text) is not None


def _from_json(text: str, schema: Schema) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and value.strip().startswith("{"):
        # Some models quote their arguments twice.
        return _from_json(value, schema)
    if _HALF_CHARACTER.search(text):
        value = json.loads(whole_characters(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    only = only_property(schema)
    return {only: value} if only else None


def _from_yaml(text: str, schema: Schema) -> dict[str, Any] | None:
    if len(text) > _MAX_YAML or _YAML_MAGIC.search(text):
        return None
    try:
        value: Any = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a safe loader that also leaves dates, `on` and octals alone
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    read = cast("dict[Any, Any]", value)
    known = properties(schema)
    # "a=1, b: x" and "kubectl get pods: all" are mappings in YAML too: all keys must have the form of keys, and the tool must know one of them.
    if not all(isinstance(key, str) and _PLAIN_KEY.fullmatch(key) for key in read) or (known and not set(read) & set(known)):
        return None
    return cast("dict[str, Any]", read)


def _from_pairs(text: str, schema: Schema) -> dict[str, Any] | None:
    """Parse `a=1, b: two words`, or one pair per line; a value ends before the next key that the tool knows."""
    if text.startswith("{") and not text.endswith("}"):
        # Cut off, in the middle of a value.
        return None
    known = properties(schema)
    keys = [found for found in _PAIR.finditer(text) if not known or found.group(1) in known]
    if not keys or text[: keys[0].start()].strip(" \t\n,;{-"):
        return None
    ends = [*(found.start() for found in keys[1:]), len(text)]
    values = (text[key.end() : end].strip().rstrip(",;&").strip() for key, end in zip(keys, ends, strict=True))
    return {key.group(1): loose_json(_unquoted(value)) for key, value in zip(keys, values, strict=True)}


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'`" else text


class _PlainLoader(yaml.SafeLoader):
    """A YAML loader that reads only JSON's own scalars as more than text."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [
        (f"tag:yaml.org,2002:{tag}", re.compile(pattern))
        for tag, pattern in (
            ("bool", r"^(?:true|false)$"),
            ("null", r"^(?:null|~|)$"),
            ("int", r"^-?(?:0|[1-9]\d*)$"),
            ("float", r"^-?\d+\.\d+$"),
        )
    ]
    for first in ("t", "f", "n", "~", "", *"-0123456789")
}
