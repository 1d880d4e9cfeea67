"""A tool server's process and its pipes. All servers of this process are started by one supervisor, which ends them when we die."""

import asyncio
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

from tarsy.tools.pipes import BytesOut, LinesIn

SCRIPT = Path(__file__).with_name("supervisor.py")
# The supervisor's own grace (2 s), and then some for a busy machine.
END_SECONDS = 6.0


class _Supervisor:
    """The supervisor's process: started with the first server, replaced if it was killed, ended when no user is left."""

    def __init__(self) -> None:
        # Used by worker threads only: starting and ending a process would hold up the event loop, and so would waiting for this.
        self._lock = threading.Lock()
        # Held for as long as it takes to count: any thread may wait for it.
        self._counting = threading.Lock()
        self._users = 0
        self._control: socket.socket | None = None
        # The one that runs, and those that were killed and clean up after themselves.
        self._processes: list[subprocess.Popen[bytes]] = []

    def hold(self) -> None:
        with self._counting:
            self._users += 1

    def release(self) -> bool:
        """Says whether no user is left: then `end_unused` is due, in a worker thread."""
        with self._counting:
            self._users -= 1
            return self._users == 0

    def end_unused(self) -> None:
        with self._lock:
            # A new user may have come meanwhile, and have handed over its server.
            if self._users == 0:
                self._let_go()
                self._collect()

    def hands_over(self, line: socket.socket, pipes: Sequence[int]) -> bool:
        """Give a server's ends to the supervisor, if that takes no waiting; whether it did not."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._control is not None and _sent(self._control, line, pipes)
        finally:
            self._lock.release()

    def hand_over(self, line: socket.socket, pipes: Sequence[int]) -> None:
        """The same, to a new supervisor if there is none that runs; in a worker thread.

        Raises:
            OSError: there is none and none could be started.
        """
        with self._lock:
            try:
                _send(self._control or self._start(), line, pipes)
            except ConnectionError:
                self._let_go()
                _send(self._start(), line, pipes)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._control = ours
        with theirs:
            # Nothing of our environment: a server gets what the request names. What a fork needs of the C library is found before it.
            environment = {"LD_BIND_NOW": "1"}
            command = [sys.executable, "-I", "-S", str(SCRIPT), str(theirs.fileno())]
            process = subprocess.Popen(  # noqa: S603 - our own script
                command,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._processes.append(process)
        return ours

    def _let_go(self) -> None:
        """A supervisor without an owner ends."""
        if self._control is not None:
            self._control.close()
            self._control = None

    def _collect(self) -> None:
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        self._processes = [process for process in self._processes if process.returncode is None]


def _send(control: socket.socket, line: socket.socket, pipes: Sequence[int], flags: int = 0) -> None:
    control.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", (line.fileno(), *pipes)))], flags)


def _sent(control: socket.socket, line: socket.socket, pipes: Sequence[int]) -> bool:
    try:
        _send(control, line, pipes, socket.MSG_DONTWAIT)
    except (BlockingIOError, ConnectionError):
        return False
    return True


_supervisor = _Supervisor()


@asynccontextmanager
async def kept_supervisor() -> AsyncGenerator[None]:
    """Between the first server and the end of the block, servers find the supervisor running."""
    _supervisor.hold()
    try:
        yield
    finally:
        await _release_supervisor()


async def _release_supervisor() -> None:
    if _supervisor.release():
        with anyio.CancelScope(shield=True):
            await run_sync(_supervisor.end_unused)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server."""

    stdin: BytesOut
    stdout: LinesIn
    stderr: LinesIn
    _line: socket.socket

    async def ended(self, seconds: float) -> bool:
        """Wait until nothing of the server's process tree is left, but not for ever; a cancelled owner waits, too."""
        loop = asyncio.get_running_loop()
        closed = loop.create_future()
        # The supervisor says nothing on the line: it only closes it.
        loop.add_reader(self._line, _settle, closed)
        try:
            with anyio.move_on_after(seconds, shield=True):
                await closed
        finally:
            loop.remove_reader(self._line)
        return closed.done() and not closed.cancelled()

    def end(self) -> None:
        """Have the whole process tree ended."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)


def _settle(future: asyncio.Future[None]) -> None:
    # The event loop says so again in its next turn, if it comes before the one that waits.
    if not future.done():
        future.set_result(None)


@asynccontextmanager
async def server_process(command: str, args: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[ServerProcess]:
    """A server in a process of its own, whose tree is ended with the block at the latest.

    Raises:
        OSError: the process could not be started.
    """
    request = _request(command, args, env)
    _supervisor.hold()
    try:
        with ExitStack() as ours:
            yield await _started(ours, request)
    finally:
        await _release_supervisor()


def _request(command: str, args: Sequence[str], env: Mapping[str, str]) -> bytes:
    """What to run, byte for byte, as the supervisor reads it.

    Raises:
        ValueError: there is a NUL in it, which no command can hold.
    """
    words = [os.fsencode(word) for word in (command, *args)]
    environment = [os.fsencode(part) for variable in env.items() for part in variable]
    directory = os.getcwdb()  # noqa: PTH109 - in bytes
    fields = [directory, b"%d" % len(words), *words, *environment]
    request = b"%d\0%b\0" % (len(fields), b"\0".join(fields))
    if request.count(b"\0") != len(fields) + 1:
        raise ValueError("a NUL character in the command, its arguments or its environment")
    return request


async def _started(ours: ExitStack, request: bytes) -> ServerProcess:
    """Start a server; `ours` gets what is ours to close."""
    line, far_line = socket.socketpair()
    ours.enter_context(line)
    line.setblocking(False)
    # As a rule it fits, and the supervisor finds it with the line.
    rest = request[line.send(request) :]
    with far_line, ExitStack() as theirs:
        stdin, their_stdin = _input(ours, theirs)
        stdout, their_stdout = _output(ours, theirs)
        stderr, their_stderr = _output(ours, theirs)
        pipes = (their_stdin, their_stdout, their_stderr)
        if not _supervisor.hands_over(far_line, pipes):
            await run_sync(_supervisor.hand_over, far_line, pipes)
    # A supervisor that is killed at this moment ends the server before it began, which its pipes tell.
    with suppress(ConnectionError):
        while rest:
            await anyio.wait_writable(line)
            rest = rest[line.send(rest) :]
    return ServerProcess(stdin, stdout, stderr, line)


def _input(ours: ExitStack, theirs: ExitStack) -> tuple[BytesOut, int]:
    """A pipe for the server to read: our end and its own."""
    reading, writing = os.pipe()
    theirs.callback(os.close, reading)
    pipe = BytesOut(writing)
    ours.callback(pipe.close)
    return pipe, reading


def _output(ours: ExitStack, theirs: ExitStack) -> tuple[LinesIn, int]:
    """A pipe for the server to write: our end and its own."""
    reading, writing = os.pipe()
    theirs.callback(os.close, writing)
    pipe = LinesIn(reading)
    ours.callback(pipe.close)
    return pipe, writing
