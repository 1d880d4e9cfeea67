"""Wakes idle workers, one per ring: a notification for one session should not send all workers to the database."""

from collections import deque

import anyio


class Wakeup:
    def __init__(self) -> None:
        self._sleepers: deque[anyio.Event] = deque()
        self._missed = False

    def ring(self) -> None:
        """Wake one idle worker; if none is idle, the next one that would wait does not."""
        if self._sleepers:
            self._sleepers.popleft().set()
        else:
            self._missed = True

    def ring_all(self) -> None:
        """Wake all idle workers; if none is idle, the next one that would wait looks once more."""
        self._missed = self._missed or not self._sleepers
        while self._sleepers:
            self._sleepers.popleft().set()

    async def wait(self, seconds: float) -> None:
        """Sleep until rung for, at most `seconds`."""
        if self._missed:
            self._missed = False
            return
        rung = anyio.Event()
        self._sleepers.append(rung)
        try:
            with anyio.move_on_after(seconds):
                await rung.wait()
        finally:
            if rung in self._sleepers:
                self._sleepers.remove(rung)
