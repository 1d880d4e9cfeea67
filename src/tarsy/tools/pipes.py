"""Our ends of a tool server's pipes. They act when the event loop says that they can, so no task has to wait for them."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# As much as a pipe holds.
PIPE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Reader:
    """Who gets the lines of a server, none longer than `limit`.

    `end` is told that there will be no more, and why, if it is not that the server has closed its end.
    """

    take: Callable[[bytes], None]
    end: Callable[[Exception | None], None]
    limit: int


class LinesIn:
    """The lines that a server writes. A flood of them takes turns with the rest of this process: each turn of the event loop brings one.

    While any waits for its turn, no more is read: a server that writes faster has to wait, and does not fill our memory.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader: Reader | None = None
        self._waiting = deque[bytes]()
        # The beginning of a line whose end has not come.
        self._parts: list[bytes] = []
        self._size = 0

    def start(self, reader: Reader) -> None:
        """Give the lines to `reader` from now on."""
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read, self._loop)

    def close(self) -> None:
        self._waiting.clear()
        self._stop()
        os.close(self._fd)

    def _stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._fd)
            self._loop = None

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._waiting:
            return
        try:
            data = os.read(self._fd, PIPE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._stop()
            self._end(None)
        # Without a reader it writes into the void, so that it can come to an end.
        elif self._reader is not None:
            self._cut(data, self._reader, loop)

    def _cut(self, data: bytes, reader: Reader, loop: asyncio.AbstractEventLoop) -> None:
        """Cut what came into lines without copying what came before."""
        *complete, rest = data.split(b"\n")
        if complete:
            if self._parts:
                complete[0] = b"".join((*self._parts, complete[0]))
                self._parts, self._size = [], 0
            self._waiting.extend(complete)
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
        if self._size > reader.limit:
            self._end(OverflowError(f"a line of more than {reader.limit} bytes"))
        elif complete:
            self._give(loop)

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._reader is None or not self._waiting:
            return
        line = self._waiting.popleft()
        if self._waiting:
            loop.call_soon(self._give, loop)
        try:
            self._reader.take(line)
        except Exception as error:  # noqa: BLE001 - a boundary: the event loop called us, and could only log it
            self._end(error)

    def _end(self, why: Exception | None) -> None:
        reader, self._reader = self._reader, None
        self._waiting.clear()
        self._parts.clear()
        if reader is not None:
            reader.end(why)


class BytesOut:
    """What a server reads. It is sent whole and in order, whatever becomes of the sender, as soon as there is room for it."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        # What the pipe had no room for: the server reads later, or never.
        self._unsent = deque[bytes | memoryview]()
        self._on_gone: Callable[[], None] | None = None

    def send(self, data: bytes, on_gone: Callable[[], None]) -> None:
        """Send `data` now or later; `on_gone` is told, now or later, if the server does not read any more."""
        if self._fd is None:
            on_gone()
            return
        self._unsent.append(data)
        self._on_gone = on_gone
        if self._loop is None and not self._is_sent(self._fd):
            self._loop = asyncio.get_running_loop()
            self._loop.add_writer(self._fd, self._send_rest, self._fd)

    def close(self) -> None:
        if self._fd is not None:
            self._stop(self._fd)
            os.close(self._fd)
            self._fd = None

    def _send_rest(self, fd: int) -> None:
        if self._is_sent(fd):
            self._stop(fd)

    def _stop(self, fd: int) -> None:
        if self._loop is not None:
            self._loop.remove_writer(fd)
            self._loop = None

    def _is_sent(self, fd: int) -> bool:
        """Whether nothing is left to send, after this has sent what there is room for."""
        unsent = self._unsent
        try:
            while unsent:
                data = unsent[0]
                written = os.write(fd, data)
                if written < len(data):
                    unsent[0] = memoryview(data)[written:]
                    return False
                unsent.popleft()
        except BlockingIOError:
            return False
        except OSError:
            unsent.clear()
            if self._on_gone is not None:
                self._on_gone()
        return True
