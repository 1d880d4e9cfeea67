"""What an empty result is empty of, as far as the server lets one know: "0 pods in namespace shop". Pure module.

An agent that is told only that there was nothing takes that for anything. The words stand outside the fence, so of what a server says at most one
plain word gets into them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from tarsy.agent.folding import is_table_header
from tarsy.agent.prompt.result_line import argument_text
from tarsy.domain.conversation import ToolCall

# An empty answer is short, whatever it is written in; what is longer is not looked into.
_LONGEST = 4_000
# What servers answer that have nothing to say.
_NOTHING = frozenset({"", "(no output)", "null", "none"})
_KIND = re.compile(r"([A-Z][A-Za-z]{1,40})List")
_WORD = re.compile(r"[a-z]{2,24}")
_YAML_ITEMS = re.compile(r"^items:[ \t]*\[\][ \t]*$", re.MULTILINE)
_YAML_KIND = re.compile(rf"^kind:[ \t]*{_KIND.pattern}[ \t]*$", re.MULTILINE)
_MORE_PAGES = ("continue", "nextToken", "next_token", "nextPageToken", "cursor")


def emptiness(call: ToolCall, text: str) -> str:
    """The note on an empty answer; nothing for one that holds something."""
    if len(text) > _LONGEST:
        return ""
    lacking = _lacking(text.strip())
    return f"Empty: {lacking}{_where(call.arguments)}." if lacking else ""


def _lacking(text: str) -> str:
    if text.lower() in _NOTHING:
        return "no output"
    if text[:1] in {"{", "["}:
        return _of_json(text)
    if _YAML_ITEMS.search(text):
        kind = _YAML_KIND.search(text)
        return f"0 {_plural(kind[1]) if kind else 'items'}"
    return "0 rows" if is_table_header(text) else ""


def _of_json(text: str) -> str:
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    match parsed:
        case []:
            return "0 entries"
        case {}:
            return _of_object(cast("dict[str, Any]", parsed))
        case _:
            return ""


def _of_object(parsed: Mapping[str, Any]) -> str:
    match parsed:
        case {"data": {"resultType": str(kind), "result": []}}:
            return "0 streams" if kind == "streams" else "0 series"
        case {"items": [], **rest}:
            kind = _KIND.fullmatch(str(rest.get("kind", "")))
            metadata = rest.get("metadata")
            paged = isinstance(metadata, dict) and any(cast("dict[str, Any]", metadata).get(name) for name in _MORE_PAGES)
            return f"0 {_plural(kind[1]) if kind else 'items'}" + (" on this page" if paged else "")
        case _:
            return _of_only_list(parsed)


def _of_only_list(parsed: Mapping[str, Any]) -> str:
    """An object that holds nothing, or one empty list and no other collection."""
    if not parsed:
        return "no fields"
    held = [name for name, value in parsed.items() if isinstance(value, list | dict)]
    is_paged = any(parsed.get(name) for name in _MORE_PAGES)
    if len(held) != 1 or parsed[held[0]] != [] or is_paged:
        return ""
    return f"0 {held[0]}" if _WORD.fullmatch(held[0]) else "0 entries"


def _plural(kind: str) -> str:
    """`Pod` → `pods`, `Ingress` → `ingresses`, `NetworkPolicy` → `networkpolicies`: as the API names its resources."""
    name = kind.lower()
    if name.endswith(("s", "x", "ch")):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") and name[-2] not in "aeiou" else f"{name}s"


def _where(arguments: str) -> str:
    """What was asked for, in the words of the call."""
    try:
        parsed: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return ""
    if not isinstance(parsed, dict):
        return ""
    given = {name: value for name, value in cast("dict[str, Any]", parsed).items() if value not in (None, "", [], {})}
    namespace = given.pop("namespace", None)
    told = f" in namespace {argument_text(namespace)}" if namespace else ""
    others = ", ".join(f"{name}={argument_text(value)}" for name, value in given.items())
    return f"{told} ({argument_text(others)})" if others else told
