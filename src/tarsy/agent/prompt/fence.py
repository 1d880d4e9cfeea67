"""Fences around text from outside (alerts, runbooks, tool results, other agents' words), and the line before each tool result.

A fence is a pair of lines with a code derived from the session's nonce. The author of the text inside cannot know the code, so the text
cannot close its own fence; the same nonce gives the same fence again, so a replay is identical. The line before a result,
`[A7] kubernetes.pods_log(namespace=shop, name=cart-1) at 2026-03-10T11:26:15Z`, stands outside the fence: it is one line of bounded
length, and nothing in it can pass for a fence.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from tarsy.domain.evidence import ID_PATTERN
from tarsy.kit.text import clip

# 20 hexadecimal digits are 80 bits: beyond guessing, and short enough not to look like a credential to a masking pattern.
_CODE_DIGITS = 20

_LOOKALIKE = re.compile(r"<<<(?=\s*(?:BEGIN|END)\b)", re.IGNORECASE)
# Not only at the beginning of a line: a word such as `Observation:` may stand before it.
_BOUNDARY = re.compile(r"<<<(?:BEGIN|END) [A-Z ]{1,40} [0-9a-f]{20}>>>\n?")


@dataclass(frozen=True, slots=True)
class Fence:
    """Makes the fences of one session."""

    nonce: str

    def code(self, scope: str) -> str:
        """Return the code of a fence. Every scope has a code of its own, so that one that leaks opens no other fence."""
        digest = hmac.new(self.nonce.encode(), scope.encode(), hashlib.sha256).hexdigest()
        return digest[:_CODE_DIGITS]

    def wrap(self, label: str, text: str, *, scope: str = "") -> str:
        """Return `text` between the two lines of a fence named `label`."""
        code = self.code(f"{label}\0{scope}")
        body = escape_fences(text.replace(code, "[code removed]"))
        return f"<<<BEGIN {label} {code}>>>\n{body}\n<<<END {label} {code}>>>"


def unwrap(text: str) -> str:
    """Return text without the boundaries of the fences in it."""
    return _BOUNDARY.sub("", text).removesuffix("\n") if "<<<" in text else text


def escape_fences(text: str) -> str:
    """Return text in which nothing looks like the border of a fence."""
    return _LOOKALIKE.sub("< < <", text)


# The word before a result in the conversation of a model without function calling.
OBSERVATION = "Observation:"
# Enough for a selector or a query; the whole call is in the conversation.
_LONGEST_CALL = 300
_LINE = re.compile(rf"\[({ID_PATTERN})\] ")


def result_line(evidence_id: str, tool: str, arguments: str, read_at: datetime | None) -> str:
    """Return the line before a result; a call without a time has no result."""
    head = f"[{evidence_id}] " if evidence_id else ""
    return f"{head}{call_text(tool, arguments)}" + (f" at {utc(read_at)}" if read_at else "")


def result_text(content: str) -> str:
    """Return a result as a conversation holds it, without what differs between two equal ones: its line, its fence and its id."""
    content = shown_result(content)
    evidence_id, line = line_of(content)
    return unwrap(content.removeprefix(line)).replace(f'id "{evidence_id}"', "id")


def shown_result(content: str) -> str:
    """Return the content of a message from the line before its result on."""
    return content.removeprefix(OBSERVATION).lstrip()


def reading_back(tool: str, evidence_id: str, offset: int | None = None) -> str:
    """Return how to read a result that is shown in part, from `offset` on; empty if there is no tool for it."""
    if not tool:
        return ""
    rest = "." if offset is None else f"; what was left out begins at offset {offset}."
    return f' Read any part of it with {tool}, id "{evidence_id}"{rest}'


def call_text(tool: str, arguments: str) -> str:
    """Return a call as people write it: `server.tool(name=value)`."""
    try:
        parsed: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        arguments = ", ".join(f"{name}={_value(value)}" for name, value in cast("dict[str, Any]", parsed).items())
    return escape_fences(clip(" ".join(f"{tool}({arguments})".split()), _LONGEST_CALL, notice="…)"))


def argument_text(value: Any) -> str:
    """Return a value of a call's arguments for use outside a fence: one line of bounded length."""
    return escape_fences(clip(" ".join(_value(value).split()), _LONGEST_CALL, notice="…"))


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def line_of(content: str) -> tuple[str, str]:
    """Return the id in the line before a result and the line itself; both empty for a result from before there were ids."""
    found = _LINE.match(content)
    return (found[1], content.partition("\n")[0]) if found else ("", "")


def _value(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        # Nested so deep that it could just be parsed.
        return "…"
