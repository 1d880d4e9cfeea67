"""An event that one task waits for again and again."""

import anyio


class AutoResetEvent:
    """Wakes the task that waits, or its next wait if it does not wait now, once for any number of calls of `set`."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the event is set, at most `seconds`, and reset it."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        self._event = anyio.Event()
