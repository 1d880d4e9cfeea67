"""Runs one stdio tool server and does not outlive its owner: when that goes, the server's whole process tree goes.

Started as a script, in a process of its own, with nothing but the standard library: `supervisor.py LIFELINE COMMAND ARG…`.
LIFELINE is the read end of a pipe whose other end only the owner holds. It reaches its end when the owner closes it or dies, however it dies.

There are two of us, parent and child, and the server is below the child: whichever is killed, the other ends the server's tree.
"""

import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

PARENT_DIED = signal.SIGUSR1

# Between the polite signal and the other one.
GRACE_SECONDS = 2.0
POLL_SECONDS = 0.02


def prctl(option: int, value: int) -> None:
    """Ask the kernel, where it is Linux; elsewhere the process group is all we can hold on to."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def start(command: list[str]) -> int:
    """Start the server as the leader of its own session; it dies with us even if we are killed."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(command[0], command)  # noqa: S606 - the operator's configuration names the command, no shell is involved
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def release_pipes() -> None:
    """Let go of the server's pipes, so that their ends are seen by the owner as soon as the server is gone."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def wake(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: the signal has already been written to the wake-up pipe."""


def wait(leader: int, lifeline: int, parent: int) -> int | None:
    """Wait for the server to end (its exit status) or the owner to let go or the parent to die (None)."""
    wakeup, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    for number in (signal.SIGCHLD, PARENT_DIED):
        signal.signal(number, wake)
    prctl(PR_SET_PDEATHSIG, PARENT_DIED)
    while True:
        status = reap(leader)
        if status is not None:
            return status
        if os.getppid() != parent:
            return None
        ready, _, _ = select.select([wakeup, lifeline], [], [])
        if lifeline in ready:
            return None
        os.read(wakeup, 512)


def reap(leader: int) -> int | None:
    """Collect every child that has ended, adopted ones too; the leader's exit status if it is among them."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == leader:
            found = os.waitstatus_to_exitcode(status)


def descendants() -> set[int]:
    """All processes below us, found by walking /proc: also those that left the server's process group."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may hold anything, so fields are counted from its end.
            parent = int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found: set[int] = set()
    ahead = [os.getpid()]
    while ahead:
        below = children.get(ahead.pop(), [])
        found.update(below)
        ahead.extend(below)
    return found


def signal_all(group: int | None, number: int) -> bool:
    """Send a signal to the server's group, if it is known, and to every descendant; whether a process was there."""
    alive = False
    if group is not None:
        try:
            os.killpg(group, number)
            alive = True
        except OSError:
            alive = False
    for pid in descendants():
        try:
            os.kill(pid, number)
            alive = True
        except OSError:
            continue
    return alive


def end(group: int | None) -> None:
    """End the whole tree, politely first, and collect what is left of it."""
    deadline = time.monotonic() + GRACE_SECONDS
    alive = signal_all(group, signal.SIGTERM)
    while alive and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        reap(0)
        alive = signal_all(group, 0)
    while alive:
        alive = signal_all(group, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
        reap(0)


def stay_calm() -> None:
    """Only the lifeline decides when to end: a signal must not separate us from the server. Not before it is started: it would inherit this."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def supervise(parent: int, lifeline: int, command: list[str]) -> int:
    """Run the server to its end, or to the owner's."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    leader = start(command)
    stay_calm()
    release_pipes()
    status = wait(leader, lifeline, parent)
    end(leader)
    return 0 if status is None else status & 0xFF


def stand_by(child: int) -> int:
    """Wait for the one who supervises; if it was killed, what it had to look after has become ours to end."""
    stay_calm()
    release_pipes()
    status = reap(child)
    while status is None:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        status = reap(child)
    end(None)
    return status & 0xFF


def main(lifeline: int, command: list[str]) -> int:
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.set_inheritable(lifeline, False)
    parent = os.getpid()
    child = os.fork()
    return stand_by(child) if child else supervise(parent, lifeline, command)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
