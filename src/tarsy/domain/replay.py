"""Pure module: whether two runs said the same."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tarsy.domain.recording import RecordedOutcome
from tarsy.kit.text import clip

_SHOWN = 200
# Several results are summarised at the same time, and every run has its own order of that.
_SIDE_BY_SIDE = frozenset({"mcp_tool_summary", "llm_thinking"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a replay departs from its recording."""

    where: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"{self.where}\n  recorded: {clip(self.recorded, _SHOWN)}\n  replayed: {clip(self.replayed, _SHOWN)}"


def differences(recorded: RecordedOutcome, replayed: RecordedOutcome) -> list[Difference]:
    """Everything in which `replayed` departs from `recorded`, conversation by conversation."""
    found = [
        Difference(name, str(getattr(recorded, name)), str(getattr(replayed, name)))
        for name in ("status", "final_analysis", "executive_summary")
        if getattr(recorded, name) != getattr(replayed, name)
    ]
    for track in sorted({*recorded.conversations, *replayed.conversations}):
        found += _compare(f"conversation {track}, message", recorded.conversations.get(track, ()), replayed.conversations.get(track, ()))
    found += _compare("timeline, event", _without_chance(recorded.timeline), _without_chance(replayed.timeline))
    return found


def _without_chance(timeline: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What agents said, with an order of its own for what ran side by side. What no agent said is no part of a replay."""
    ordered: list[Mapping[str, Any]] = []
    said = (event for event in timeline if event["track"])
    for (_, side_by_side), events in groupby(said, lambda event: (event["track"], event.get("event_type") in _SIDE_BY_SIDE)):
        together = list(events)
        ordered += sorted(together, key=lambda event: (event["event_type"], event["content"])) if side_by_side else together
    return ordered


def _compare(where: str, recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else None
        after = replayed[number] if number < len(replayed) else None
        if before != after:
            yield Difference(f"{where} {number + 1}", _told(before), _told(after))


def _told(entry: Mapping[str, Any] | None) -> str:
    return "nothing" if entry is None else ", ".join(f"{key}={value!r}" for key, value in entry.items())
