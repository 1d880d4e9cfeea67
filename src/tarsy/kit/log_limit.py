"""Lets a line that repeats through only so often: a fault that comes a thousand times a minute is one fault."""

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import structlog

# Enough to see that something goes on, too little to fill a disk or hide the rest.
LINES_PER_WINDOW = 10
WINDOW_SECONDS = 60.0
# More kinds of lines than a program has; a kind that was forgotten begins anew.
MOST_KINDS = 1_000
# What makes two lines of one event the same; ids and times make each line another.
_TELLING = ("error", "problem", "reason", "server", "remark", "path")


@dataclass(slots=True)
class _Window:
    begun: float
    lines: int = 0
    dropped: int = 0


class LogLimit:
    """A structlog processor. The first line after a pause tells how many were left out."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._windows: dict[tuple[str, ...], _Window] = {}

    def __call__(self, _logger: object, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        key = (method, *(str(line.get(name, "")) for name in ("event", *_TELLING)))
        now, window = self._now(), self._windows.get(key)
        if window is None or now - window.begun >= WINDOW_SECONDS:
            if window and window.dropped:
                line["left_out"] = window.dropped
            window = self._begin(key, now)
        if window.lines >= LINES_PER_WINDOW:
            window.dropped += 1
            raise structlog.DropEvent
        window.lines += 1
        return line

    def _begin(self, key: tuple[str, ...], now: float) -> _Window:
        if len(self._windows) >= MOST_KINDS:
            self._windows.clear()
        self._windows[key] = _Window(now)
        return self._windows[key]
