"""Lets one task through per turn of the event loop: before work of some milliseconds that many tasks may have to do at once."""

import asyncio
from collections import deque


class Turnstile:
    """One for all that are to take turns. What else is ready runs in between."""

    def __init__(self) -> None:
        self._is_free = True
        self._waiting = deque[asyncio.Future[None]]()

    async def pass_through(self) -> None:
        """Go on at once, or after those that came before."""
        loop = asyncio.get_running_loop()
        if self._is_free:
            self._is_free = False
            loop.call_soon(self._next)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        # Those that were cancelled are done.
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if not self._waiting:
            self._is_free = True
            return
        self._waiting.popleft().set_result(None)
        asyncio.get_running_loop().call_soon(self._next)
