"""The stdio transport: a tool server as a child process that exchanges JSON-RPC messages, one per line.

The SDK's own transport passes more of our environment to the child than its configuration names, has no limit on a line, logs lines that
it cannot parse, and leaves processes behind when we are killed.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import orjson

from tarsy.kit.json_limits import has_more_values
from tarsy.kit.text import whole_characters
from tarsy.tools.pipes import LineHandler, ServerFloodError
from tarsy.tools.server_process import END_SECONDS, ServerProcess, server_process

# Variables of ours that every program may expect; the configuration names all others.
INHERITED = ("PATH", "HOME", "LANG")

# One message. A result of as many characters as a model is shown (`MAX_CONTENT`) takes a third of it, with each character escaped.
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
# A server that writes a longer line is broken; its connection is given up.
MAX_LINE_BYTES = 64 * 1024 * 1024
# Parsing so many values takes some 30 ms, in which nothing else happens; a megabyte of JSON seldom has more.
MAX_MESSAGE_VALUES = 100_000
# A server that sends so many requests, notifications and other lines between two answers is broken; its connection is given up.
MAX_UNANSWERED = 10_000
MAX_STDERR_LINE = 64 * 1024

# JSON-RPC's code for a message that is not valid.
INVALID_MESSAGE = -32600
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
# The id of an answer that is not parsed, before its result and after it, and how much of the message it is looked for in.
_ID_BEFORE = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb',\s*)?"id"\s*:\s*"?(\d{1,18})"?\s*,')
_ID_AFTER = re.compile(rb',\s*"id"\s*:\s*"?(\d{1,18})"?\s*(?:,\s*' + _VERSION + rb")?\}\s*\Z")
_END_BYTES = 256

# How long a server may take to exit after the end of its input, before its process tree is killed.
EXIT_SECONDS = 1.0

# A server that dies writes the reason to stderr just before: it may still be on its way when stdout ends.
LAST_STDERR_SECONDS = 0.5

JsonMessage = Mapping[str, Any]


def child_environment(named: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the configuration names, and PATH, HOME and LANG of ours."""
    return {name: ours[name] for name in INHERITED if name in ours} | dict(named)


