"""The line before a tool result: its id, the call with its arguments, and when it was read. Pure module.

`[A7] kubernetes.pods_log(namespace=shop, name=cart-1) at 2026-03-10T11:26:15Z`. It stands outside the fence, so it is one line, of bounded length,
and nothing in it can pass for a fence.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from tarsy.agent.prompt.fence import defused
from tarsy.domain.evidence import ID_PATTERN
from tarsy.kit.text import clip

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
