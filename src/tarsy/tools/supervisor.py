"""Runs the stdio tool servers of one owner and outlives it only to clean up: when the owner goes, every server's whole process tree goes.

Started as a script, in a process of its own, with nothing but the standard library: `supervisor.py CONTROL`.
CONTROL is a socket over which the owner hands over, for each server, its three pipes and one end of a line. The line brings the command; the owner
closes its end when the server shall end, or by dying, however it dies; we close ours when nothing of the server is left.

There are two of us, parent and child, and the servers are below the child: whichever is killed, the other ends the servers' trees.

A server adopts what its descendants leave behind, as if it were the first process of a container: while it runs, all that it started is below it.
What we adopt ourselves is therefore left over from a server that has ended, and is ended too.
"""

# Little is imported: what is in our memory is copied, in part, with each server that starts.
import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform == "linux"

PARENT_DIED = signal.SIGUSR1
# Only the owner decides when to end: a signal must not separate us from the servers, nor a pipe that one of them has closed.
# They are caught, to no effect, and not ignored: what is ignored here would be ignored by the servers, too.
UNHEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)

# Between the polite signal and the other one.
GRACE_SECONDS = 2.0
# How often to look while a server is being ended: the end of what is not our own child is not told to us.
POLL_SECONDS = 0.02
# A server's standard input, output and error.
PIPES = 3
# More than is there, as a rule, to be read at once.
CHUNK = 1 << 16
# Where an environment does not say where programs are.
PROGRAMS = os.defpath.encode()


# Loaded once: the way from fork to exec is short.
LIBC = ctypes.CDLL(None)
PRCTL = LIBC.prctl if LINUX else None
# Whether the kernel was built with lists of children.
LISTS = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - `pathlib` is large


def prctl(option: int, value: int) -> None:
    """Ask the kernel, where it is Linux; elsewhere the process group is all we can hold on to."""
    if PRCTL is not None:
        PRCTL(option, value, 0, 0, 0)


def content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while part := os.read(fd, CHUNK):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def listed_children(pid: int) -> list[int]:
    """The children of a process, as the kernel lists them for each of its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - `pathlib` is large
            found += map(int, content(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:
        # It ended meanwhile; its children are somewhere above, where the next look finds them.
        return found
    return found


def walked_children() -> dict[int, list[int]]:
    """The children of every process, found by walking /proc, where there is one."""
    children: dict[int, list[int]] = {}
    for pid in filter(str.isdecimal, os.listdir("/proc") if LINUX else ()):  # noqa: PTH208 - `pathlib` is large
        try:
            # The name in parentheses may hold anything, so fields are counted from its end.
            parent = int(content(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(pid))
    return children


def kinship() -> Callable[[int], Iterable[int]]:
    """Who is whose child, as of now: from the kernel's lists where it was built with them, which saves looking at strangers."""
    if LISTS:
        return listed_children
    children = walked_children()
    return lambda pid: children.get(pid, ())


def tree(root: int, children_of: Callable[[int], Iterable[int]]) -> set[int]:
    """A process and all below it: also those that left its process group."""
    found: set[int] = set()
    ahead = [root]
    while ahead:
        pid = ahead.pop()
        if pid not in found:
            found.add(pid)
            ahead.extend(children_of(pid))
    return found