class Link:
    """The messages to and from a running server.

    `on_stderr` and `on_stray_stdout` are called with the lines that it writes outside the protocol.
    """

    def __init__(self, process: ServerProcess, on_stderr: Callable[[str], None], on_stray_stdout: Callable[[str], None]) -> None:
        self._process = process
        self._on_stderr = on_stderr
        self._on_stray_stdout = on_stray_stdout
        self._on_message: Callable[[JsonMessage], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._closed = False
        self._unanswered = 0
        self._stderr_ended = False
        # Set after stdout ended, while stderr may still bring the reason.
        self._waiting_for_stderr: asyncio.TimerHandle | None = None
        # An error of ours while handling a line.
        self.error: Exception | None = None
        self._process.stdout.start(LineHandler(self._handle_stdout, self._end_stdout, MAX_MESSAGE_BYTES, MAX_LINE_BYTES))
        self._process.stderr.start(LineHandler(self._handle_stderr, self._end_stderr, MAX_STDERR_LINE, MAX_STDERR_LINE))

    def attach(self, on_message: Callable[[JsonMessage], None], on_end: Callable[[], None]) -> None:
        """Call `on_message` with each message from now on, and `on_end` after the last one."""
        self._on_message, self._on_end = on_message, on_end
        if self._closed:
            on_end()

    def send(self, message: JsonMessage) -> None:
        """Send a message as soon as the server reads it. It is sent whole, even if the sender is cancelled."""
        try:
            line = orjson.dumps(message, default=str, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:
            # It writes no integers above 64 bits, which the arguments of a call may hold.
            line = json.dumps(message, default=str).encode() + b"\n"
        # A server that no longer reads will not answer either.
        self._process.stdin.send(line, self._end)

    def detach(self) -> None:
        """Ignore all further messages, because the session has ended."""
        self._on_message = self._on_end = None
        self._end()

    def _handle_stdout(self, line: bytes, size: int) -> None:
        if self._on_message is None or self._closed:
            return
        if self._unanswered >= MAX_UNANSWERED:
            raise ServerFloodError(f"more than {MAX_UNANSWERED} messages without an answer")
        message = parse_message(line, size)
        self._unanswered = 0 if message is not None and "method" not in message else self._unanswered + 1
        if message is not None:
            self._on_message(message)
        elif line.strip():
            self._on_stray_stdout(line.decode(errors="replace"))

    def _handle_stderr(self, line: bytes, _size: int) -> None:
        if line.strip():
            self._on_stderr(line.decode(errors="replace").rstrip())

    def _end_stdout(self, reason: Exception | None) -> None:
        if isinstance(reason, ServerFloodError):
            self._on_stray_stdout(f"{reason}; the connection was given up")
        elif reason is not None:
            self.error = reason
        elif not self._stderr_ended and not self._closed:
            self._waiting_for_stderr = asyncio.get_running_loop().call_later(LAST_STDERR_SECONDS, self._end)
            return
        self._end()

    def _end_stderr(self, reason: Exception | None) -> None:
        self._stderr_ended = True
        if isinstance(reason, ServerFloodError):
            self._on_stderr("a line too long to show; what follows is not shown")
        elif reason is not None:
            self.error = reason
        if self._waiting_for_stderr is not None or self.error is not None:
            self._end()

    def _end(self) -> None:
        if self._waiting_for_stderr is not None:
            self._waiting_for_stderr.cancel()
        if not self._closed:
            self._closed = True
            if self._on_end is not None:
                self._on_end()


@asynccontextmanager
async def stdio_link(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    on_stderr: Callable[[str], None],
    on_stray_stdout: Callable[[str], None],
) -> AsyncGenerator[Link]:
    """Start the server, exchange messages with it, and leave no process behind.

    Raises:
        OSError: the process could not be started.
    """
    async with server_process(command, args, env) as process:
        link = Link(process, on_stderr, on_stray_stdout)
        try:
            yield link
        finally:
            link.detach()
            # The end of its input tells the server to exit; the supervisor ends one that does not.
            process.stdin.close()
            if not await process.ended(EXIT_SECONDS):
                process.end()
                await process.ended(END_SECONDS)
        if link.error is not None:
            raise link.error


def parse_message(line: bytes, size: int) -> JsonMessage | None:
    """Return the message in a line of `size` bytes, or None if it is not one.

    An answer that is too large to be parsed, or that has no result, is returned as an error. Characters that are not valid, or were cut
    in two as JavaScript does, are replaced.
    """
    if size > len(line) or size > MAX_MESSAGE_BYTES:
        return _unread(line, f"an answer of {size >> 20} MiB; at most {MAX_MESSAGE_BYTES >> 20} MiB are read")
    if has_more_values(line, MAX_MESSAGE_VALUES):
        return _unread(line, f"an answer of more than {MAX_MESSAGE_VALUES} values")
    found: Any = None
    try:
        found = orjson.loads(line)
    except ValueError:
        with suppress(ValueError, RecursionError):
            text = line.decode(errors="replace")
            found = json.loads(whole_characters(json.dumps(json.loads(text), ensure_ascii=False)))
    match found:
        # A request or notification, a result, or an error.
        case {"jsonrpc": "2.0", "method": str()}:
            message = cast("JsonMessage", found)
            return message if isinstance(message.get("params", {}), dict) else None
        case {"jsonrpc": "2.0", "id": int() | str(), "result": dict()} | {"jsonrpc": "2.0", "error": {"code": int(), "message": str()}}:
            return cast("JsonMessage", found)
        case {"jsonrpc": "2.0", "id": int() | str() as request_id}:
            return _error(request_id, "an answer without a result")
        case _:
            return None


def _unread(line: bytes, reason: str) -> JsonMessage | None:
    answered = _ID_BEFORE.match(line[:_END_BYTES]) or _ID_AFTER.search(line[-_END_BYTES:])
    return _error(int(answered[1]), f"{reason}. Ask for less, e.g. with a filter or a limit") if answered else None


def _error(request_id: int | str, text: str) -> JsonMessage:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": INVALID_MESSAGE, "message": text}}
