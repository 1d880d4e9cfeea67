"""What a session costs: sessions per second, CPU and transactions per iteration, how near that is to what PostgreSQL can do, and memory."""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio
import asyncpg
import psutil
import sqlalchemy as sa
import structlog
from machine import interpreter_start_ms
from sqlalchemy.ext.asyncio import AsyncEngine
from workload import CALLS_PER_SESSION, CountingJournal, load

from tarsy.db.connection import POOL_SIZE, create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "40"))
CONCURRENCY = 8
CROWD = 200
GOAL_MB = 500
_COMMITTED = sa.text("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
_STATS = sa.text("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()")


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def raw_commits(url: str, seconds: float = 3.0) -> float:
    """Transactions per second of the smallest kind (one row, one commit), over as many connections as a process uses."""
    connections = [await asyncpg.connect(url) for _ in range(POOL_SIZE)]
    await connections[0].execute("CREATE TABLE bench_commits (n bigint GENERATED ALWAYS AS IDENTITY, filler text)")
    done = 0
    end = time.monotonic() + seconds

    async def loop(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        nonlocal done
        while time.monotonic() < end:
            await connection.execute("INSERT INTO bench_commits (filler) VALUES ($1)", "x" * 200)
            done += 1

    async with anyio.create_task_group() as tasks:
        for connection in connections:
            tasks.start_soon(loop, connection)
    for connection in connections:
        await connection.close()
    return done / seconds


async def committed(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        await connection.execute(_STATS)
        return (await connection.execute(_COMMITTED)).scalar_one()


async def throughput(engine: AsyncEngine, url: str) -> None:
    async with load(engine, concurrency=CONCURRENCY) as warm_up:
        await warm_up.submit(CONCURRENCY)
        await warm_up.run_waiting()
    async with load(engine, concurrency=CONCURRENCY) as running:
        await running.submit(SESSIONS)
        CountingJournal.steps = 0
        before, cpu, started = await committed(engine), cpu_seconds(), time.monotonic()
        await running.run_waiting()
        elapsed, cpu = time.monotonic() - started, cpu_seconds() - cpu
        transactions = await committed(engine) - before
    calls = SESSIONS * CALLS_PER_SESSION
    possible = await raw_commits(url)
    print(f"sessions/s                        {SESSIONS / elapsed:8.1f}   ({CALLS_PER_SESSION} model calls each, {CONCURRENCY} at once)")
    print(f"iterations/s                      {calls / elapsed:8.1f}")
    print(f"CPU ms per iteration              {cpu / calls * 1000:8.2f}")
    start = interpreter_start_ms()
    print(
        f"CPU ms per session                {cpu / SESSIONS * 1000:8.2f}   = {cpu / SESSIONS * 1000 / start:.1f} starts of an interpreter ({start:.1f} ms here)"
    )
    print(f"steps (journal) per iteration     {CountingJournal.steps / calls:8.2f}")
    print(f"transactions per iteration        {transactions / calls:8.2f}   (all that PostgreSQL counted, reads included)")
    print(f"PostgreSQL alone, commits/s       {possible:8.0f}   (one row each, same number of connections)")
    print(f"ratio to what it could commit     {CountingJournal.steps / elapsed / possible:8.1%}   (steps/s against commits/s)")


async def memory(engine: AsyncEngine) -> bool:
    """Resident memory of this process while CROWD sessions are in the middle of their investigations."""
    process, peak, running_most = psutil.Process(), 0, 0
    async with load(engine, concurrency=CROWD, pause=1.0) as crowd, anyio.create_task_group() as tasks:
        await crowd.submit(CROWD)
        tasks.start_soon(crowd.run_waiting)
        while (state := await crowd.sessions.queue_state()).pending + state.running:
            running_most = max(running_most, state.running)
            peak = max(peak, process.memory_info().rss)
            await anyio.sleep(0.2)
    print(f"RSS with {running_most} live sessions        {peak / 1024 / 1024:8.0f} MB (goal: under {GOAL_MB})")
    return running_most == CROWD and peak < GOAL_MB * 1024 * 1024


async def main(directory: Path) -> bool:
    server = EmbeddedServer(directory)
    await anyio.to_thread.run_sync(server.open)
    try:
        engine = create_engine(server.url)
        await upgrade(engine)
        await throughput(engine, server.url)
        small_enough = await memory(engine)
        await engine.dispose()
    finally:
        await anyio.to_thread.run_sync(server.close)
    return small_enough


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        sys.exit(0 if anyio.run(main, Path(name)) else 1)