def send(pid: int, number: int) -> bool:
    """Send a signal to a process, or to a group if the number is negative; whether it was there."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def reap() -> list[int]:
    """Collect every child that has ended, adopted ones too."""
    ended: list[int] = []
    try:
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            ended.append(pid)
    except ChildProcessError:
        return ended
    return ended


class Ending:
    """The processes that were told to end, and when each has to."""

    def __init__(self) -> None:
        self._deadlines: dict[int, float] = {}

    def press(self, pids: Iterable[int], deadline: float) -> None:
        """Ask politely once, and insist after the deadline that was set then."""
        for pid in pids:
            if pid not in self._deadlines:
                self._deadlines[pid] = deadline
                send(pid, signal.SIGTERM)
            if time.monotonic() >= self._deadlines[pid]:
                send(pid, signal.SIGKILL)

    def forget_all_but(self, pids: set[int]) -> None:
        """Numbers of processes are used again."""
        self._deadlines = {pid: deadline for pid, deadline in self._deadlines.items() if pid in pids}


class Request:
    """What to run. It comes as fields, each with a NUL at its end: how many follow, the directory, the number of words, these, then names and values."""

    def __init__(self, fields: list[bytes]) -> None:
        words = int(fields[1]) + 2
        self.directory = fields[0]
        self.command = fields[2:words]
        self.environment = dict(zip(fields[words::2], fields[words + 1 :: 2], strict=True))
        self.programs = self._programs()

    def _programs(self) -> list[bytes]:
        """Where the program may be."""
        name = self.command[0]
        if b"/" in name:
            return [name]
        places = self.environment.get(b"PATH", PROGRAMS).split(b":")
        return [os.path.join(place, name) for place in places]  # noqa: PTH118 - `pathlib` is large


def read_request(said: bytes) -> Request | None:
    """The request, once it is complete."""
    count, *fields = said.split(b"\0")
    return Request(fields[:-1]) if fields and len(fields) - 1 == int(count) else None


class Server:
    """One tool server: asked for, running under its leader, or ending."""

    def __init__(self, line: int, pipes: list[int]) -> None:
        self.line = line
        self.leader: int | None = None
        self.group: int | None = None
        # By when it has to be gone, once it is being ended.
        self.deadline: float | None = None
        # What we adopted when its leader had ended.
        self.remains: set[int] = set()
        self._said = b""
        self._pipes = pipes

    def hear(self) -> bool:
        """Take what comes by the line, and start the server once that is a request; whether it is to run on."""
        try:
            said = os.read(self.line, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            said = b""
        if not said:
            return False
        self._said += said
        request = read_request(self._said)
        return request is None or self._starts(request)

    def _starts(self, request: Request) -> bool:
        """Start the server as the leader of its own session; it dies with us even if we are killed."""
        supervisor = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            complain(self._pipes[2], request, error)
            pid = None
        if pid == 0:
            become(request, self._pipes, supervisor)
        self.leader = self.group = pid
        self.release_pipes()
        return pid is not None

    def release_pipes(self) -> None:
        """Let go of the server's pipes, so that the owner sees their ends as soon as the server is gone."""
        for pipe in self._pipes:
            os.close(pipe)
        self._pipes = []


def become(request: Request, pipes: list[int], supervisor: int) -> None:
    """Turn the process that was just forked into the server. Does not return.

    All has been worked out before: each page of memory that is touched here is copied first.
    """
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != supervisor:
            os._exit(1)
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
        os.chdir(request.directory)
        execute(request)
    except OSError as error:
        complain(2, request, error)
    finally:
        os._exit(127)


def execute(request: Request) -> None:
    """Become the first of the programs that is there and can be run.

    Raises:
        OSError: what is wrong with the first that is there, or else that none is.
    """
    trouble: OSError | None = None
    for program in request.programs:
        try:
            os.execve(program, request.command, request.environment)  # noqa: S606 - the operator's configuration names it, no shell is involved
        except OSError as error:
            if trouble is None or isinstance(trouble, (FileNotFoundError, NotADirectoryError)):
                trouble = error
    raise trouble or FileNotFoundError


def complain(stderr: int, request: Request, error: OSError) -> None:
    os.write(stderr, b"cannot start %b: %b\n" % (request.command[0], str(error.strerror).encode()))


