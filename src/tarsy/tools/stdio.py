"""The stdio transport: a tool server as a child process that speaks JSON-RPC, one message a line.

The SDK's own transport hands the child more of our environment than its configuration names, has no limit on a line, logs what it
cannot parse, and leaves processes behind when we are killed; hence this one.
"""

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import anyio
import orjson

from tarsy.kit.characters import whole_characters
from tarsy.tools.server_process import END_SECONDS, Pipe, ServerProcess, server_process

# What every program may expect to find; all else is the configuration's to name.
INHERITED = ("PATH", "HOME", "LANG")

# One message. Above it, a server is out of order rather than talkative.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_STDERR_LINE = 64 * 1024

# A server that is told to end by the end of its input gets this long before its process tree is ended.
LEAVE_SECONDS = 1.0

# One that dies says why just before: its last words are on their way when its answers end.
LAST_WORDS_SECONDS = 0.5

# What is raised when the other end of a pipe, or ours, is closed.
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Observer:
    """Who is told what a server says outside the protocol."""

    on_stderr: Callable[[str], None]
    on_noise: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listener:
    """Who takes the messages of a server, and is told that there will be no more."""

    take: Callable[[Message], None]
    end: Callable[[], None]


def child_environment(named: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME and LANG of ours, and what the configuration names."""
    return {name: ours[name] for name in INHERITED if name in ours} | dict(named)


class Link:
    """The messages to and from a running server."""

    def __init__(self, process: ServerProcess, observer: Observer) -> None:
        self._process = process
        self._observer = observer
        self._listener: Listener | None = None
        self._is_over = False
        # What the pipe had no room for: the server reads later, or never.
        self._unsent = deque[bytes | memoryview]()
        self._more = anyio.Event()
        self._stderr_ended = anyio.Event()

    def attach(self, listener: Listener) -> None:
        """Give the messages to `listener` from now on."""
        self._listener = listener
        if self._is_over:
            listener.end()

    def post(self, message: Message) -> None:
        """Send a message, as soon as the server reads it. A message is sent whole, whatever becomes of the sender."""
        line = memoryview(orjson.dumps(message, default=str) + b"\n")
        try:
            rest = line if self._unsent else self._process.stdin.offer(line)
        except _GONE:
            self._end()
            return
        if rest:
            self._unsent.append(rest)
            self._more.set()

    async def send_rest(self) -> None:
        with suppress(*_GONE):
            while True:
                await self._more.wait()
                self._more = anyio.Event()
                while self._unsent:
                    await self._process.stdin.send(self._unsent[0])
                    self._unsent.popleft()
        # A server that no longer listens will not answer either.
        self._end()

    async def receive(self) -> None:
        try:
            async for line in _lines(self._process.stdout, MAX_MESSAGE_BYTES):
                self._hear(line)
        except OverflowError as error:
            self._observer.on_noise(f"{error}; the connection was given up")
        else:
            with anyio.move_on_after(LAST_WORDS_SECONDS):
                await self._stderr_ended.wait()
        self._end()
        # Let it write into the void, so that it can come to an end.
        await _drain(self._process.stdout)

    async def receive_stderr(self) -> None:
        try:
            async for line in _lines(self._process.stderr, MAX_STDERR_LINE):
                if line.strip():
                    self._observer.on_stderr(line.decode(errors="replace").rstrip())
        except OverflowError:
            self._observer.on_stderr("a line too long to show; what follows is not shown")
        self._stderr_ended.set()
        await _drain(self._process.stderr)

    def _hear(self, line: bytes) -> None:
        if self._listener is None or self._is_over:
            return
        message = _message(line)
        if message is not None:
            self._listener.take(message)
        elif line.strip():
            self._observer.on_noise(line.decode(errors="replace"))

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            if self._listener is not None:
                self._listener.end()

    def leave(self) -> None:
        """The session is over: nothing that comes is of interest any more."""
        self._listener = None


@asynccontextmanager
async def stdio_link(command: str, args: Sequence[str], env: Mapping[str, str], observer: Observer) -> AsyncGenerator[Link]:
    """Start the server, exchange messages with it, and leave no process behind.

    Raises:
        OSError: the process could not be started.
    """
    async with server_process(command, args, env) as process, anyio.create_task_group() as tasks:
        link = Link(process, observer)
        tasks.start_soon(link.receive, name=f"{command} stdout")
        tasks.start_soon(link.send_rest, name=f"{command} stdin")
        tasks.start_soon(link.receive_stderr, name=f"{command} stderr")
        try:
            yield link
        finally:
            link.leave()
            with anyio.CancelScope(shield=True):
                await _leave(process)
            tasks.cancel_scope.cancel()


async def _leave(process: ServerProcess) -> None:
    """End the server: by the end of its input, then through the supervisor."""
    process.stdin.close()
    if not await process.ended(LEAVE_SECONDS):
        process.end()
        await process.ended(END_SECONDS)


async def _lines(stream: Pipe, limit: int) -> AsyncGenerator[bytes]:
    """Cut a byte stream into lines without copying what came before.

    Raises:
        OverflowError: a line is longer than `limit`.
    """
    parts: list[bytes] = []
    size = 0
    with suppress(*_GONE):
        while True:
            *complete, rest = (await stream.receive()).split(b"\n")
            for number, line in enumerate(complete):
                # A flood of lines takes turns with the other tasks of this process.
                if number:
                    await anyio.lowlevel.checkpoint()
                yield b"".join((*parts, line)) if parts else line
                parts, size = [], 0
            if rest:
                parts.append(rest)
                size += len(rest)
            if size > limit:
                raise OverflowError(f"a line of more than {limit} bytes")


def _message(line: bytes) -> Message | None:
    """The message in a line, if there is one. A text that was cut inside a character, as JavaScript does, is read all the same."""
    found: object = None
    try:
        found = orjson.loads(line)
    except ValueError:
        with suppress(ValueError, RecursionError):
            found = json.loads(whole_characters(json.dumps(json.loads(line), ensure_ascii=False)))
    return cast("Message", found) if _is_message(found) else None


def _is_message(found: object) -> bool:
    """Whether this is a request, a notification, a result or an error."""
    match found:
        case {"jsonrpc": "2.0", "method": str()}:
            return isinstance(cast("Message", found).get("params", {}), dict)
        case {"jsonrpc": "2.0", "id": int() | str(), "result": dict()}:
            return True
        case {"jsonrpc": "2.0", "error": {"code": int(), "message": str()}}:
            return True
        case _:
            return False


async def _drain(stream: Pipe) -> None:
    with suppress(*_GONE):
        while True:
            await stream.receive()
