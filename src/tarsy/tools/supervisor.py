"""Runs the stdio tool servers of one owner process, and ends every server's whole process tree when the owner goes.

Started as a script in a process of its own, with nothing but the standard library: `supervisor.py CONTROL`.
CONTROL is a socket over which the owner sends, for each server, the file descriptors of one end of a socket and of its three pipes.
The request comes over that socket: a line of JSON with the directory, the command and the environment, in which each byte is a character
(Latin-1). The owner closes its end when the server shall end, or by dying; the supervisor closes the other end when no process of the server
is left.

There are two supervisor processes, parent and child, and the servers are below the child: if either is killed, the other ends the servers' trees.

A server is a subreaper, like the first process of a container: while it runs, all its descendants are below it. Processes that the supervisor
itself adopts are therefore left over from a server that has ended, and are ended too.
"""

import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform == "linux"

PARENT_DIED = signal.SIGUSR1
# Only the owner decides when to end: neither a signal nor a pipe that a server has closed may end the supervisor.
# They are caught without effect instead of ignored, because the servers would inherit ignored signals.
CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)

# Between SIGTERM and SIGKILL.
GRACE_SECONDS = 2.0
# How often to look for processes while a server is being ended: the exit of a grandchild is not reported to us.
POLL_SECONDS = 0.02
# A server's standard input, output and error.
PIPES = 3
# More than is usually there to be read at once.
CHUNK = 1 << 16

LIBC = ctypes.CDLL(None)
PRCTL = LIBC.prctl if LINUX else None
# Whether the kernel lists the children of a process.
KERNEL_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - `pathlib` is large


def prctl(option: int, value: int) -> None:
    """Set an option of this process on Linux; on other systems only the process group holds a server together."""
    if PRCTL is not None:
        PRCTL(option, value, 0, 0, 0)


