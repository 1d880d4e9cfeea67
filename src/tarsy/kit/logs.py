"""Structured logs: one line per event with its fields, for people on a terminal and as JSON otherwise; repeated lines are limited."""

import logging
import os
import sys
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import partial
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


class LogMask:
    """A structlog processor that hides secrets in whatever a line says, its traceback included, once it was given a mask."""

    def __init__(self) -> None:
        self.mask: Callable[[str], str] = str

    def __call__(self, _logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name, value in line.items():
            # An id looks like a secret and is none; the event's name is our own word.
            if isinstance(value, str) and not name.endswith("_id") and name not in {"event", "level", "timestamp"}:
                line[name] = self.mask(value)
        return line


# One for the process: the logs begin before the configuration that says what is masked is read.
log_mask = LogMask()


def _signed(process: str, _logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {**event, "process": process}


def configure_logs(*, as_json: bool | None = None, level: int = logging.INFO, process: str | None = None) -> None:
    """Send structured logs to standard error. Tracebacks come without the values of variables: those can be secret.

    Where several processes write to the same place, each line says which `process` it comes from.
    """
    to_terminal = sys.stderr.isatty() if as_json is None else not as_json
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"), exception_formatter=structlog.dev.plain_traceback)
        if to_terminal
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            LogLimit(),
            structlog.contextvars.merge_contextvars,
            *([partial(_signed, process)] if process else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            log_mask,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Whatever standard error is at the time: it can be replaced while the program runs.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
