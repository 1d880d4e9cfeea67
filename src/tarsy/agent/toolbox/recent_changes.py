"""The built-in tool `tarsy.recent_changes`: what was deployed, synchronised or switched before something broke.

It is offered only if changes were reported lately: otherwise it would cost every conversation its description, and find nothing.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tarsy.agent.ports import ChangeLog
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.domain.alert import StoredChange
from tarsy.domain.tool import RECENT_CHANGES_TOOL, ToolCatalog, ToolDefinition
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import Clock
from tarsy.kit.text import clip

# Older changes have shown their effects before; a week covers slow rollouts.
LOOK_BACK = timedelta(days=7)
# A working day and the night before it.
USUAL = timedelta(hours=24)
# About two pages. More are not read one by one, but narrowed down.
MAX_SHOWN = 50
_AGO = re.compile(r"(\d{1,5})\s*([mhd])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}

DEFINITION = ToolDefinition(
    name=RECENT_CHANGES_TOOL,
    description=(
        "What was changed recently: deployments, Argo CD synchronisations, releases, feature flags, as they were reported to TARSy. "
        "The latest first, with time, outcome, labels and link. A change shortly before the trouble is a suspect, not a culprit."
    ),
    parameters_schema={
        "type": "object",
        "properties": {
            "since": {
                "type": "string",
                "description": "How far back, as 90m, 6h or 3d, or a time such as 2026-01-31T10:00:00Z. Default: 24h.",
            },
            "until": {"type": "string", "description": "Up to when, written the same way. Default: now."},
            "labels": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Only changes that have all of these labels, such as namespace or app.",
            },
            "search": {"type": "string", "description": "Only changes that hold this text (not a pattern)."},
        },
    },
    read_only=True,
    idempotent=True,
)


class RecentChanges:
    definition = DEFINITION
    is_recorded = True

    def __init__(self, changes: ChangeLog, *, there_are_any: bool, mask: Callable[[str], str], clock: Clock) -> None:
        self._changes = changes
        self._there_are_any = there_are_any
        self._mask = mask
        self._clock = clock

    @classmethod
    async def on(cls, changes: ChangeLog, *, mask: Callable[[str], str], clock: Clock) -> "RecentChanges":
        """Return the tool; it is offered if a change was reported lately."""
        return cls(changes, there_are_any=await changes.exist_since(clock.now() - LOOK_BACK), mask=mask, clock=clock)

    def is_offered(self, catalog: ToolCatalog) -> bool:
        del catalog
        return self._there_are_any

    async def run(self, arguments: str) -> str:
        read = parse_arguments(arguments, DEFINITION.parameters_schema) if arguments.strip() else {}
        if isinstance(read, ArgumentProblem):
            raise CallRefusedError(read.message)
        now = self._clock.now()
        since, until = _moment(read.get("since"), now, now - USUAL), _moment(read.get("until"), now, now)
        found = await self._changes.between(
            since, until, labels=read.get("labels") or None, search=str(read.get("search") or ""), limit=MAX_SHOWN + 1
        )
        return self._mask(shown(found, since, until))


def _moment(text: Any, now: datetime, default: datetime) -> datetime:
    if text is None:
        return default
    try:
        if ago := _AGO.fullmatch(str(text).strip()):
            return now - timedelta(**{_UNITS[ago[2].lower()]: int(ago[1])})
        moment = datetime.fromisoformat(str(text).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CallRefusedError(f"{clip(str(text), 40)!r} is no time: write 90m, 6h, 3d, or a time such as 2026-01-31T10:00:00Z.") from None


def shown(found: Sequence[StoredChange], since: datetime, until: datetime) -> str:
    """Render changes as lines, with the time they cover: that none was reported does not mean that none was made."""
    span = f"from {_time(since)} to {_time(until)}"
    if not found:
        return f"No change that fits was reported {span}. Changes that are not reported to TARSy are not known here."
    lines: list[str] = []
    for change in found[:MAX_SHOWN]:
        labels = ", ".join(f"{name}={value}" for name, value in sorted(change.labels.items()))
        parts = (f"{_time(change.at)} {change.outcome} {change.source}: {change.title}", labels, change.link or "")
        lines.append("- " + " | ".join(part for part in parts if part))
    more = ["There are more: ask for a shorter time, a label or a text."] if len(found) > MAX_SHOWN else []
    return "\n".join([f"Changes reported {span}, the latest first:", *lines, *more])


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
