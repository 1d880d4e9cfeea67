"""A rehearsal of many live sessions: several processes on one PostgreSQL, and a model that answers at human speed. Not part of `make bench`: it
takes as long as its model does. Prints what sizes an installation: CPU, memory, connections and disk for each session.

REHEARSAL_SESSIONS (2,000) live at once, in REHEARSAL_PROCESSES (4), each answer after REHEARSAL_SECONDS (40), REHEARSAL_TURNS (3) with a tool. They come
within REHEARSAL_RAMP (120) seconds, and so long their model thinks before its first answer: so all are live before the first ends.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import anyio
import asyncpg
import psutil
import structlog
from machine import interpreter_start_ms
from workload import load

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade

SESSIONS = int(os.environ.get("REHEARSAL_SESSIONS", "2000"))
PROCESSES = int(os.environ.get("REHEARSAL_PROCESSES", "4"))
SECONDS = float(os.environ.get("REHEARSAL_SECONDS", "40"))
RAMP = float(os.environ.get("REHEARSAL_RAMP", "120"))
# Of each process, for sessions that come or end in minutes.
LOOK_SECONDS = 2.0
# As in the sessions that are compared with the Go version: three turns with a tool, an answer, a summary.
TURNS = int(os.environ.get("REHEARSAL_TURNS", "3"))
STATES = "SELECT count(*) FILTER (WHERE status = 'in_progress'), count(*) FROM alert_sessions"
SIZE = "SELECT pg_database_size(current_database())"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tarsy'"


async def work(url: str) -> None:
    """One process: its share of the sessions, all at once."""
    engine, share = create_engine(url), SESSIONS // PROCESSES
    async with (
        load(engine, concurrency=share, pause=SECONDS, turns=TURNS, first=RAMP, limit=SESSIONS) as running,
        anyio.create_task_group() as tasks,
    ):
        await running.submit(1)
        tasks.start_soon(partial(running.submit, share - 1, over=RAMP * 0.9))
        await running.run_waiting(LOOK_SECONDS)
    await engine.dispose()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def started(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, __file__, url], stdout=subprocess.PIPE, text=True)


async def watch(url: str, workers: list[subprocess.Popen[str]]) -> tuple[int, int]:
    """Until all have ended: how many sessions were live, and how many connections open, at the most."""
    connection, most, widest = await asyncpg.connect(url), 0, 0
    while any(worker.poll() is None for worker in workers):
        live, _ = await connection.fetchrow(STATES) or (0, 0)
        most, widest = max(most, live), max(widest, await connection.fetchval(CONNECTIONS))
        await anyio.sleep(1)
    await connection.close()
    return most, widest


async def rehearse(url: str, postmaster: psutil.Process) -> int:
    engine = create_engine(url)
    await upgrade(engine)
    await engine.dispose()
    connection = await asyncpg.connect(url)
    size, theirs, begun = await connection.fetchval(SIZE), backends(postmaster), time.monotonic()
    workers = [started(url) for _ in range(PROCESSES)]
    most, widest = await watch(url, workers)
    reported = [[float(word) for word in worker.communicate()[0].split()] for worker in workers]
    assert all(worker.returncode == 0 for worker in workers), "a process broke"
    elapsed, theirs = time.monotonic() - begun, backends(postmaster) - theirs
    done = await connection.fetchval("SELECT count(*) FROM alert_sessions WHERE status = 'completed'")
    disk = (await connection.fetchval(SIZE) - size) / done
    await connection.close()
    own = sum(cpu for cpu, _ in reported) / done * 1000
    per_core = 3600_000 / (own + theirs / done * 1000)
    print(f"live at once              {most:9d}   sessions in {PROCESSES} processes, {done} completed in {elapsed:.0f} s")
    print(f"CPU ms per session        {own:9.1f}   ours, starts included   ({own / interpreter_start_ms():.1f} starts of an interpreter)")
    print(f"CPU ms per session        {theirs / done * 1000:9.1f}   PostgreSQL's")
    print(f"sessions per hour, core   {per_core:9.0f}   with the database on the same cores")
    print(f"RSS of a process, MB      {max(rss for _, rss in reported):9.0f}   with {SESSIONS // PROCESSES} live sessions")
    print(f"connections               {widest:9d}   at the most")
    print(f"disk per session, KB      {disk / 1024:9.1f}   of the database, indexes included")
    return 0 if (most, done) == (SESSIONS, SESSIONS) else 1


def backends(postmaster: psutil.Process) -> float:
    """CPU seconds of PostgreSQL so far, those of ended backends included."""
    return sum(postmaster.cpu_times()[:4]) + sum(sum(backend.cpu_times()[:2]) for backend in postmaster.children())


def main() -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    if len(sys.argv) > 1:
        anyio.run(work, sys.argv[1])
        return 0
    with tempfile.TemporaryDirectory(prefix="tarsy-rehearsal-") as name:
        directory = Path(name) / "data"
        Path(name).chmod(0o711)
        server = EmbeddedServer(directory)
        server.open()
        try:
            pid = int((directory / "postgres" / "postmaster.pid").read_text().split()[0])
            return anyio.run(rehearse, server.url, psutil.Process(pid))
        finally:
            server.close()


if __name__ == "__main__":
    sys.exit(main())
