"""One HTTP/2 connection over asyncio: moves bytes between the socket and `Connection`, and wakes the readers of streams."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import cast

from tarsy.llm.http2 import frames
from tarsy.llm.http2.connection import Connection
from tarsy.llm.http2.keepalive import SILENCE, Keepalive
from tarsy.llm.http2.stream import Broken, ProtocolError, Stream

# For a peer to end a stream that has said all, and to take leave of us.
_FAREWELL = 1.0


class Link(asyncio.Protocol):
    """A connection that others open streams on. `is_open`: it takes new ones."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = Connection()
        self._transport: asyncio.Transport | None = None
        self._is_encrypted = False
        self._readers: dict[Stream, asyncio.Future[None]] = {}
        self._introduced = asyncio.Event()
        self._failure: str | None = None
        self._finishing: set[Stream] = set()
        self._is_stuck = False
        self._keepalive = Keepalive(self._loop.time())
        self._timer: asyncio.TimerHandle | None = None
        # There while a caller waits for a stream to end.
        self._freed: asyncio.Event | None = None
        self._closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._connection.is_ready and not self._connection.is_leaving

    @property
    def is_alive(self) -> bool:
        return not self._closed.is_set()

    @property
    def has_room(self) -> bool:
        return self._connection.has_room

    async def ready(self) -> None:
        """Until the peer has introduced itself.

        Raises:
            ConnectionError: it does not, or takes its leave with that, or is no HTTP/2 server.
        """
        await self._introduced.wait()
        if self._failure is not None or not self.is_open:
            raise ConnectionError(self._failure or f"it takes no calls: {self._connection.farewell}")

    async def freed(self) -> None:
        """Until a stream has ended, or the connection."""
        self._freed = self._freed or asyncio.Event()
        await self._freed.wait()

    def request(self, fields: bytes, body: bytes) -> Stream:
        stream = self._connection.request(fields, body)
        if self._timer is None:
            self._timer = self._loop.call_later(SILENCE, self._look)
        self._flush()
        return stream

    async def arrival(self, stream: Stream) -> None:
        """Until there is something new for the reader of a stream."""
        self._readers[stream] = waiter = self._loop.create_future()
        try:
            await waiter
        finally:
            del self._readers[stream]

    def take(self, stream: Stream) -> list[bytes]:
        pieces = self._connection.take(stream)
        self._flush()
        return pieces

    def cancel(self, stream: Stream) -> None:
        self._connection.cancel(stream)
        self._flush()
        self._settle()

    def finish(self, stream: Stream) -> None:
        """Its reader has heard all it wants: the peer gets a moment to end it, which to its handler is not the same as a cancelled call."""
        if not stream.is_over:
            self._finishing.add(stream)
            self._loop.call_later(_FAREWELL, self._end_of_patience, stream)

    async def aclose(self) -> None:
        """Take leave; streams that have more to say are cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                while self._finishing.intersection(self._connection.streams.values()):
                    await self.freed()
                self._give_up(Broken("the client was closed", frames.CANCEL), frames.NO_ERROR)
                await self._closed.wait()
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # ---- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._is_encrypted = transport.get_extra_info("ssl_object") is not None
        self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            news = self._connection.receive(data)
        except ProtocolError as error:
            self._give_up(Broken(str(error)), error.code)
            return
        self._keepalive.heard(self._loop.time(), says_something=bool(news))
        self._flush()
        self._wake(news)
        self._settle()

    def pause_writing(self) -> None:
        self._is_stuck = True

    def resume_writing(self) -> None:
        self._is_stuck = False
        self._connection.answers = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._end(Broken(_words(exc, is_introduced=self._introduced.is_set(), is_encrypted=self._is_encrypted)))
        self._closed.set()

    # ---- the parts of it

    def _end_of_patience(self, stream: Stream) -> None:
        self._finishing.discard(stream)
        self.cancel(stream)

    def _flush(self) -> None:
        outgoing = self._connection.outgoing
        if outgoing and self._transport is not None:
            self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))
            outgoing.clear()
            if not self._is_stuck:
                self._connection.answers = 0

    def _wake(self, news: Collection[Stream]) -> None:
        readers = self._readers
        for stream in news:
            reader = readers.get(stream)
            if reader is not None and not reader.done():
                reader.set_result(None)

    def _settle(self) -> None:
        """After streams may have ended, or the peer may have said something about itself."""
        connection = self._connection
        if connection.is_ready:
            self._introduced.set()
        self._free()
        if connection.is_leaving and not connection.streams and self._transport is not None:
            self._transport.close()

    def _give_up(self, broken: Broken, code: int) -> None:
        if self._transport is not None:
            self._connection.outgoing.append(frames.goaway(code))
            self._flush()
            self._transport.close()
        self._end(broken)

    def _end(self, broken: Broken) -> None:
        if not self._introduced.is_set():
            self._failure = broken.words
            self._introduced.set()
        if self._timer is not None:
            self._timer.cancel()
        self._wake(self._connection.lose(broken))
        self._free()

    def _free(self) -> None:
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    def _look(self) -> None:
        """Whether the peer is still there, as long as a stream waits for it."""
        self._timer = None
        if not self._connection.streams:
            return
        look = self._keepalive.look(self._loop.time())
        if look.is_gone:
            self._end(Broken("it does not answer any more, not even a ping"))
            self.abort()
            return
        if look.ping:
            self._connection.ping()
            self._flush()
        self._timer = self._loop.call_later(look.again, self._look)


def _words(error: Exception | None, *, is_introduced: bool, is_encrypted: bool) -> str:
    words = "the connection was lost" if is_introduced else "the connection was lost without a word of HTTP/2"
    hint = "" if is_introduced or is_encrypted else "; does it expect TLS (grpcs://)?"
    return f"{words}{f': {error}' if error else ''}{hint}"
