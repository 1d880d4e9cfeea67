"""Hears of stored events only while a client of this process follows a channel: what no client here watches does not wake it."""

from collections.abc import Callable

import anyio

from tarsy.events.ports import NotificationSource

# A page that is loaded anew, or a connection that is made again, finds the process still listening.
LINGER_SECONDS = 60.0


class Hearing:
    """`is_followed`: whether any channel has a follower here."""

    def __init__(self, source: NotificationSource, notification: str, is_followed: Callable[[], bool]) -> None:
        self._source = source
        self._notification = notification
        self._is_followed = is_followed
        self._hears = False
        self._turn = anyio.Lock(fast_acquire=True)

    async def begin(self) -> None:
        """Whatever is written from now on will be heard of."""
        if self._hears:
            return
        async with self._turn:
            if not self._hears:
                await self._source.want(self._notification, wanted=True)
                self._hears = True

    async def end_unless_followed(self) -> None:
        async with self._turn:
            if self._hears and not self._is_followed():
                self._hears = False
                await self._source.want(self._notification, wanted=False)

    async def run(self) -> None:
        """Stop listening when the last follower has been gone for a while; until cancelled."""
        while True:
            await anyio.sleep(LINGER_SECONDS)
            await self.end_unless_followed()
