"""Structured logs: one line per event with its fields, for people on a terminal and as JSON otherwise; repeated lines are limited."""

import logging
import os
import sys
import time
from collections.abc import Callable, Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import structlog

# Enough to notice a fault, too few to fill a disk or to hide other lines.
LINES_PER_WINDOW = 10
WINDOW_SECONDS = 60.0
# More kinds of lines than a program has.
MOST_KINDS = 1_000
# Lines are of the same kind if these fields are equal; ids and times differ in every line.
_DISTINGUISHING = ("error", "problem", "reason", "server", "remark", "path", "logger")
# Some libraries log whole requests.
MAX_LIBRARY_MESSAGE = 2_000


@contextmanager
def logged_errors(event: str, **fields: object) -> Generator[None]:
    """Log an error of the block as a warning and go on: for work that another process, or the next round, does if this one cannot."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the boundary of a periodic task, which must outlive any error
        structlog.get_logger().warning(event, **fields, error=str(error) or type(error).__name__)


@dataclass(slots=True)
class _Window:
    started: float
    lines: int = 0
    dropped: int = 0


class LogLimit:
    """A structlog processor that passes each kind of line only so often. The next line that passes contains the number of lines left out."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._windows: dict[tuple[str, ...], _Window] = {}

    def __call__(self, _logger: object, method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        key = (method, *(str(line.get(name, "")) for name in ("event", *_DISTINGUISHING)))
        now, window = self._now(), self._windows.get(key)
        if window is None or now - window.started >= WINDOW_SECONDS:
            if window and window.dropped:
                line["left_out"] = window.dropped
            if len(self._windows) >= MOST_KINDS:
                self._windows.clear()
            window = self._windows[key] = _Window(now)
        if window.lines >= LINES_PER_WINDOW:
            window.dropped += 1
            raise structlog.DropEvent
        window.lines += 1
        return line


class LogMask:
    """A structlog processor that masks secrets in the fields of a line, its traceback included, once it was given a mask."""

    def __init__(self) -> None:
        self.mask: Callable[[str], str] = str

    def __call__(self, _logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name, value in line.items():
            # Ids resemble secrets; the name of an event is never one.
            if not name.endswith("_id") and name not in {"event", "level", "timestamp"}:
                line[name] = self._masked(value)
        return line

    def _masked(self, value: Any) -> Any:
        match value:
            case str():
                return self.mask(value)
            case Mapping():
                return {name: self._masked(inner) for name, inner in cast("Mapping[Any, Any]", value).items()}
            case list() | tuple():
                return [self._masked(inner) for inner in cast("Sequence[Any]", value)]
            case _:
                return value


class LibraryLogs(logging.Handler):
    """Writes what libraries log to the standard library's loggers, and Python's warnings, as lines of ours: in their form, masked and limited."""

    def emit(self, record: logging.LogRecord) -> None:
        # Libraries have levels of their own between the usual ones.
        level = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)
        message = record.getMessage()[:MAX_LIBRARY_MESSAGE]
        structlog.get_logger().log(level, "library.log", logger=record.name, message=message, exc_info=record.exc_info)


# One for the process: logging starts before the configuration of masking is read.
log_mask = LogMask()


def configure_logs(*, level: int = logging.INFO, process: str | None = None) -> None:
    """Write structured logs to standard error. Tracebacks come without the values of variables, which can be secret.

    `process` is added to each line, for several processes that write to the same place.
    """

    def add_process(_logger: object, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {**line, "process": process}

    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=not os.environ.get("NO_COLOR"), exception_formatter=structlog.dev.plain_traceback)
        if sys.stderr.isatty()
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            LogLimit(),
            structlog.contextvars.merge_contextvars,
            *([add_process] if process else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            log_mask,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Evaluated each time: standard error can be replaced while the program runs.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    if not any(isinstance(handler, LibraryLogs) for handler in root.handlers):
        root.addHandler(LibraryLogs())
    # What libraries say of their ordinary work (each request, each retry) is of no use to an operator.
    root.setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)
