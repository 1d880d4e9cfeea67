"""Kubernetes Secrets, understood as what they are: in JSON and YAML, alone, in lists, in streams, and inside other text. Pure module.

JSON is parsed; what does not parse is masked by its looks. YAML is read line by line, because a real parser takes seconds for a megabyte
and gives up where a text is cut off, and giving up is not an option here.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from tarsy.tools.masking.values import MASK_PREFIX, label

MASK = label("kubernetes_secret")

_PAYLOADS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_INTERESTING = frozenset({"apiVersion", "kind", "type", *_PAYLOADS, _LAST_APPLIED})
# The types a Secret has; an object without a kind but with one of these is a Secret whose kind was left out.
_SECRET_TYPE = re.compile(
    r"Opaque|kubernetes\.io/(?:tls|basic-auth|ssh-auth|dockercfg|dockerconfigjson|service-account-token)|helm\.sh/release\.v1|bootstrap\.kubernetes\.io/token"
)

_JSON_START = re.compile(r"[{\[]")
_MENTIONS = (
    "Secret",
    "Opaque",
    "kubernetes.io/tls",
    "kubernetes.io/docker",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/service-account-token",
    "helm.sh/release",
)
# In JSON that does not parse, quoted once or more often.
_LOOSE_PAYLOAD = re.compile(r"""\\*["'](?:data|stringData)\\*["']\s{0,8}:\s{0,8}\{""")
_LOOSE_VALUE = re.compile(
    r"""(?P<key>\\*["'][^"'\\\n]{1,256}\\*["']\s{0,8}:\s{0,8})(?P<open>\\*)(?P<quote>["'])(?P<value>(?:(?!(?P=open)(?P=quote))[^\n}]){0,65536})"""
)
_FLOW_PAYLOAD = re.compile(r"(?P<key>\b(?:data|stringData):\s{0,8})\{(?P<body>[^{}]{0,1048576})(?:\}|\Z)")


def mask_kubernetes_secrets(text: str) -> str:
    """Hide the payload of every Secret in `text`."""
    if not _mentions(text):
        return text
    text = _mask_json(text)
    text = _mask_flow(text)
    return _mask_yaml(text)


def _mentions(text: str) -> bool:
    return any(word in text for word in _MENTIONS)


def _mask_json(text: str) -> str:
    """Parse each JSON value that begins at the start of a line or stands alone; mask the rest by its looks."""
    parts: list[str] = []
    done = 0
    decoder = json.JSONDecoder(strict=False)
    misses = 0
    for found in _JSON_START.finditer(text):
        start = found.start()
        if start < done or not _opens_json(text, start):
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            misses += 1
            # Each miss reads on to its error; a text made of misses is not JSON.
            if misses > 50:
                break
            continue
        if _mask_value(value, in_secret_list=False):
            parts += [text[done:start], _dumped(value, text[start:end])]
            done = end
        elif end - start > 2:
            parts.append(text[done:end])
            done = end
    rest = text[done:]
    return "".join((*parts, _mask_loose(rest) if _mentions(rest) else rest))


def _opens_json(text: str, at: int) -> bool:
    """Whether a JSON value may begin here: an object or array, not a placeholder or a log prefix in brackets."""
    following = text[at + 1 : at + 40].lstrip()[:1]
    return following in ({'"', "}"} if text[at] == "{" else {"{", "[", '"'})


def _mask_value(value: Any, *, in_secret_list: bool) -> bool:
    """Mask in place; whether anything was."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return any([_mask_value(item, in_secret_list=in_secret_list) for item in items])  # noqa: C419 - no short cut: every item has to be masked
    if not isinstance(value, dict):
        return False
    node = cast("dict[str, Any]", value)
    if _is_secret(node, in_secret_list=in_secret_list):
        return _mask_secret(node)
    listed = node.get("kind") == "SecretList"
    changed = False
    for key, item in node.items():
        if isinstance(item, str):
            masked = _mask_nested(item)
            if masked != item:
                node[key] = masked
                changed = True
        elif _mask_value(item, in_secret_list=listed and key == "items"):
            changed = True
    return changed


def _is_secret(node: dict[str, Any], *, in_secret_list: bool) -> bool:
    kind = node.get("kind")
    if kind is not None:
        return kind == "Secret"
    if not any(name in node for name in _PAYLOADS):
        return False
    return in_secret_list or _SECRET_TYPE.fullmatch(str(node.get("type", ""))) is not None


def _mask_secret(node: dict[str, Any]) -> bool:
    masked = [_mask_entries(node, name) for name in _PAYLOADS]
    metadata = node.get("metadata")
    annotations = cast("dict[str, Any]", metadata).get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        masked.append(_mask_entry(cast("dict[str, Any]", annotations), _LAST_APPLIED))
    return any(masked)


def _mask_entries(node: dict[str, Any], name: str) -> bool:
    payload = node.get(name)
    if not isinstance(payload, dict):
        return _mask_entry(node, name)
    entries = cast("dict[str, Any]", payload)
    return any([_mask_entry(entries, key) for key in entries])  # noqa: C419 - no short cut: every entry has to be masked


def _mask_entry(node: dict[str, Any], key: str) -> bool:
    if node.get(key) in {None, MASK}:
        return False
    node[key] = MASK
    return True


def _mask_nested(text: str) -> str:
    """A string that holds a document of its own."""
    return mask_kubernetes_secrets(text) if len(text) > 20 and ("Secret" in text or "Opaque" in text) else text


def _dumped(value: Any, original: str) -> str:
    """The JSON again, indented the way it was."""
    indent = re.match(r"[{\[]\r?\n([ \t]+)", original)
    if indent is not None:
        return json.dumps(value, ensure_ascii=False, indent=indent.group(1))
    compact = '": ' not in original
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))


def _mask_loose(text: str) -> str:
    """JSON that is cut off or quoted: every string in a `data` or `stringData` object goes."""
    parts: list[str] = []
    done = 0
    for found in _LOOSE_PAYLOAD.finditer(text):
        if found.start() < done:
            continue
        end = text.find("}", found.end())
        end = len(text) if end == -1 else end
        parts += [text[done : found.end()], _LOOSE_VALUE.sub(_loose_value, text[found.end() : end])]
        done = end
    return "".join((*parts, text[done:]))


def _loose_value(found: re.Match[str]) -> str:
    return f"{found.group('key')}{found.group('open')}{found.group('quote')}{MASK}"


def _mask_flow(text: str) -> str:
    """YAML's one-line style. Whether it belongs to a Secret is not asked: the text speaks of one."""
    if "{" not in text or not re.search(r"kind: ?['\"]?Secret(?:List)?\b", text):
        return text
    return _FLOW_PAYLOAD.sub(
        lambda found: found.group() if MASK_PREFIX in found.group("body") else f"{found.group('key')}{{{MASK}: {MASK}}}", text
    )


class _Group:
    """One mapping of a YAML text: the keys that stand at one column, below one parent."""

    __slots__ = ("column", "is_cut_off", "is_object", "kind", "parent", "type")

    def __init__(self, column: int, parent: "_Group | None") -> None:
        self.column = column
        self.parent = parent
        self.kind: str | None = None
        self.type: str = ""
        # Has an apiVersion, as every object of the cluster.
        self.is_object = False
        # The text ends inside it, so its kind may have been lost.
        self.is_cut_off = False

    @property
    def is_secret(self) -> bool:
        if self.kind is not None:
            return self.kind == "Secret"
        if _SECRET_TYPE.fullmatch(self.type) or (self.is_object and self.is_cut_off):
            return True
        above = self.parent
        while above is not None:
            if above.kind is not None or above.is_object:
                return above.kind == "SecretList" or (above.kind is None and above.is_cut_off)
            above = above.parent
        return False

    @property
    def belongs_to_secret(self) -> bool:
        above: _Group | None = self
        while above is not None:
            if above.is_secret:
                return True
            above = above.parent
        return False


def _mask_yaml(text: str) -> str:
    if not any(name in text for name in (*_PAYLOADS, _LAST_APPLIED)):
        return text
    lines = text.split("\n")
    payloads = _payload_lines(lines)
    return "\n".join(_masked_lines(lines, payloads)) if payloads else text


def _payload_lines(lines: list[str]) -> list[tuple[int, int]]:
    """Number and column of each line that opens a Secret's payload."""
    candidates: list[tuple[int, _Group, str]] = []
    stack: list[_Group] = []
    for number, line in enumerate(lines):
        # A document ends, and with it all that is open.
        if line.startswith(("---", "...")):
            stack = []
            continue
        if ":" not in line:
            continue
        bare = line.lstrip(" ")
        column = dash_at = len(line) - len(bare)
        if bare.startswith("- "):
            bare = bare.lstrip("- ")
            column = len(line) - len(bare)
        group = stack[-1] if stack and stack[-1].column == column == dash_at else _enter(stack, column, dash_at)
        key = bare.partition(":")[0].strip(" \"'")
        if key in _INTERESTING:
            _note(group, key, bare)
            candidates.append((number, group, key))
    for group in stack:
        group.is_cut_off = group.kind is None
    return [(number, group.column) for number, group, key in candidates if _is_payload(group, key)]


def _note(group: _Group, key: str, bare: str) -> None:
    value = bare.partition(":")[2].partition(" #")[0].strip().strip("\"',")
    if key == "kind":
        group.kind = value
    elif key == "type":
        group.type = value
    elif key == "apiVersion":
        group.is_object = True


def _is_payload(group: _Group, key: str) -> bool:
    if key == _LAST_APPLIED:
        return group.belongs_to_secret
    return key in _PAYLOADS and group.is_secret


def _enter(stack: list[_Group], column: int, dash_at: int) -> _Group:
    """The mapping a line belongs to: leave the deeper ones, open a new one for a deeper line or a new list item."""
    while stack and stack[-1].column > dash_at:
        stack.pop()
    if not stack or stack[-1].column < column:
        stack.append(_Group(column, stack[-1] if stack else None))
    return stack[-1]


def _masked_lines(lines: list[str], payloads: list[tuple[int, int]]) -> list[str]:
    masked: list[str] = []
    done = 0
    for number, column in payloads:
        if number < done:
            continue
        head, _, value = lines[number].partition(":")
        below = _deeper(lines, number + 1, column)
        masked += lines[done:number]
        if not value.partition("#")[0].strip():
            masked.append(lines[number])
            masked += _masked_entries(lines[number + 1 : below])
        elif MASK in value or (value.strip() == "{" and all(MASK in line for line in lines[number + 1 : below] if ":" in line)):
            # Done already: as JSON, or in an earlier pass.
            masked += lines[number:below]
        else:
            # A flow mapping, a scalar or a block scalar: all of it, with the lines that continue it.
            masked.append(f"{head}: {MASK}")
        done = below
    return masked + lines[done:]


def _deeper(lines: list[str], start: int, column: int) -> int:
    """Where the lines end that stand deeper than `column`."""
    number = start
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip(" ")
        if bare and len(line) - len(bare) <= column and not bare.isspace():
            break
        number += 1
    return number


def _masked_entries(lines: list[str]) -> Iterator[str]:
    """`key: value` becomes `key: mask`; lines that continue a value go."""
    first = next((line for line in lines if line.strip()), "")
    column = len(first) - len(first.lstrip(" "))
    for line in lines:
        bare = line.lstrip(" ")
        if not bare or len(line) - len(bare) > column:
            continue
        key, colon, _ = line.partition(":")
        yield f"{key}: {MASK}" if colon else f"{line[:column]}{MASK}"
