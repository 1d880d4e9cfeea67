"""Pure module: whether two runs said the same."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarsy.domain.recording import RecordedOutcome
from tarsy.kit.text import clip

_SHOWN = 200


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
    found += _compare("timeline, event", recorded.timeline, replayed.timeline)
    return found


def _compare(where: str, recorded: Sequence[Mapping[str, Any]], replayed: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for number in range(max(len(recorded), len(replayed))):
        before = recorded[number] if number < len(recorded) else None
        after = replayed[number] if number < len(replayed) else None
        if before != after:
            yield Difference(f"{where} {number + 1}", _told(before), _told(after))


def _told(entry: Mapping[str, Any] | None) -> str:
    return "nothing" if entry is None else ", ".join(f"{key}={value!r}" for key, value in entry.items())
