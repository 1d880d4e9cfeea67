"""`tarsy serve --processes`: one process that serves the API and several that work, under a parent that starts, restarts and stops them.

The parent has loaded the program and forks, so that the loaded code is in memory once. It has neither threads nor an event loop, because they
do not survive a fork, and does nothing else that could fail. Each child holds one end of a pipe, the lifeline, whose other end only the
parent has: if the parent dies, the pipe is closed and the children stop.
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
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

import structlog

from tarsy.kit.process import has_lost_terminal, has_terminal, name_process
from tarsy.settings import LIFELINE, PROCESS_NAME, SHARING, ProcessRole

# The most sessions that one process works on at once: more sessions need more processes.
SESSIONS_PER_PROCESS = 50
# A busy worker process keeps half a core of PostgreSQL busy, and as much of the tools it calls.
CORES_PER_PROCESS = 2
# A process that fails again and again must neither be restarted all the time nor stay away for long.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
# Longer than any start, even one that waits for its database and migrates it.
START_SECONDS = 300.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)

# On other platforms system libraries do not support forking: there each process loads the program by itself.
FORKS = sys.platform == "linux"

# Runs the command line with these arguments in this process, and returns the exit status.
Command = Callable[[Sequence[str]], int]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process to run: its name in the logs, its role, and its command line."""

    name: str
    role: ProcessRole
    arguments: tuple[str, ...]


