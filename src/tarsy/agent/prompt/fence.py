"""Fences around text that comes from outside: alerts, runbooks, tool results, earlier agents' words. Pure module.

A fence is a pair of lines that carry a code made from the session's nonce. The writer of the text inside cannot know the
code, so the text cannot close its own fence; the same nonce gives the same fence again, so a replay is identical.
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
        """The code of one fence; another scope has another code, so a code that leaked is worth nothing elsewhere."""
        digest = hmac.new(self.nonce.encode(), scope.encode(), hashlib.sha256).hexdigest()
        return digest[:_CODE_DIGITS]

    def wrap(self, label: str, text: str, *, scope: str = "") -> str:
        """Put `text` between the two lines of a fence named `label`."""
        code = self.code(f"{label}\0{scope}")
        body = defused(text.replace(code, "[code removed]"))
        return f"<<<BEGIN {label} {code}>>>\n{body}\n<<<END {label} {code}>>>"


def unwrap(text: str) -> str:
    """Return text without the boundaries of the fences in it."""
    return _BOUNDARY.sub("", text).removesuffix("\n") if "<<<" in text else text


def defused(text: str) -> str:
    """Keep text from looking like the border of a fence."""
    return _LOOKALIKE.sub("< < <", text)


# Enough for a selector or a query; what a call says beyond that stands in the conversation.
_LONGEST_CALL = 300
_LINE = re.compile(rf"\[({ID_PATTERN})\] ")


def result_line(evidence_id: str, tool: str, arguments: str, read_at: datetime | None) -> str:
    """The line before a result; a call without a time was not answered."""
    head = f"[{evidence_id}] " if evidence_id else ""
    return f"{head}{call_text(tool, arguments)}" + (f" at {utc(read_at)}" if read_at else "")


def reading_back(tool: str, evidence_id: str, offset: int | None = None) -> str:
    """How to read the whole of a result of which only a part is shown, or what follows `offset`; nothing where there is no tool for it."""
    if not tool:
        return ""
    rest = "." if offset is None else f"; what was left out begins at offset {offset}."
    return f' Read any part of it with {tool}, id "{evidence_id}"{rest}'


def call_text(tool: str, arguments: str) -> str:
    """A call as people write it: `server.tool(name=value)`."""
    return defused(clip(" ".join(f"{tool}({_written(arguments)})".split()), _LONGEST_CALL, notice="…)"))


def argument_text(value: Any) -> str:
    """A value of a call's arguments where it is spoken of outside a fence: one line, of bounded length."""
    return defused(clip(" ".join(_value(value).split()), _LONGEST_CALL, notice="…"))


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def line_of(content: str) -> tuple[str, str]:
    """The id in a result's line and the line itself; both empty for a result from before there were ids."""
    found = _LINE.match(content)
    return (found[1], content.partition("\n")[0]) if found else ("", "")


def _written(arguments: str) -> str:
    try:
        parsed: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(parsed, dict):
        return arguments
    return ", ".join(f"{name}={_value(value)}" for name, value in cast("dict[str, Any]", parsed).items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
