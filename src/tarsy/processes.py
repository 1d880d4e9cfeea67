"""`tarsy serve --processes`: one process that serves people and several that work, under a parent that starts, restarts and stops them.

The parent loads the program and forks, so that what was loaded is in memory once. It has neither threads nor an event loop, which do not outlive a fork, and
does nothing else, so that nothing brings it down. Each of its processes holds one end of a pipe whose other end only the parent has: whatever
ends the parent closes it, and they end, too.
"""

import gc
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

import structlog

from tarsy.kit.process import has_terminal, name_process
from tarsy.settings import LIFELINE, PROCESS_NAME, SHARING, Role

# What one process works on at once, at most: more sessions need more processes.
SESSIONS_PER_PROCESS = 50
# A process that works keeps half a core of PostgreSQL busy, and as much of what it calls.
CORES_PER_PROCESS = 2
# What breaks again and again shall neither spin nor stay away for long.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
# What the processes have in common: the application, and what works on sessions.
PROGRAM = ("tarsy.server", "tarsy.wiring", "tarsy.session.executor", "tarsy.session.followup")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)

# Elsewhere, libraries of the system do not bear it: there each process loads the program for itself.
FORKS = sys.platform == "linux"

# The command line with other arguments, in this process; answers with its exit status.
Command = Callable[[Sequence[str]], int]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the processes: its name in the logs, and what it is told to be."""

    name: str
    role: Role
    arguments: tuple[str, ...]


def default_processes(cores: int, max_concurrent_sessions: int) -> int:
    """As many as the sessions that may run at once need, and no more than the cores can feed; 1: all in one process."""
    needed = -(-max_concurrent_sessions // SESSIONS_PER_PROCESS)
    return max(1, min(needed, cores // CORES_PER_PROCESS))


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores that this process may use; a container's share of them can be smaller than what the machine has."""
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        limit, period = quota.read_text().split()
        return max(1, min(usable, int(limit) // int(period)))
    except (OSError, ValueError):
        # No such file, or "max".
        return usable


def parts(count: int, *, host: str, port: int, more: Sequence[str]) -> tuple[Part, ...]:
    """One process that serves at the address, and `count` that work; their probes and numbers are at the ports that follow."""

    def part(name: str, role: Role, number: int) -> Part:
        own = str(port + number if port else 0)
        return Part(name, role, ("serve", "--processes", "1", "--role", role, "--host", host, "--port", own, *more))

    return part("api", Role.API, 0), *(part(f"worker-{number}", Role.WORKER, number) for number in range(1, count + 1))


def run_processes(wanted: Sequence[Part], command: Command) -> int:
    """Keep all of them running until told to stop, each by the `command` with its arguments; answers with the exit status."""
    _load_program()
    lifeline, mine = os.pipe()
    try:
        with _Signals() as signals:
            return _Family(wanted, command, signals, lifeline, mine).live()
    finally:
        os.close(mine)
        os.close(lifeline)


def _load_program() -> None:
    if not FORKS:
        return
    for name in PROGRAM:
        import_module(name)
    # A collector that looked through what was loaded would write into each page of it, and the process would have it for itself.
    gc.freeze()


def _note(_number: int, _frame: FrameType | None) -> None:
    """It is enough that the signal wakes us."""


class _Signals:
    """Signals to be read one after the other, in place of what they would do."""

    def __enter__(self) -> Self:
        self._reads, self._writes = os.pipe()
        for end in (self._reads, self._writes):
            os.set_blocking(end, False)
        self._before = {number: signal.signal(number, _note) for number in SIGNALS}
        signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Let signals do again what they did before."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reads)
        os.close(self._writes)

    def heard(self, seconds: float | None) -> bytes:
        """The numbers of those that came; waits for the first of them, but not for longer than this."""
        ready, _, _ = select.select([self._reads], [], [], seconds)
        return os.read(self._reads, 1024) if ready else b""


class _Family:
    def __init__(self, wanted: Sequence[Part], command: Command, signals: _Signals, lifeline: int, mine: int) -> None:
        self._wanted = wanted
        self._command = command
        self._signals = signals
        self._lifeline = lifeline
        self._mine = mine
        self._running: dict[int, Part] = {}
        # When those that ended without having been told to are started again, and after which pause the next time.
        self._due: dict[Part, float] = {}
        self._pauses: dict[Part, float] = {}
        self._spawned: list[subprocess.Popen[bytes]] = []
        self._had_terminal = has_terminal()
        self._stopping = False
        # Until the process that serves people was told to end.
        self._serving = True
        self._status = 0

    def live(self) -> int:
        for part in self._wanted:
            self._start(part)
        while self._running or self._due:
            for number in self._signals.heard(self._patience()):
                self._obey(signal.Signals(number))
            self._reap()
            self._start_due()
            self._end_serving()
        return self._status

    def _patience(self) -> float | None:
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None

    def _obey(self, number: signal.Signals) -> None:
        """First signal to stop: the workers finish what runs. Second: they hand it back at once. A hang-up: read the configuration anew."""
        if number == signal.SIGCHLD:
            return
        # A terminal that is closed says the same as `kill -HUP`, and means that the person has left.
        if number == signal.SIGHUP and not (self._had_terminal and not has_terminal()):
            for pid in self._running:
                os.kill(pid, signal.SIGHUP)
            return
        log.info("processes.stopping", signal=number.name)
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self._due.clear()
        self._tell(Role.WORKER)

    def _end_serving(self) -> None:
        """People are served until the last session has ended or was handed back."""
        if self._stopping and self._serving and all(part.role is Role.API for part in self._running.values()):
            self._serving = False
            self._tell(Role.API)

    def _tell(self, role: Role) -> None:
        for pid, part in self._running.items():
            if part.role is role:
                os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._ended(self._running.pop(pid), os.waitstatus_to_exitcode(status))

    def _ended(self, part: Part, status: int) -> None:
        """Have it started again, unless it was told to end or would only end again."""
        if status > 0 and part not in self._pauses:
            # It has said why: a port that is taken, a mistake in the configuration, no database. Starting again would not mend it.
            self._status = self._status or status
            self._stop()
        if self._stopping:
            return
        pause = self._pauses.get(part, FIRST_PAUSE_SECONDS)
        log.warning("processes.ended", name=part.name, status=status, again_in_seconds=pause)
        self._due[part] = time.monotonic() + pause
        self._pauses[part] = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _start_due(self) -> None:
        for part in [part for part, due in self._due.items() if due <= time.monotonic()]:
            del self._due[part]
            self._start(part)

    def _start(self, part: Part) -> None:
        self._running[self._fork(part) if FORKS else self._spawn(part)] = part

    def _fork(self, part: Part) -> int:
        # A signal that comes before the process has let go of ours would be read by us.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                self._become(part)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _become(self, part: Part) -> NoReturn:
        """Do in this new process what the command would do in one of its own."""
        status = 1
        try:
            self._signals.give_back()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            os.close(self._mine)
            _settle(part)
            os.environ.update(self._environment(part))
            status = self._command(part.arguments)
        except BaseException:  # noqa: BLE001 - the last guard: the parent's code must not go on in its child
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _spawn(self, part: Part) -> int:
        command = [sys.executable, "-P", "-c", "from tarsy.cli.main import main; main()", *part.arguments]
        process = subprocess.Popen(  # noqa: S603 - ourselves
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if part.role is Role.API else sys.stderr,
            env={**os.environ, **self._environment(part)},
            start_new_session=True,
            pass_fds=(self._lifeline,),
        )
        self._spawned.append(process)
        return process.pid

    def _environment(self, part: Part) -> Mapping[str, str]:
        sharing = sum(one.role is Role.WORKER for one in self._wanted)
        return {PROCESS_NAME: part.name, SHARING: str(sharing), LIFELINE: str(self._lifeline)}


def _settle(part: Part) -> None:
    # A terminal's Ctrl-C is meant for the parent, who tells them in order.
    os.setsid()
    name_process(f"tarsy {part.name}")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    if part.role is not Role.API:
        # The address to open is the only answer of this command.
        os.dup2(2, 1)
