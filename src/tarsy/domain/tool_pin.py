"""Pins: the tools of a server as an administrator accepted them. Servers can change their tools at any time, and models follow descriptions."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.kit.text import clip

# Tool → part of it (`description`, `schema`, `annotations`) → hash.
Fingerprints = Mapping[str, Mapping[str, str]]

# How much of a difference is shown. The names of tools are written by the server.
_SHOWN_TOOLS = 5
_SHOWN_NAME = 64


class PinMode(StrEnum):
    """What happens if the tools of a server differ from the accepted ones."""

    REPORT = "report"
    # Agents do not use the server until an administrator has accepted its tools.
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class ToolPin:
    server: str
    tools: Fingerprints
    accepted_at: datetime
    accepted_by: str


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def pin_problem(
    server: str, mode: PinMode, pin: ToolPin | None, tools: Fingerprints, *, named: Collection[str] | None = None
) -> str | None:
    """Return what an administrator should know about the tools of a server, or None. Only tools in `named` count, unless it is None."""
    remedy = f"Check them, then run: tarsy tools accept {server}"
    unused = ", so agents do not use it (pin: strict)" if mode is PinMode.STRICT else ""
    if pin is None:
        return f"The tools of tool server '{server}' have not been accepted yet{unused}. {remedy}" if unused else None
    before, now = ({name: parts for name, parts in all_tools.items() if named is None or name in named} for all_tools in (pin.tools, tools))
    differences = [f"{_shown(name)} is new" for name in sorted(now.keys() - before.keys())]
    differences += [f"{_shown(name)} is gone" for name in sorted(before.keys() - now.keys())]
    for name in sorted(before.keys() & now.keys()):
        if parts := sorted(part for part in {*before[name], *now[name]} if before[name].get(part) != now[name].get(part)):
            differences.append(f"{_shown(name)} has another {' and '.join(parts)}")
    if not differences:
        return None
    more = f", and {len(differences) - _SHOWN_TOOLS} more" if len(differences) > _SHOWN_TOOLS else ""
    changed = (
        f"The tools of tool server '{server}' have changed since {pin.accepted_by} accepted them on {pin.accepted_at:%Y-%m-%d}{unused}"
    )
    return f"{changed}: {', '.join(differences[:_SHOWN_TOOLS])}{more}. {remedy}"


def _shown(name: str) -> str:
    return clip(" ".join(name.split()), _SHOWN_NAME)
