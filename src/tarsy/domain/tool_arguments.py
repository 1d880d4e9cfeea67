"""Parsing what a model wrote into the arguments that a tool accepts."""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

import yaml

from tarsy.domain.tool_schema import Schema, coerce, expected, loose_json, only_property, properties, violations
from tarsy.kit.text import whole_characters

_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_][\w.-]{0,80})[ \t]{0,8}[=:][ \t]{0,8}")
_PLAIN_KEY = re.compile(r"[\w.-]+")
# JSON can spell half of a character, and no server's transport can send it.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
# A quoted key, finished or not, or nothing after the brace; a list of quoted things or objects; a quote without its end.
_BROKEN_JSON = re.compile(r"""\{\s*(?:"[^"]*(?:"\s*(?::|\Z)|\Z)|\Z)|\[\s*(?:["{\[]|\Z)|"[^"]*\Z""")
# An alias can blow up, and tags have no place in arguments.
_YAML_MAGIC = re.compile(r"(?:^|[\s\[{,])[&*!]\w")
# YAML is slow; no tool needs arguments of that size in it.
_MAX_YAML = 64 * 1024


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """Why a call was not made, in words for the model that made it."""

    message: str


def parse_arguments(text: str, schema: Schema) -> dict[str, Any] | ArgumentProblem:
    """Read `text` as arguments for a tool with this input schema, and check them."""
    read = _read(_unfenced(text), schema)
    if read is None:
        return ArgumentProblem(f"The call was not made: its arguments could not be read. Write a JSON object with {expected(schema)}.")
    try:
        arguments = cast("dict[str, Any]", coerce(read, dict(schema), schema))
    except RecursionError:
        return ArgumentProblem("The call was not made: its arguments are nested too deeply.")
    problems = violations(arguments, schema)
    if problems:
        return ArgumentProblem(
            f"The call was not made: its arguments do not fit the tool. {'; '.join(problems)}. It takes {expected(schema)}."
        )
    return arguments


def _unfenced(text: str) -> str:
    fenced = _FENCE.match(text)
    return (fenced.group(1) if fenced else text).strip()


def _read(text: str, schema: Schema) -> dict[str, Any] | None:
    if not text or text in {"None", "null", "N/A"}:
        return {}
    for reader in (_from_json, _from_yaml, _from_pairs):
        read = reader(text, schema)
        if read is not None:
            return read
    # The whole text as the one value the tool needs, unless it is JSON that breaks off.
    only = only_property(schema)
    return {only: _unquoted(text)} if only and not _breaks_off(text, only) else None


def _breaks_off(text: str, only: str) -> bool:
    """Whether a text is the beginning of a JSON value: an object with a key, a list, a string that does not end.

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
        # JSON wrapped in JSON: some models quote their arguments twice.
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
    # "a=1, b: x" is a mapping in YAML's eyes, and so is "kubectl get pods: all"; keys must be keys, and one of them known.
    if not all(isinstance(key, str) and _PLAIN_KEY.fullmatch(key) for key in read) or (known and not set(read) & set(known)):
        return None
    return cast("dict[str, Any]", read)


def _from_pairs(text: str, schema: Schema) -> dict[str, Any] | None:
    """`a=1, b: two words` or one pair a line; a value runs up to the next key the tool knows."""
    if text.startswith("{") and not text.endswith("}"):
        # It breaks off, and its last value with it.
        return None
    known = properties(schema)
    keys = [found for found in _PAIR.finditer(text) if not known or found.group(1) in known]
    if not keys or text[: keys[0].start()].strip(" \t\n,;{-"):
        return None
    ends = [*(found.start() for found in keys[1:]), len(text)]
    return {key.group(1): _value(text[key.end() : end]) for key, end in zip(keys, ends, strict=True)}


def _value(text: str) -> Any:
    value = text.strip().rstrip(",;&").strip()
    return loose_json(_unquoted(value))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'`" else text


class _PlainLoader(yaml.SafeLoader):
    """YAML without its surprises: only JSON's own scalars are more than text."""


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
