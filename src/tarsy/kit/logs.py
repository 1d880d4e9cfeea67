"""One line per event, with its fields: for people on a terminal, as JSON elsewhere."""

import logging
import os
import sys
from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any

from tarsy.kit.imports import absent

# structlog imports Rich wherever it is installed, to draw tracebacks; ours are plain, and Rich is a tenth of what a command loads.
with absent("rich"):
    import structlog

from tarsy.kit.log_limit import LogLimit


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
