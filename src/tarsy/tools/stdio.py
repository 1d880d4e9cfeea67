"""The stdio transport: a tool server as a child process that speaks JSON-RPC, one message a line.

The SDK's own transport hands the child more of our environment than its configuration names, has no limit on a line, logs what it
cannot parse, and leaves processes behind when we are killed; hence this one. Imported on first use only: the SDK is heavy.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from tarsy.kit.characters import whole_characters
from tarsy.tools.server_process import END_SECONDS, Pipe, ServerProcess, server_process

# What every program may expect to find; all else is the configuration's to name.
INHERITED = ("PATH", "HOME", "LANG")

# One message. Above it, a server is out of order rather than talkative.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
MAX_STDERR_LINE = 64 * 1024

# A server that is told to end by the end of its input gets this long before its process tree is ended.
LEAVE_SECONDS = 1.0

# What is raised when the other end of a pipe, or ours, is closed.
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@dataclass(frozen=True, slots=True)
class Observer:
    """Who is told what a server says outside the protocol."""

    on_stderr: Callable[[str], None]
    on_noise: Callable[[str], None]


def child_environment(named: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME and LANG of ours, and what the configuration names."""
    return {name: ours[name] for name in INHERITED if name in ours} | dict(named)


@asynccontextmanager
async def stdio_streams(command: str, args: Sequence[str], env: Mapping[str, str], observer: Observer) -> AsyncGenerator[TransportStreams]:
    """Start the server, exchange messages with it, and leave no process behind.

    Raises:
        OSError: the process could not be started.
    """
    async with server_process(command, args, env) as process:
        incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_receive_messages, process.stdout, incoming, observer, name=f"{command} stdout")
            tasks.start_soon(_send_messages, process.stdin, outgoing, incoming, name=f"{command} stdin")
            tasks.start_soon(_receive_stderr, process.stderr, observer, name=f"{command} stderr")
            try:
                yield read_stream, write_stream
            finally:
                with anyio.CancelScope(shield=True):
                    read_stream.close()
                    write_stream.close()
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
            for line in complete:
                # A flood of lines takes turns with the other tasks of this process.
                await anyio.lowlevel.checkpoint()
                yield b"".join((*parts, line))
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > limit:
                raise OverflowError(f"a line of more than {limit} bytes")


def _message(line: bytes) -> JSONRPCMessage | None:
    """The message in a line, if there is one. A text that was cut inside a character, as JavaScript does, is read all the same."""
    with suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    with suppress(ValueError, RecursionError):
        whole = whole_characters(json.dumps(json.loads(line), ensure_ascii=False))
        return jsonrpc_message_adapter.validate_json(whole, by_name=False)
    return None


async def _receive_messages(stdout: Pipe, incoming: MemoryObjectSendStream[SessionMessage | Exception], observer: Observer) -> None:
    async with incoming:
        try:
            async for line in _lines(stdout, MAX_MESSAGE_BYTES):
                message = _message(line)
                if message is not None:
                    await incoming.send(SessionMessage(message))
                elif line.strip():
                    observer.on_noise(line.decode(errors="replace"))
        except OverflowError as error:
            observer.on_noise(f"{error}; the connection was given up")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
    # The session has left or the server is out of order: let it write into the void, so that it can come to an end.
    await _drain(stdout)


async def _send_messages(
    stdin: Pipe, outgoing: MemoryObjectReceiveStream[SessionMessage], incoming: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    try:
        async with outgoing:
            async for message in outgoing:
                await stdin.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        # A server that no longer listens will not answer either.
        await incoming.aclose()


async def _receive_stderr(stderr: Pipe, observer: Observer) -> None:
    try:
        async for line in _lines(stderr, MAX_STDERR_LINE):
            if line.strip():
                observer.on_stderr(line.decode(errors="replace").rstrip())
    except OverflowError:
        observer.on_stderr("a line too long to show; what follows is not shown")
        await _drain(stderr)


async def _drain(stream: Pipe) -> None:
    with suppress(*_GONE):
        while True:
            await stream.receive()