def default_processes(cores: int, max_concurrent_sessions: int) -> int:
    """Return how many worker processes the configured sessions need, but no more than the cores can feed; 1 means all in one process."""
    needed = -(-max_concurrent_sessions // SESSIONS_PER_PROCESS)
    return max(1, min(needed, cores // CORES_PER_PROCESS))


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return the cores that this process may use; a container's quota can be smaller than the machine."""
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    try:
        limit, period = quota.read_text().split()
        return max(1, min(usable, int(limit) // int(period)))
    except (OSError, ValueError):
        # No such file, or "max".
        return usable


def process_specs(count: int, *, host: str, port: int, more: Sequence[str]) -> tuple[ProcessSpec, ...]:
    """Return one API process at the address and `count` workers; the probes and metrics of the workers are at the ports that follow."""

    def spec(name: str, role: ProcessRole, number: int) -> ProcessSpec:
        own = str(port + number if port else 0)
        return ProcessSpec(name, role, ("serve", "--processes", "1", "--role", role, "--host", host, "--port", own, *more))

    return spec("api", ProcessRole.API, 0), *(spec(f"worker-{number}", ProcessRole.WORKER, number) for number in range(1, count + 1))


def fails_at_start(status: int, seconds: float, *, ended_before: bool) -> bool:
    """Whether a process that ended after `seconds` would only fail again: a port that is taken, a mistake in the configuration, no database."""
    return status > 0 and seconds < START_SECONDS and not ended_before


def restart_pause(last: float | None, seconds: float) -> float:
    """Return how long to wait before a process that ended after `seconds` is started again; `last` is the pause before this run of it, if any."""
    # One that has run for longer than any start fails for a new reason, and not again and again.
    return FIRST_PAUSE_SECONDS if last is None or seconds >= START_SECONDS else min(last * 2, LONGEST_PAUSE_SECONDS)


def run_processes(specs: Sequence[ProcessSpec], command: Command) -> int:
    """Keep all processes running until a signal says to stop; return the exit status. Load the program before this is called."""
    # As Python's manual advises before a fork: a collection would write into every page that the processes share.
    gc.freeze()
    lifeline, parent_end = os.pipe()
    try:
        with _Signals() as signals:
            return _Supervisor(specs, command, signals, lifeline, parent_end).run()
    finally:
        os.close(parent_end)
        os.close(lifeline)


class _Signals:
    """Collects signals, to be read one after the other, instead of their default actions."""

    def __enter__(self) -> Self:
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)

        def ignore(_number: int, _frame: FrameType | None) -> None:
            """Do nothing: the wakeup file descriptor receives the number of the signal."""

        self._before = {number: signal.signal(number, ignore) for number in SIGNALS}
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.restore()

    def restore(self) -> None:
        """Restore the actions that signals had before."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read_end)
        os.close(self._write_end)

    def wait(self, seconds: float | None) -> bytes:
        """Wait for signals, at most `seconds`, and return their numbers."""
        ready, _, _ = select.select([self._read_end], [], [], seconds)
        return os.read(self._read_end, 1024) if ready else b""


class _Supervisor:
    def __init__(self, specs: Sequence[ProcessSpec], command: Command, signals: _Signals, lifeline: int, parent_end: int) -> None:
        self._specs = specs
        self._command = command
        self._signals = signals
        self._lifeline = lifeline
        self._parent_end = parent_end
        self._running: dict[int, ProcessSpec] = {}
        # When processes that failed are started again, and how long the pause before that was.
        self._restart_at: dict[ProcessSpec, float] = {}
        self._pauses: dict[ProcessSpec, float] = {}
        self._started_at: dict[ProcessSpec, float] = {}
        # Kept: a Popen object that is collected while its process runs warns.
        self._spawned: list[subprocess.Popen[bytes]] = []
        self._had_terminal = has_terminal()
        self._stopping = False
        self._api_is_stopping = False
        self._status = 0

    def run(self) -> int:
        for spec in self._specs:
            self._start(spec)
        while self._running or self._restart_at:
            pause = max(0.0, min(self._restart_at.values()) - time.monotonic()) if self._restart_at else None
            for number in self._signals.wait(pause):
                self._handle(signal.Signals(number))
            self._reap()
            for spec in [spec for spec, due in self._restart_at.items() if due <= time.monotonic()]:
                del self._restart_at[spec]
                self._start(spec)
            # The API is served until the last session has ended or was released.
            if self._stopping and not self._api_is_stopping and all(spec.role is ProcessRole.API for spec in self._running.values()):
                self._api_is_stopping = True
                self._signal(ProcessRole.API)
        return self._status

    def _handle(self, number: signal.Signals) -> None:
        """First signal to stop: the workers finish what runs. Second: they release it at once. SIGHUP: all reload the configuration."""
        if number == signal.SIGCHLD:
            return
        if number == signal.SIGHUP and not has_lost_terminal(had_terminal=self._had_terminal):
            for pid in self._running:
                os.kill(pid, signal.SIGHUP)
            return
        log.info("processes.stopping", signal=number.name)
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self._restart_at.clear()
        self._signal(ProcessRole.WORKER)

    def _signal(self, role: ProcessRole) -> None:
        for pid, spec in self._running.items():
            if spec.role is role:
                os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        """Schedule the restart of processes that ended, unless they were stopped or would only fail again."""
        while self._running:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            spec, status = self._running.pop(pid, None), os.waitstatus_to_exitcode(wait_status)
            if spec is None:
                # Process 1 of a container, for one, adopts every process whose parent has ended.
                continue
            seconds = time.monotonic() - self._started_at[spec]
            if fails_at_start(status, seconds, ended_before=spec in self._pauses):
                # It has printed the reason.
                self._status = self._status or status
                self._stop()
            if self._stopping:
                continue
            pause = self._pauses[spec] = restart_pause(self._pauses.get(spec), seconds)
            log.warning("processes.ended", name=spec.name, status=status, again_in_seconds=pause)
            self._restart_at[spec] = time.monotonic() + pause

    def _start(self, spec: ProcessSpec) -> None:
        self._started_at[spec] = time.monotonic()
        self._running[self._fork(spec) if FORKS else self._spawn(spec)] = spec

    def _fork(self, spec: ProcessSpec) -> int:
        # Blocked: a signal that arrives before the child has restored its own actions would be written to the parent's pipe.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                self._run_child(spec)
            return pid
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _run_child(self, spec: ProcessSpec) -> NoReturn:  # pyrefly: ignore[bad-return] - it exits in the last line
        """Run the command in the new process and end it."""
        status = 1
        try:
            self._signals.restore()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            os.close(self._parent_end)
            # A terminal's Ctrl-C is for the parent, which stops its children in order.
            os.setsid()
            name_process(f"tarsy {spec.name}")
            devnull = os.open(os.devnull, os.O_RDONLY)
            os.dup2(devnull, 0)
            os.close(devnull)
            if spec.role is not ProcessRole.API:
                # The output of this command is the address to open, and nothing else.
                os.dup2(2, 1)
            os.environ.update(self._environment(spec))
            status = self._command(spec.arguments)
        except BaseException:  # noqa: BLE001 - the last guard: the parent's code must not continue in its child
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _spawn(self, spec: ProcessSpec) -> int:
        command = [sys.executable, "-P", "-c", "from tarsy.cli.main import main; main()", *spec.arguments]
        process = subprocess.Popen(  # noqa: S603 - ourselves
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if spec.role is ProcessRole.API else sys.stderr,
            env={**os.environ, **self._environment(spec)},
            start_new_session=True,
            pass_fds=(self._lifeline,),
        )
        self._spawned.append(process)
        return process.pid

    def _environment(self, spec: ProcessSpec) -> Mapping[str, str]:
        sharing = sum(one.role is ProcessRole.WORKER for one in self._specs)
        return {PROCESS_NAME: spec.name, SHARING: str(sharing), LIFELINE: str(self._lifeline)}