def read_file(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while part := os.read(fd, CHUNK):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def listed_children(pid: int) -> list[int]:
    """Return the children of a process, which the kernel lists for each of its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - `pathlib` is large
            found += map(int, read_file(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:
        # It ended meanwhile; its children were adopted by an ancestor, where the next search finds them.
        return found
    return found


def walked_children() -> dict[int, list[int]]:
    """Return the children of every process by walking /proc, if there is one."""
    children: dict[int, list[int]] = {}
    for pid in filter(str.isdecimal, os.listdir("/proc") if LINUX else ()):  # noqa: PTH208 - `pathlib` is large
        try:
            # The name in parentheses may hold anything, so fields are counted from its end.
            parent = int(read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(pid))
    return children


def children_lookup() -> Callable[[int], Iterable[int]]:
    """Return a function from a process to its children as of now; the kernel's lists save a walk over all processes."""
    if KERNEL_LISTS_CHILDREN:
        return listed_children
    children = walked_children()
    return lambda pid: children.get(pid, ())


def tree(root: int, children_of: Callable[[int], Iterable[int]]) -> set[int]:
    """Return a process and all its descendants, including those that left its process group."""
    found: set[int] = set()
    ahead = [root]
    while ahead:
        pid = ahead.pop()
        if pid not in found:
            found.add(pid)
            ahead.extend(children_of(pid))
    return found


def send(pid: int, number: int) -> bool:
    """Send a signal to a process, or to a group if `pid` is negative; return whether it exists."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def start_server(directory: str, command: list[str], environment: dict[str, str], pipes: list[int]) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, with these pipes as its standard input, output and error.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    supervisor = os.getpid()

    def prepare() -> None:
        # The server dies with the supervisor, even if that is killed.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != supervisor:
            os._exit(1)

    return subprocess.Popen(  # noqa: S603 - the operator's configuration names the command, no shell is involved
        [word.encode("latin-1") for word in command],
        cwd=directory.encode("latin-1"),
        env={name.encode("latin-1"): value.encode("latin-1") for name, value in environment.items()},
        stdin=pipes[0],
        stdout=pipes[1],
        stderr=pipes[2],
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - this process has no threads
    )


def reap() -> list[int]:
    """Reap and return all children that have exited, including adopted ones."""
    ended: list[int] = []
    try:
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            ended.append(pid)
    except ChildProcessError:
        return ended
    return ended


class Ending:
    """The processes that got SIGTERM, and when each gets SIGKILL."""

    def __init__(self) -> None:
        self._deadlines: dict[int, float] = {}

    def terminate(self, pids: Iterable[int], deadline: float) -> None:
        """Send SIGTERM to new processes, and SIGKILL to those whose deadline, set at their SIGTERM, has passed."""
        for pid in pids:
            if pid not in self._deadlines:
                self._deadlines[pid] = deadline
                send(pid, signal.SIGTERM)
            if time.monotonic() >= self._deadlines[pid]:
                send(pid, signal.SIGKILL)

    def forget_all_but(self, pids: set[int]) -> None:
        """Forget the others, because process ids are reused."""
        self._deadlines = {pid: deadline for pid, deadline in self._deadlines.items() if pid in pids}


class Server:
    """One tool server: requested, running (its first process is the leader), or ending."""

    def __init__(self, request_socket: int, pipes: list[int]) -> None:
        self.request_socket = request_socket
        # Kept, because `subprocess` polls the processes of objects that were collected, and would take their exit from us.
        self.process: subprocess.Popen[bytes] | None = None
        # When its processes get SIGKILL, once it is being ended.
        self.deadline: float | None = None
        # Processes that we adopted after its leader had ended.
        self.orphans: set[int] = set()
        self._received = b""
        self._pipes = pipes

    @property
    def leader(self) -> int | None:
        """The first process, until `run` has seen its exit."""
        return self.process.pid if self.process is not None and self.process.returncode is None else None

    def receive(self) -> bool:
        """Read from the socket and start the server once the request is complete; return False if the server has to end."""
        try:
            data = os.read(self.request_socket, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        if not data:
            return False
        self._received += data
        if not data.endswith(b"\n"):
            return True
        directory, command, environment = json.loads(self._received)
        try:
            self.process = start_server(directory, command, environment, self._pipes)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            # The owner may have closed its end already: that must not end the other servers.
            with suppress(BrokenPipeError):
                os.write(self._pipes[2], f"cannot start {command[0]}: {reason}\n".encode("latin-1", "replace"))
        self.release_pipes()
        return self.process is not None

    def release_pipes(self) -> None:
        """Close our copies of the server's pipes, so that the owner sees end-of-file as soon as the server is gone."""
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = []


class Supervisor:
    """All servers of one owner."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        self._parent = parent
        self._control: socket.socket | None = control
        self._servers: list[Server] = []
        self._adopted: set[int] = set()
        self._ending = Ending()
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, partial(self._receive_server, control))
        wakeup = wake_up_pipe()
        self._selector.register(wakeup, selectors.EVENT_READ, partial(os.read, wakeup, 512))

    def run(self) -> None:
        """Start and end servers as the owner asks, until the owner has gone and no server is left."""
        while self._control is not None or self._servers:
            for key, _ in self._selector.select(POLL_SECONDS if self._any_ending else None):
                key.data()
            if os.getppid() != self._parent:
                self._end_all()
            for server in self._servers:
                if server.process is not None and server.process.poll() is not None:
                    self._end(server)
            reap()
            if self._any_ending:
                self._end_processes()

    @property
    def _any_ending(self) -> bool:
        return any(server.deadline is not None for server in self._servers)

    def _receive_server(self, control: socket.socket) -> None:
        data, fds, _, _ = socket.recv_fds(control, 1, PIPES + 1)
        for fd in fds:
            os.set_inheritable(fd, False)
        if not data:
            self._end_all()
            return
        server = Server(fds[0], fds[1:])
        os.set_blocking(server.request_socket, False)
        self._servers.append(server)
        self._selector.register(server.request_socket, selectors.EVENT_READ, partial(self._receive_request, server))
        # The request has usually arrived with its socket.
        self._receive_request(server)

    def _receive_request(self, server: Server) -> None:
        if not server.receive():
            self._end(server)

    def _end_all(self) -> None:
        """End all servers, because the owner or the parent has gone; a new owner starts a new supervisor."""
        if self._control is not None:
            self._selector.unregister(self._control)
            self._control.close()
            self._control = None
        for server in self._servers:
            self._end(server)

    def _end(self, server: Server) -> None:
        """Mark the server as ending; `run` then looks for its processes until none is left."""
        if server.deadline is None:
            server.deadline = time.monotonic() + GRACE_SECONDS
            self._selector.unregister(server.request_socket)

    def _end_processes(self) -> None:
        children_of = children_lookup()
        ending = [server for server in self._servers if server.deadline is not None]
        latest = max(server.deadline or 0.0 for server in ending)
        adopted = set(children_of(os.getpid())) - {server.leader for server in self._servers} | left_groups(ending)
        roots = dict.fromkeys(adopted, latest) | {server.leader: server.deadline or 0.0 for server in ending if server.leader is not None}
        trees = {root: tree(root, children_of) for root in roots}
        for root, deadline in roots.items():
            self._ending.terminate(trees[root], deadline)
        self._ending.forget_all_but({pid for pids in trees.values() for pid in pids})
        for server in ending:
            if server.leader is None:
                server.orphans |= adopted - self._adopted
                if server.orphans.isdisjoint(adopted):
                    server.release_pipes()
                    os.close(server.request_socket)
                    self._servers.remove(server)
        self._adopted = adopted


def left_groups(ending: list[Server]) -> set[int]:
    """Return the process groups that are left of servers, on systems where nothing is adopted."""
    if LINUX:
        return set()
    groups = [server.process.pid for server in ending if server.process is not None and server.leader is None]
    return {-group for group in groups if send(-group, 0)}


def wake(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the signal has already been written to the wake-up pipe."""


def wake_up_pipe() -> int:
    """Return a pipe that becomes readable when a child has exited or the parent has died."""
    wakeup, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    for number in (signal.SIGCHLD, PARENT_DIED):
        signal.signal(number, wake)
    prctl(PR_SET_PDEATHSIG, PARENT_DIED)
    return wakeup


def supervise_child(child: int) -> None:
    """Wait for the supervising child; if it was killed, its servers are now ours to end."""
    while child not in reap():
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    ending, deadline = Ending(), time.monotonic() + GRACE_SECONDS
    while left := tree(os.getpid(), children_lookup()) - {os.getpid()}:
        ending.terminate(left, deadline)
        time.sleep(POLL_SECONDS)
        reap()


def main(control: int) -> None:
    for number in CAUGHT:
        signal.signal(number, wake)
    # An owner that ignores SIGCHLD would pass that on, and our children could not be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(control, False)
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(control)
        supervise_child(child)
    else:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        Supervisor(socket.socket(fileno=control), parent).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
