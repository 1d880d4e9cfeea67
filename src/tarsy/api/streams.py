"""Answers without an end, and how they end all the same: with the server, in order."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class Streams:
    """What the endless answers of a server wait in. Cut off instead, each would leave a traceback in the log."""

    def __init__(self) -> None:
        self.ended = False
        self._waits: set[anyio.CancelScope] = set()

    def end(self) -> None:
        """Let every stream say its last word."""
        self.ended = True
        for wait in self._waits:
            wait.cancel()

    @contextmanager
    def waiting(self, seconds: float) -> Generator[None]:
        """Wait inside for `seconds` at most, and no longer than the server lives."""
        with anyio.move_on_after(0 if self.ended else seconds) as wait:
            self._waits.add(wait)
            try:
                yield
            finally:
                self._waits.discard(wait)
