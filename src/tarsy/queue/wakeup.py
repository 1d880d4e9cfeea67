"""Wakes idle workers, one per ring: a notification for one session should not send all workers to the database.

One of those that sleep is the lookout, who wakes up now and then without being rung for. What it finds it rings for, so that no other has to look.
"""

from collections import deque
from math import inf

import anyio


class Wakeup:
    def __init__(self) -> None:
        self._sleepers: deque[anyio.Event] = deque()
        self._missed = False
        self._has_lookout = False

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
        """Sleep until rung for; the lookout at most `seconds`."""
        if self._missed:
            self._missed = False
            return
        rung = anyio.Event()
        self._sleepers.append(rung)
        is_lookout, self._has_lookout = not self._has_lookout, True
        try:
            with anyio.move_on_after(seconds if is_lookout else inf):
                await rung.wait()
        finally:
            # It comes back after its look, or has rung for another that will.
            self._has_lookout = self._has_lookout and not is_lookout
            if rung in self._sleepers:
                self._sleepers.remove(rung)
