"""The way to a service: one connection, made when it is needed, and made anew when it is gone."""

import asyncio
from collections.abc import Awaitable, Callable

from tarsy.llm.http2.link import Link
from tarsy.llm.http2.stream import Stream

# A service that comes back is found within two seconds.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
# Across continents, with TLS and a lost packet or two.
CONNECT_TIMEOUT = 10.0


class UnreachableError(Exception):
    """There is no connection to the service, and why."""


class Channel:
    """Opens streams on a connection that `dial` makes."""

    def __init__(self, dial: Callable[[], Awaitable[Link]]) -> None:
        self._dial = dial
        self._link: Link | None = None
        # Those that are leaving too, as long as they have streams.
        self._links: list[Link] = []
        self._dialling = asyncio.Lock()
        self._pause = FIRST_PAUSE
        self._not_before = 0.0
        self._reason = ""

    async def request(self, fields: bytes, body: bytes) -> tuple[Link, Stream]:
        """Open a stream; waits where the peer takes no more of them at once.

        Raises:
            UnreachableError: there is no connection, and none can be made, or it is too early to try again.
        """
        while True:
            link = self._link
            if link is None or not link.is_open:
                link = await self._connect()
            if link.has_room:
                return link, link.request(fields, body)
            await link.freed()

    async def aclose(self) -> None:
        links, self._links, self._link = self._links, [], None
        for link in links:
            await link.aclose()

    async def _connect(self) -> Link:
        """One caller connects, the others wait for it and share what came of it."""
        async with self._dialling:
            if self._link is not None and self._link.is_open:
                return self._link
            now = asyncio.get_running_loop().time()
            if now < self._not_before:
                raise UnreachableError(self._reason)
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    self._link = await self._dial()
            except OSError as error:
                # A TimeoutError is one too, without words.
                raise self._failed(str(error) or f"no connection within {CONNECT_TIMEOUT:g} s") from error
            self._pause, self._not_before = FIRST_PAUSE, 0.0
            self._links = [link for link in self._links if link.is_alive] + [self._link]
            return self._link

    def _failed(self, reason: str) -> UnreachableError:
        self._reason = reason
        self._not_before = asyncio.get_running_loop().time() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        return UnreachableError(reason)
