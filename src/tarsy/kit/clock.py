"""Clocks: the system clock, and one that tests control."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The wall time, and a monotonic reading in seconds."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(slots=True)
class FixedClock:
    """A clock that changes only when a test sets it."""

    at: datetime = field(default=datetime(2026, 1, 1, tzinfo=UTC))
    elapsed: float = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.elapsed


def milliseconds_since(started: float, clock: Clock) -> int:
    """Return the whole milliseconds since a `monotonic()` reading."""
    return round((clock.monotonic() - started) * 1000)
