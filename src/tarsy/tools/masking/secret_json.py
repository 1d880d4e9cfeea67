"""Recognises Kubernetes Secrets, and masks them in JSON that parses: as objects, which keep their indentation."""

import base64
import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, cast

from tarsy.tools.masking.text_views import TaggedText
from tarsy.tools.masking.values import MASKED, label

_PATTERN = "kubernetes_secret"
# Of a payload as a whole, and the beginning of every mask of an entry.
MASK = label(_PATTERN)
MASK_BEGINS = MASK[:-1]

PAYLOADS = ("data", "stringData")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The types of Secrets; an object without a kind but with one of these is a Secret whose kind was left out.
SECRET_TYPE = re.compile(
    r"Opaque|kubernetes\.io/(?:tls|basic-auth|ssh-auth|dockercfg|dockerconfigjson|service-account-token)|helm\.sh/release\.v1|bootstrap\.kubernetes\.io/token"
)
# A text without any of these words contains no Secret.
MENTIONS = (
    "Secret",
    "Opaque",
    "kubernetes.io/tls",
    "kubernetes.io/docker",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/service-account-token",
    "helm.sh/release",
)

_START = re.compile(r"[{\[]")
_INDENTED = re.compile(r"[{\[]\r?\n([ \t]+)")
# Each failed attempt parses up to its error; a text with so many of them is not JSON.
_MAX_MISSES = 50

# Masks the text in a JSON string.
MaskNested = Callable[[str], str]

_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The keys whose values are shown: host, port, user, database.
_PLAIN_KEY = re.compile(
    r"(?:.*[_.-]|pg|db|mysql|postgres)?(?:(?P<port>port)|(?P<host>host(?:_?name)?)|(?P<name>user(?:_?name)?|db(?:_?name)?|database(?:_?name)?))"
)
# What they hold: short words and numbers, unlike anything random.
_PART = r"(?:[a-z]{1,24}|\d{1,5}|[a-z0-9]{1,14})"
_NAME_PART = rf"(?:{_PART}|[A-Z]{{1,12}}|(?:[A-Z]?[a-z]{{2,12}}){{1,3}})"
_PLAIN_VALUES = {
    "port": re.compile(r"\d{1,5}"),
    "host": re.compile(rf"(?:{_PART}[.-])*{_PART}(?::\d{{1,5}})?"),
    "name": re.compile(rf"(?:{_NAME_PART}[._-]){{0,4}}{_NAME_PART}"),
}
_LONGEST_PLAIN = 120


class EntryMasker:
    """Masks the entries of the Secrets in a text. Host, port, user and database are shown, unless they hold something else."""

    def __init__(self, tagged: TaggedText) -> None:
        self._label = partial(tagged.label, _PATTERN)

    def masked(self, key: str, value: str, *, encoded: bool) -> str:
        """Return the value, or its replacement. Values of `data` are `encoded` in base64, and have the tag of what they encode."""
        plain_kind = _plain_kind(key)
        plain = _decoded(value) if encoded else value
        if plain_kind and len(plain) <= _LONGEST_PLAIN and _PLAIN_VALUES[plain_kind].fullmatch(plain):
            return value
        return value if value.startswith(MASK_BEGINS) and MASKED.fullmatch(value) else self._label(plain)


@lru_cache(maxsize=1024)
def _plain_kind(key: str) -> str | None:
    """Return what an entry with this key holds, or None if that may be a secret."""
    found = _PLAIN_KEY.fullmatch(_WORD_BREAK.sub("_", key).lower()) if len(key) <= _LONGEST_PLAIN else None
    return found.lastgroup if found else None


def _decoded(value: str) -> str:
    """Return what base64 encodes, or the value itself if it is something else."""
    with suppress(ValueError):
        return base64.b64decode(value, validate=True).decode()
    return value


def mask_document(text: str, nested: MaskNested, entries: EntryMasker) -> str | None:
    """Mask a text that is one JSON value and nothing else; return None if it is not."""
    if text[:1] not in {"{", "["} and text.lstrip()[:1] not in {"{", "["}:
        return None
    bare = text.strip()
    try:
        value = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return None
    if not _mask_value(value, nested, entries, in_secret_list=False):
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{_dumped(value, bare)}{text[start + len(bare) :]}"


