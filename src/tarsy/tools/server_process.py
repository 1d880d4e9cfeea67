"""A tool server's process and its pipes. One supervisor starts all servers of this process, and ends them when it dies."""

import json
import os
import socket
import subprocess
import sys
import threading
from array import array
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from tarsy.tools.pipes import LineReader, PipeWriter

SCRIPT = Path(__file__).with_name("supervisor.py")
# The supervisor's own grace (2 s), with room for a busy machine.
END_SECONDS = 6.0


class _SupervisorProcess:
    """The supervisor's process: started with the first server, replaced if it was killed, ended with its last user."""

    def __init__(self) -> None:
        # Held by worker threads while they start or end a process, which would block the event loop.
        self._lock = threading.Lock()
        self._users = 0
        self._control: socket.socket | None = None
        # The running one, and those that were killed and are cleaning up.
        self._processes: list[subprocess.Popen[bytes]] = []

    def acquire(self) -> None:
        self._users += 1

    def release(self) -> bool:
        """Return True for the last user, which has to call `end_unused` in a worker thread."""
        self._users -= 1
        return self._users == 0

    def end_unused(self) -> None:
        with self._lock:
            # A new user may have come meanwhile, and may have sent its server.
            if self._users == 0:
                self._disconnect()
                for process in self._processes:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(END_SECONDS)
                self._processes = [process for process in self._processes if process.returncode is None]

    def send(self, request_socket: socket.socket, pipes: Sequence[int]) -> None:
        """Send a server's descriptors to the supervisor, which is started if none runs. For worker threads.

        Raises:
            OSError: it could not be started.
        """
        with self._lock:
            try:
                _send(self._control or self._start(), request_socket, pipes)
            except ConnectionError:
                self._disconnect()
                _send(self._start(), request_socket, pipes)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._control = ours
        with theirs:
            command = [sys.executable, "-I", "-S", str(SCRIPT), str(theirs.fileno())]
            process = subprocess.Popen(  # noqa: S603 - our own script
                command,
                # Nothing of our environment: a server gets the variables of its request.
                env={},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._processes.append(process)
        return ours

    def _disconnect(self) -> None:
        """Close the control socket: a supervisor without an owner ends."""
        if self._control is not None:
            self._control.close()
            self._control = None


def _send(control: socket.socket, request_socket: socket.socket, pipes: Sequence[int]) -> None:
    control.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", (request_socket.fileno(), *pipes)))])


_supervisor = _SupervisorProcess()


@asynccontextmanager
async def kept_supervisor() -> AsyncGenerator[None]:
    """Keep the supervisor running from the first server to the end of the block."""
    _supervisor.acquire()
    try:
        yield
    finally:
        if _supervisor.release():
            with anyio.CancelScope(shield=True):
                await run_sync(_supervisor.end_unused)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server."""

    stdin: PipeWriter
    stdout: LineReader
    stderr: LineReader
    _socket: socket.socket

    async def ended(self, seconds: float) -> bool:
        """Wait at most `seconds` until no process of the server is left, even if the owner is cancelled; return whether none is."""
        with anyio.move_on_after(seconds, shield=True):
            # The supervisor sends nothing over the socket: it only closes it.
            await anyio.wait_readable(self._socket)
            return True
        return False

    def end(self) -> None:
        """Have the supervisor end the whole process tree."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)


@asynccontextmanager
async def server_process(command: str, args: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[ServerProcess]:
    """Run a server in a process of its own, whose tree is ended with the block at the latest.

    Raises:
        OSError: the process could not be started.
    """
    request = _request(command, args, env)
    async with kept_supervisor():
        with ExitStack() as our_ends:
            ours, theirs = socket.socketpair()
            our_ends.enter_context(ours)
            ours.setblocking(False)
            # It usually fits into the socket's buffer, so that the supervisor finds it at once.
            rest = request[ours.send(request) :]
            with theirs, ExitStack() as their_ends:
                their_stdin, writing = os.pipe()
                their_ends.callback(os.close, their_stdin)
                stdin = PipeWriter(writing)
                our_ends.callback(stdin.close)
                stdout, their_stdout = _output(our_ends, their_ends)
                stderr, their_stderr = _output(our_ends, their_ends)
                await run_sync(_supervisor.send, theirs, (their_stdin, their_stdout, their_stderr))
            # If the supervisor is killed at this moment, the server never starts, and its pipes end.
            with suppress(ConnectionError):
                while rest:
                    await anyio.wait_writable(ours)
                    rest = rest[ours.send(rest) :]
            yield ServerProcess(stdin, stdout, stderr, ours)


def _request(command: str, args: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Return the request in the format that the supervisor parses."""

    def text(word: str) -> str:
        # Each byte as a character: what a command holds need not be text in any encoding.
        return os.fsencode(word).decode("latin-1")

    variables = {text(name): text(value) for name, value in env.items()}
    return json.dumps([text(str(Path.cwd())), [text(word) for word in (command, *args)], variables]).encode() + b"\n"


def _output(our_ends: ExitStack, their_ends: ExitStack) -> tuple[LineReader, int]:
    """Return both ends of a pipe to which the server writes: ours and its own."""
    reading, writing = os.pipe()
    their_ends.callback(os.close, writing)
    pipe = LineReader(reading)
    our_ends.callback(pipe.close)
    return pipe, writing
