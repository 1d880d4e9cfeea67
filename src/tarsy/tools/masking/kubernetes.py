"""Kubernetes Secrets, understood as what they are: in JSON and YAML, alone, in lists, in streams, and inside other text. Pure module.

What parses as JSON is masked as objects, YAML by its lines, and what is neither any more (cut off, quoted, on one line) by its looks:
giving up is not an option here.
"""

import re

from tarsy.tools.masking.secret_json import MASK, MENTIONS, mask_whole, mask_within
from tarsy.tools.masking.secret_yaml import mask_yaml
from tarsy.tools.masking.text_views import Reading
from tarsy.tools.masking.values import MASK_PREFIX

# Shorter strings hold no document.
_SHORTEST_DOCUMENT = 20

# In JSON that does not parse, quoted once or more often. Each begins with a literal, so that the matcher can leap to it.
_LOOSE_PAYLOAD = re.compile(r"""ata(?:(?<=["']data)|(?<=["']stringData))\\*["']\s{0,8}:\s{0,8}\{""")
_FLOW_PAYLOAD = re.compile(r"ata:(?:(?<=\bdata:)|(?<=\bstringData:))(?P<gap>\s{0,8})\{(?P<body>[^{}]{0,1048576})(?:\}|\Z)")
_AFTER_WORDS = (
    re.compile(r"""kind: Secret(?<=[^\s"'{,-] kind: Secret)(?:List)?\r?\n"""),
    re.compile(r"""apiVersion: (?<=[^\s"'{,-] apiVersion: )[\w./]{1,80}\r?\n"""),
)
_LOOSE_VALUE = re.compile(
    r"""(?P<key>\\*["'][^"'\\\n]{1,256}\\*["']\s{0,8}:\s{0,8})(?P<open>\\*)(?P<quote>["'])(?P<value>(?:(?!(?P=open)(?P=quote))[^\n}]){0,65536})"""
)


def mask_kubernetes_secrets(reading: Reading) -> str:
    """Hide the payload of every Secret in a text."""
    text = reading.text
    mentions = reading.held(MENTIONS)
    if not mentions:
        return text
    whole = mask_whole(text, _mask_nested)
    if whole is not None:
        return whole
    head, rest = mask_within(text, _mask_nested)
    # The short cut first: what is masked as JSON is written anew, and may say more than the text did.
    loose = any(word in rest for word in mentions) or Reading(rest).held(MENTIONS)
    return _mask_yaml(_mask_flow(head + (_mask_loose(rest) if loose else rest)))


def _mask_yaml(text: str) -> str:
    """YAML, also where words stand before it on its first line."""
    text = mask_yaml(text)
    at = min((found.start() for begin in _AFTER_WORDS if (found := begin.search(text))), default=None)
    return text if at is None else text[:at] + mask_yaml(text[at:])


def _mask_nested(text: str) -> str:
    """A string that holds a document of its own."""
    return mask_kubernetes_secrets(Reading(text)) if len(text) > _SHORTEST_DOCUMENT and ("Secret" in text or "Opaque" in text) else text


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
        lambda found: found.group() if MASK_PREFIX in found.group("body") else f"ata:{found.group('gap')}{{{MASK}: {MASK}}}", text
    )