def mask_embedded(text: str, nested: MaskNested, entries: EntryMasker) -> tuple[str, str]:
    """Mask each JSON value in a longer text. Return the text in two parts; the second begins with the first JSON that does not parse."""
    parts: list[str] = []
    done = 0
    parts_before_error: int | None = None
    decoder = json.JSONDecoder(strict=False)
    misses = 0
    for found in _START.finditer(text):
        start = found.start()
        # Where something else follows, it is a placeholder or a log prefix in brackets.
        following = text[start + 1 : start + 40].lstrip()[:1]
        if start < done or following not in ({'"', "}"} if text[start] == "{" else {"{", "[", '"'}):
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            if parts_before_error is None:
                parts.append(text[done:start])
                done, parts_before_error = start, len(parts)
            misses += 1
            if misses > _MAX_MISSES:
                break
            continue
        if _mask_value(value, nested, entries, in_secret_list=False):
            parts += [text[done:start], _dumped(value, text[start:end])]
            done = end
        elif end - start > 2:
            parts.append(text[done:end])
            done = end
    before_error = len(parts) if parts_before_error is None else parts_before_error
    return "".join(parts[:before_error]), "".join((*parts[before_error:], text[done:]))


def _mask_value(value: Any, nested: MaskNested, entries: EntryMasker, *, in_secret_list: bool) -> bool:
    """Mask `value` in place; return whether anything was masked."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return any([_mask_value(item, nested, entries, in_secret_list=in_secret_list) for item in items])  # noqa: C419 - no short cut: every item has to be masked
    if not isinstance(value, dict):
        return False
    node = cast("dict[str, Any]", value)
    if _is_secret(node, in_secret_list=in_secret_list):
        return _mask_secret(node, entries)
    listed = node.get("kind") == "SecretList"
    changed = False
    for key, item in node.items():
        if isinstance(item, str):
            masked = nested(item)
            if masked != item:
                node[key] = masked
                changed = True
        elif _mask_value(item, nested, entries, in_secret_list=listed and key == "items"):
            changed = True
    return changed


def _is_secret(node: dict[str, Any], *, in_secret_list: bool) -> bool:
    kind = node.get("kind")
    if kind is not None:
        return kind == "Secret"
    if not any(name in node for name in PAYLOADS):
        return False
    return in_secret_list or SECRET_TYPE.fullmatch(str(node.get("type", ""))) is not None


def _mask_secret(node: dict[str, Any], entries: EntryMasker) -> bool:
    masked = False
    for name in PAYLOADS:
        payload = node.get(name)
        if isinstance(payload, dict):
            values = cast("dict[str, Any]", payload)
            masked |= any([_mask_entry(values, key, entries, encoded=name == "data") for key in values])  # noqa: C419 - no short cut: every entry has to be masked
        else:
            masked |= _mask_entry(node, name, entries)
    metadata = node.get("metadata")
    annotations = cast("dict[str, Any]", metadata).get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict):
        masked |= _mask_entry(cast("dict[str, Any]", annotations), LAST_APPLIED, entries)
    return masked


def _mask_entry(node: dict[str, Any], key: str, entries: EntryMasker, *, encoded: bool = False) -> bool:
    value = node.get(key)
    if value is None:
        return False
    node[key] = entries.masked(key, value, encoded=encoded) if isinstance(value, str) else MASK
    return node[key] != value


def _dumped(value: Any, original: str) -> str:
    """Serialize a value with the indentation of the original."""
    indented = _INDENTED.match(original)
    if indented is None:
        compact = '": ' not in original
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": "))
    margin = original[original.rfind("\n") + 1 : -1]
    margin = margin if margin.isspace() else ""
    # Every newline here is between two lines: those in strings are escaped.
    return json.dumps(value, ensure_ascii=False, indent=indented.group(1).removeprefix(margin) or "  ").replace("\n", f"\n{margin}")