class Supervisor:
    """All servers of one owner."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        self._parent = parent
        self._control: socket.socket | None = control
        self._servers: list[Server] = []
        self._adopted: set[int] = set()
        self._ending = Ending()
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, partial(self._hear_owner, control))
        wakeup = wake_up_pipe()
        self._selector.register(wakeup, selectors.EVENT_READ, partial(os.read, wakeup, 512))

    def run(self) -> None:
        """Start what the owner asks for and end what it lets go, until the owner itself has gone and nothing is left."""
        while self._control is not None or self._servers:
            for key, _ in self._selector.select(POLL_SECONDS if self._any_ending else None):
                key.data()
            if os.getppid() != self._parent:
                self._end_all()
            ended = reap()
            for server in self._servers:
                if server.leader in ended:
                    server.leader = None
                    self._end(server)
            if self._any_ending:
                self._end_what_is_left()

    @property
    def _any_ending(self) -> bool:
        return any(server.deadline is not None for server in self._servers)

    def _hear_owner(self, control: socket.socket) -> None:
        said, fds, _, _ = socket.recv_fds(control, 1, PIPES + 1)
        for fd in fds:
            os.set_inheritable(fd, False)
        if not said:
            self._end_all()
            return
        server = Server(fds[0], fds[1:])
        os.set_blocking(server.line, False)
        self._servers.append(server)
        self._selector.register(server.line, selectors.EVENT_READ, partial(self._hear_line, server))
        # The request, as a rule, has come with its line.
        self._hear_line(server)

    def _hear_line(self, server: Server) -> None:
        if not server.hear():
            self._end(server)

    def _end_all(self) -> None:
        """The owner or the one who stands by has gone: a new owner's servers are a new supervisor's."""
        if self._control is not None:
            self._selector.unregister(self._control)
            self._control.close()
            self._control = None
        for server in self._servers:
            self._end(server)

    def _end(self, server: Server) -> None:
        """From now on the server has to go; what is left of it is looked for until nothing is."""
        if server.deadline is None:
            server.deadline = time.monotonic() + GRACE_SECONDS
            self._selector.unregister(server.line)

    def _end_what_is_left(self) -> None:
        children_of = kinship()
        ending = [server for server in self._servers if server.deadline is not None]
        latest = max(server.deadline or 0.0 for server in ending)
        adopted = set(children_of(os.getpid())) - {server.leader for server in self._servers} | left_groups(ending)
        roots = dict.fromkeys(adopted, latest) | {server.leader: server.deadline or 0.0 for server in ending if server.leader is not None}
        trees = {root: tree(root, children_of) for root in roots}
        for root, deadline in roots.items():
            self._ending.press(trees[root], deadline)
        self._ending.forget_all_but({pid for pids in trees.values() for pid in pids})
        for server in ending:
            if server.leader is None:
                server.remains |= adopted - self._adopted
                if server.remains.isdisjoint(adopted):
                    self._forget(server)
        self._adopted = adopted

    def _forget(self, server: Server) -> None:
        server.release_pipes()
        os.close(server.line)
        self._servers.remove(server)


def left_groups(ending: list[Server]) -> set[int]:
    """Where nothing is adopted, the process group of a server is all that can be found of it."""
    if LINUX:
        return set()
    return {-server.group for server in ending if server.leader is None and server.group is not None and send(-server.group, 0)}


def wake(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: a signal that we wait for has already been written to the wake-up pipe."""


def wake_up_pipe() -> int:
    """A pipe that can be read when a child has ended or the parent has died."""
    wakeup, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    for number in (signal.SIGCHLD, PARENT_DIED):
        signal.signal(number, wake)
    prctl(PR_SET_PDEATHSIG, PARENT_DIED)
    return wakeup


def stand_by(child: int) -> None:
    """Wait for the one who supervises; if it was killed, what it had to look after has become ours to end."""
    while child not in reap():
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    ending, deadline = Ending(), time.monotonic() + GRACE_SECONDS
    while left := tree(os.getpid(), kinship()) - {os.getpid()}:
        ending.press(left, deadline)
        time.sleep(POLL_SECONDS)
        reap()


def main(control: int) -> None:
    for number in UNHEEDED:
        signal.signal(number, wake)
    # An owner that ignores it would have us inherit that, and children that are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(control, False)
    # What is here now stays for ever: a collector that looked through it would touch all of it.
    gc.freeze()
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(control)
        stand_by(child)
    else:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        Supervisor(socket.socket(fileno=control), parent).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
