"""Our ends of a tool server's pipes. They act on the event loop's readiness callbacks, so that no task has to wait for them."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# The capacity of a pipe.
PIPE_BYTES = 64 * 1024


class ServerFloodError(Exception):
    """A server writes more than any that works: a line that is too long, or too much without an answer. Nothing more of it is read."""


@dataclass(frozen=True, slots=True)
class LineHandler:
    """Receives the lines of a server with their sizes. Of a line above `longest` it gets only the ends.

    `on_end` is called after the last line, with the reason unless the server closed its end: a ServerFloodError after a line above `limit`.
    """

    on_line: Callable[[bytes, int], None]
    on_end: Callable[[Exception | None], None]
    longest: int
    limit: int


class LineReader:
    """Reads the lines that a server writes. Each turn of the event loop handles one, so that a flood of them leaves room for other tasks.

    Nothing is read while lines wait for their turn: a server that writes faster has to wait, and does not fill our memory.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handler: LineHandler | None = None
        # Lines with their sizes.
        self._waiting = deque[tuple[bytes, int]]()
        # The parts of a line that is not complete yet.
        self._parts: list[bytes] = []
        self._size = 0

    def start(self, handler: LineHandler) -> None:
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read, self._loop)

    def close(self) -> None:
        self._waiting.clear()
        self._unregister()
        os.close(self._fd)

    def _unregister(self) -> None:
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
            self._end_of_file(loop)
            return
        if self._handler is None:
            # Dropped, so that a full pipe does not keep the server from ending.
            return
        # The parts of the last line are joined only when it is complete: copying them each time would be quadratic.
        *complete, rest = data.split(b"\n")
        if complete:
            first = b"".join((*self._parts, complete[0]))
            self._waiting.append((first, self._size + len(complete[0])))
            self._waiting.extend((line, len(line)) for line in complete[1:])
            self._parts, self._size = [], 0
        self._parts += [rest] if rest else []
        self._size += len(rest)
        if self._size > self._handler.longest:
            # As the handler does not parse it, its ends suffice: they tell which request it answers.
            del self._parts[1:-1]
        if self._size > self._handler.limit:
            self._give_up(ServerFloodError(f"a line of more than {self._handler.limit} bytes"))
        elif complete:
            self._handle_next(loop)

    def _handle_next(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._handler is None or not self._waiting:
            return
        line, size = self._waiting.popleft()
        if self._waiting:
            loop.call_soon(self._handle_next, loop)
        try:
            self._handler.on_line(line, size)
        except Exception as error:  # noqa: BLE001 - a boundary: the event loop called us, and could only log it
            self._give_up(error)

    def _end_of_file(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the last line, which lacks its end if the server died while it wrote, and end."""
        self._unregister()
        if self._parts:
            self._waiting.append((b"".join(self._parts), self._size))
            self._handle_next(loop)
        self._give_up(None)

    def _give_up(self, reason: Exception | None) -> None:
        handler, self._handler = self._handler, None
        self._waiting.clear()
        self._parts.clear()
        if handler is not None:
            handler.on_end(reason)


class PipeWriter:
    """Writes to a server. Data is sent whole and in order as soon as there is room, even if its sender is cancelled."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._loop: asyncio.AbstractEventLoop | None = None
        # What the pipe had no room for: the server reads it later, or never.
        self._unsent = deque[bytes | memoryview]()
        self._on_closed: Callable[[], None] | None = None

    def send(self, data: bytes, on_closed: Callable[[], None]) -> None:
        """Send `data` now or later. `on_closed` is called, now or later, if the server does not read any more."""
        if self._fd is None:
            on_closed()
            return
        self._unsent.append(data)
        self._on_closed = on_closed
        if self._loop is None and not self._flush(self._fd):
            self._loop = asyncio.get_running_loop()
            self._loop.add_writer(self._fd, self._flush, self._fd)

    def close(self) -> None:
        if self._fd is not None:
            self._unregister(self._fd)
            os.close(self._fd)
            self._fd = None

    def _unregister(self, fd: int) -> None:
        if self._loop is not None:
            self._loop.remove_writer(fd)
            self._loop = None

    def _flush(self, fd: int) -> bool:
        """Send as much as there is room for, and return whether nothing is left to send."""
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
            if self._on_closed is not None:
                self._on_closed()
        self._unregister(fd)
        return True
