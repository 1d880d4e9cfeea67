"""An event loop whose time passes only while everything waits, and then at once: minutes of waiting take no time."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import anyio

T = TypeVar("T")
_START = datetime(2026, 1, 1, tzinfo=UTC)


class _JumpingSelector(selectors.DefaultSelector):
    elapsed = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            # Only another thread can go on.
            return super().select(None)
        ready = super().select(0)
        if not ready:
            self.elapsed += max(timeout, 0.0)
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.elapsed


class LoopClock:
    """The time of the running loop."""

    def now(self) -> datetime:
        return _START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return anyio.current_time()


def in_virtual_time(function: Callable[[], Awaitable[T]]) -> T:
    return anyio.run(function, backend_options={"loop_factory": _VirtualLoop})
