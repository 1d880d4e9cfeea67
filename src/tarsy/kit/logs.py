"""One line per event, with its fields: for people on a terminal, as JSON elsewhere."""

import logging
import os
import sys
from functools import partial
from types import ModuleType
from typing import cast

# structlog imports Rich wherever it is installed, to draw tracebacks; ours are plain, and Rich is a tenth of what a command loads.
_absent = {} if "rich" in sys.modules else {"rich": None}
sys.modules.update(cast("dict[str, ModuleType]", _absent))
import structlog  # noqa: E402 - see above

for _name in _absent:
    del sys.modules[_name]


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
            structlog.contextvars.merge_contextvars,
            *([partial(_signed, process)] if process else []),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Whatever standard error is at the time: it can be replaced while the program runs.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
