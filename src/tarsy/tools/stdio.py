"""The stdio transport: a tool server as a child process that speaks JSON-RPC, one message a line.

The SDK's own transport hands the child more of our environment than its configuration names, has no limit on a line, logs what it
cannot parse, and leaves processes behind when we are killed; hence this one.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import orjson

from tarsy.kit.text import whole_characters
from tarsy.tools.pipes import Reader
from tarsy.tools.server_process import END_SECONDS, ServerProcess, server_process

# What every program may expect to find; all else is the configuration's to name.
INHERITED = ("PATH", "HOME", "LANG")

# One message. Above it, a server is out of order rather than talkative.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_STDERR_LINE = 64 * 1024

# A server that is told to end by the end of its input gets this long before its process tree is ended.
LEAVE_SECONDS = 1.0

# One that dies says why just before: its last words are on their way when its answers end.
LAST_WORDS_SECONDS = 0.5

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
        self._stderr_ended = False
        # Runs from the last of its answers to the last of its words.
        self._last_words: asyncio.TimerHandle | None = None
        # What we ourselves could not cope with.
        self.trouble: Exception | None = None

    def start(self) -> None:
        self._process.stdout.start(Reader(self._hear, self._end_stdout, MAX_MESSAGE_BYTES))
        self._process.stderr.start(Reader(self._hear_stderr, self._end_stderr, MAX_STDERR_LINE))

    def attach(self, listener: Listener) -> None:
        """Give the messages to `listener` from now on."""
        self._listener = listener
        if self._is_over:
            listener.end()

    def post(self, message: Message) -> None:
        """Send a message, as soon as the server reads it. A message is sent whole, whatever becomes of the sender."""
        # A server that no longer listens will not answer either.
        self._process.stdin.send(orjson.dumps(message, default=str, option=orjson.OPT_APPEND_NEWLINE), self._end)

    def _hear(self, line: bytes) -> None:
        if self._listener is None or self._is_over:
            return
        message = _message(line)
        if message is not None:
            self._listener.take(message)
        elif line.strip():
            self._observer.on_noise(line.decode(errors="replace"))

    def _hear_stderr(self, line: bytes) -> None:
        if line.strip():
            self._observer.on_stderr(line.decode(errors="replace").rstrip())

    def _end_stdout(self, why: Exception | None) -> None:
        match why:
            case None if not self._stderr_ended and not self._is_over:
                self._last_words = asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self._end)
                return
            case None:
                pass
            case OverflowError():
                self._observer.on_noise(f"{why}; the connection was given up")
            case _:
                self.trouble = why
        self._end()

    def _end_stderr(self, why: Exception | None) -> None:
        self._stderr_ended = True
        match why:
            case None:
                pass
            case OverflowError():
                self._observer.on_stderr("a line too long to show; what follows is not shown")
            case _:
                self.trouble = why
        if self._last_words is not None or self.trouble is not None:
            self._end()

    def _end(self) -> None:
        if self._last_words is not None:
            self._last_words.cancel()
        if not self._is_over:
            self._is_over = True
            if self._listener is not None:
                self._listener.end()

    def leave(self) -> None:
        """The session is over: nothing that comes is of interest any more."""
        self._listener = None
        self._end()


@asynccontextmanager
async def stdio_link(command: str, args: Sequence[str], env: Mapping[str, str], observer: Observer) -> AsyncGenerator[Link]:
    """Start the server, exchange messages with it, and leave no process behind.

    Raises:
        OSError: the process could not be started.
    """
    async with server_process(command, args, env) as process:
        link = Link(process, observer)
        link.start()
        try:
            yield link
        finally:
            link.leave()
            await _leave(process)
        if link.trouble is not None:
            raise link.trouble


async def _leave(process: ServerProcess) -> None:
    """End the server, come what may: by the end of its input, then through the supervisor."""
    process.stdin.close()
    if not await process.ended(LEAVE_SECONDS):
        process.end()
        await process.ended(END_SECONDS)


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
