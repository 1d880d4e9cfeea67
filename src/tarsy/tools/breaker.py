"""A circuit breaker: a server that could not be reached several times in a row is not connected to for a while."""

import structlog

from tarsy.tools.failures import ToolServerError, Unreachable

log = structlog.get_logger(__name__)

# While a server restarts, one or two attempts fail.
MAX_FAILURES = 3
# Short, because an agent that starts meanwhile works without the server's tools. An attempt at a server that hangs takes 30 s.
OPEN_SECONDS = 10.0


class Breaker:
    """Counts the failed connections to one server since the last that worked. Times are readings of a monotonic clock."""

    def __init__(self) -> None:
        self._failures = 0
        self._last: ToolServerError | None = None
        self._open_until = 0.0

    def check(self, now: float) -> None:
        """Permit an attempt to connect. After the pause, a single one is let through, and its result decides.

        Raises:
            Unreachable: the pause is not over; the text has the reason for it.
        """
        if self._last is None or self._failures < MAX_FAILURES:
            return
        if now < self._open_until:
            wait = f"It could not be reached {self._failures} times in a row and is tried again in {self._open_until - now:.0f} s."
            raise Unreachable(self._last.server, f"{self._last} {wait}")
        self._open_until = now + OPEN_SECONDS

    def succeeded(self) -> None:
        self._failures, self._last = 0, None

    def failed(self, error: ToolServerError, now: float) -> None:
        """Count a failure, once for all executions that share the connection."""
        if error is self._last:
            return
        self._failures, self._last = self._failures + 1, error
        if self._failures >= MAX_FAILURES:
            self._open_until = now + OPEN_SECONDS
            log.warning("tool_server.left_alone", server=error.server, failures=self._failures, seconds=OPEN_SECONDS)
