"""`tarsy serve --processes`: one process that serves people and several that work, under a parent that starts, restarts and stops them.

The parent does nothing else, so that nothing brings it down. Each of its processes holds one end of a pipe whose other end only the parent
has: whatever ends the parent closes it, and they end, too.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog
from anyio.abc import Process

from tarsy.kit.terminal import has_terminal
from tarsy.settings import LIFELINE, PROCESS_NAME, SHARING, Role

# What one process works on at once, at most: more sessions need more processes.
SESSIONS_PER_PROCESS = 50
# A process that works keeps half a core of PostgreSQL busy, and as much of what it calls.
CORES_PER_PROCESS = 2
# What breaks again and again shall neither spin nor stay away for long.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0

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


async def run_processes(wanted: Sequence[Part]) -> int:
    """Keep all of them running until told to stop; answers with the exit status."""
    lifeline, mine = os.pipe()
    try:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            return await _Family(wanted, lifeline).live(signals)
    finally:
        os.close(mine)
        os.close(lifeline)


class _Family:
    def __init__(self, wanted: Sequence[Part], lifeline: int) -> None:
        self._wanted = wanted
        self._lifeline = lifeline
        self._running: dict[str, Process] = {}
        self._stopping = anyio.Event()
        # Who was told to end: what is started at this very moment is told as well.
        self._told: set[Role] = set()
        self._status = 0

    async def live(self, signals: AsyncIterator[signal.Signals]) -> int:
        async with anyio.create_task_group() as everything:
            everything.start_soon(self._obey, signals, name="signals")
            async with anyio.create_task_group() as serving:
                async with anyio.create_task_group() as working:
                    for part in self._wanted:
                        group = working if part.role is Role.WORKER else serving
                        group.start_soon(self._keep, part, name=part.name)
                # People are served until the last session has ended or was handed back.
                self._tell(Role.API)
            everything.cancel_scope.cancel()
        return self._status

    async def _obey(self, signals: AsyncIterator[signal.Signals]) -> None:
        """First signal to stop: the workers finish what runs. Second: they hand it back at once. A hang-up: read the configuration anew."""
        had_terminal = has_terminal()
        async for number in signals:
            # A terminal that is closed says the same as `kill -HUP`, and means that the person has left.
            if number == signal.SIGHUP and not (had_terminal and not has_terminal()):
                for process in self._running.values():
                    process.send_signal(signal.SIGHUP)
                continue
            log.info("processes.stopping", signal=signal.Signals(number).name)
            self._stop()

    def _stop(self) -> None:
        self._stopping.set()
        self._tell(Role.WORKER)

    def _tell(self, role: Role) -> None:
        self._told.add(role)
        for part in self._wanted:
            if part.role is role and (process := self._running.get(part.name)):
                process.terminate()

    async def _keep(self, part: Part) -> None:
        """Run a process, and run it again when it ends without having been told to."""
        pause = FIRST_PAUSE_SECONDS
        status = await self._run(part)
        if status > 0:
            # It has said why: a port that is taken, a mistake in the configuration, no database. Starting again would not mend it.
            self._status = self._status or status
            self._stop()
        while not self._stopping.is_set():
            log.warning("processes.ended", name=part.name, status=status, again_in_seconds=pause)
            with anyio.move_on_after(pause):
                await self._stopping.wait()
                return
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            status = await self._run(part)

    async def _run(self, part: Part) -> int:
        process = await anyio.open_process(
            [sys.executable, "-P", "-c", "from tarsy.cli.main import main; main()", *part.arguments],
            stdin=subprocess.DEVNULL,
            # The address to open is the only answer of this command.
            stdout=None if part.role is Role.API else sys.stderr,
            stderr=None,
            env={**os.environ, **self._environment(part)},
            # A terminal's Ctrl-C is meant for the parent, who tells them in order.
            start_new_session=True,
            pass_fds=(self._lifeline,),
        )
        self._running[part.name] = process
        try:
            if part.role in self._told:
                process.terminate()
            return await process.wait()
        finally:
            del self._running[part.name]

    def _environment(self, part: Part) -> Mapping[str, str]:
        sharing = sum(one.role is Role.WORKER for one in self._wanted)
        return {PROCESS_NAME: part.name, SHARING: str(sharing), LIFELINE: str(self._lifeline)}
