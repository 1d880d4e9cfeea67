"""Wakes idle workers one at a time: a notification about one session should not send all workers to the database."""

from collections import deque
from math import inf

import anyio


class Wakeup:
    """Idle workers wait here. One of them polls now and then; if it finds work, it wakes the next one, so that no other has to poll."""

    def __init__(self) -> None:
        self._waiting: deque[anyio.Event] = deque()
        self._missed = False
        self._has_poller = False

    def wake_one(self) -> None:
        """Wake one idle worker; if none is idle, the next call of `wait` returns at once."""
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._missed = True

    def wake_all(self) -> None:
        """Wake all idle workers; if none is idle, the next call of `wait` returns at once."""
        self._missed = self._missed or not self._waiting
        while self._waiting:
            self._waiting.popleft().set()

    async def wait(self, seconds: float) -> None:
        """Wait to be woken; the worker that polls waits at most `seconds`."""
        if self._missed:
            self._missed = False
            return
        woken = anyio.Event()
        self._waiting.append(woken)
        is_poller, self._has_poller = not self._has_poller, True
        try:
            with anyio.move_on_after(seconds if is_poller else inf):
                await woken.wait()
        finally:
            # The poller returns after its claim, or has woken another worker that will.
            self._has_poller = self._has_poller and not is_poller
            if woken in self._waiting:
                self._waiting.remove(woken)
