"""What the whole program costs: `tarsy serve` with a stdio tool server and a recorded model, asked over HTTP. CPU of its own process, of all that it
started, and of PostgreSQL, in milliseconds and in starts of an interpreter, so that runs on different machines compare; memory, idle and at work.

BENCH_SESSIONS (60) sets how many sessions, BENCH_ALERTS (1,000) how many alerts.
"""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import asyncpg
import httpx
import psutil
import structlog
from bench_sessions import interpreter_start_ms
from processes import Processes, percentile, processes

from tarsy.db.connection import create_engine
from tarsy.db.migrate import upgrade
from tarsy.domain.recording import RecordedCall, RecordedChunk, RecordedToolCallChunk, Recording
from tarsy.domain.usage import TokenUsage

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "60"))
ALERTS = int(os.environ.get("BENCH_ALERTS", "1000"))
SENDERS = 32
WORKERS = 5
ALERT = {"alert_type": "bench", "data": "HighErrorRate: checkout answers 5xx since 09:41. " * 20}
TOOL = Path(__file__).with_name("tool_server.sh")
YAML = f"""
queue: {{worker_count: {WORKERS}, max_concurrent_sessions: {WORKERS}, graceful_shutdown_timeout: 1s}}
defaults: {{llm_provider: recorded, alert_type: bench, scoring: {{enabled: false}}}}
mcp_servers:
  bench: {{transport: {{type: stdio, command: {TOOL}}}}}
  kubernetes-server: {{transport: {{type: stdio, command: {TOOL}, args: []}}}}
agents:
  Investigator: {{description: looks three times, mcp_servers: [bench]}}
agent_chains:
  bench:
    alert_types: [bench]
    stages:
      - {{name: investigation, agents: [{{name: Investigator}}]}}
"""
OPEN = "SELECT count(*) FROM alert_sessions WHERE completed_at IS NULL"


def recording() -> Recording:
    """Three turns with a tool, an answer of 2 kB in a hundred pieces, its correction, and a summary."""
    usage = RecordedChunk(usage=TokenUsage(input_tokens=4000, output_tokens=120, total_tokens=4120))
    track = "0.investigation/1.Investigator"

    def look(turn: int) -> RecordedCall:
        call = RecordedToolCallChunk(id=f"call-{turn}", name="bench.look", arguments={"at": turn})
        return RecordedCall(track=track, turn=turn, chunks=(RecordedChunk(text="I look."), RecordedChunk(tool_call=call), usage))

    words = (*(RecordedChunk(text=f"finding {number:02d} is clear. ") for number in range(100)), usage)
    answers = (RecordedCall(track=track, turn=turn, chunks=words) for turn in (3, 4))
    summary = RecordedCall(track="1.executive summary/1.ExecSummaryAgent", turn=0, chunks=(RecordedChunk(text="Roll it back."), usage))
    return Recording(calls=(*map(look, range(3)), *answers, summary))


@dataclass(frozen=True, slots=True)
class Cpu:
    """Milliseconds so far."""

    own: float
    below: float
    database: float

    def since(self, before: "Cpu", count: int) -> "Cpu":
        return Cpu((self.own - before.own) / count, (self.below - before.below) / count, (self.database - before.database) / count)


@dataclass(frozen=True, slots=True)
class Program:
    address: str
    process: psutil.Process
    postmaster: psutil.Process
    start: float

    def cpu(self) -> Cpu:
        own = sum(self.process.cpu_times()[:2])
        return Cpu(own * 1000, _family(self.process) * 1000 - own * 1000, _family(self.postmaster) * 1000)

    def tell(self, what: str, cost: Cpu, more: str = "") -> None:
        ours = cost.own + cost.below
        starts = ours / self.start
        print(
            f"{what:28} {ours:8.2f} ms = {starts:6.2f} starts   (own {cost.own:.2f}, tool servers {cost.below:.2f}; PostgreSQL {cost.database:.2f}) {more}"
        )


def _family(process: psutil.Process) -> float:
    """CPU seconds of a process and of all below it, the ended ones included."""
    below = process.children(recursive=True)
    return sum(process.cpu_times()[:4]) + sum(sum(child.cpu_times()[:4]) for child in below)


def _mb(size: int) -> float:
    return size / 1024 / 1024


async def send(program: Program, count: int) -> list[float]:
    """Send alerts over as many connections as a crowd of senders has; the seconds that each took."""
    taken, left = list[float](), iter(range(count))
    async with httpx.AsyncClient(base_url=program.address, timeout=60) as client:

        async def sender() -> None:
            for _ in left:
                begun = time.monotonic()
                (await client.post("/api/v1/alerts", json=ALERT)).raise_for_status()
                taken.append(time.monotonic() - begun)

        async with anyio.create_task_group() as tasks:
            for _ in range(SENDERS):
                tasks.start_soon(sender)
    return taken


async def finished(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    left = 1
    while left:
        await anyio.sleep(0.05)
        left = await connection.fetchval(OPEN)


async def sessions(program: Program, url: str) -> None:
    connection = await asyncpg.connect(url)
    # The first ones load what the others find loaded.
    await send(program, WORKERS * 2)
    await finished(connection)
    before, begun = program.cpu(), time.monotonic()
    await send(program, SESSIONS)
    await finished(connection)
    rate = SESSIONS / (time.monotonic() - begun)
    program.tell("session", program.cpu().since(before, SESSIONS), f"{rate:.1f} per second with {WORKERS} workers")
    below = sum(child.memory_info().rss for child in program.process.children(recursive=True))
    print(f"{'RSS after sessions':28} {_mb(program.process.memory_info().rss):8.1f} MB, {_mb(below):.1f} below it")
    failed = await connection.fetchval("SELECT count(*) FROM alert_sessions WHERE status <> 'completed'")
    assert failed == 0, f"{failed} sessions did not complete"
    await connection.close()


async def acceptance(program: Program) -> None:
    """Alerts while nothing is worked on, as in a storm that fills the queue."""
    async with httpx.AsyncClient(base_url=program.address, timeout=60) as client:
        (await client.post("/api/v1/system/pause", json={"reason": "bench"})).raise_for_status()
    await send(program, SENDERS)
    before, begun = program.cpu(), time.monotonic()
    taken = await send(program, ALERTS)
    rate = ALERTS / (time.monotonic() - begun)
    told = f"{rate:.0f} per second, p50 {percentile(taken, 0.5):.1f} ms, p99 {percentile(taken, 0.99):.1f} ms with {SENDERS} senders"
    program.tell("alert accepted", program.cpu().since(before, ALERTS), told)


async def migrated(url: str) -> None:
    engine = create_engine(url)
    await upgrade(engine)
    await engine.dispose()


@contextmanager
def program(started: Processes) -> Generator[Program]:
    start = interpreter_start_ms()
    print(f"{'start of an interpreter':28} {start:8.2f} ms")
    # A first start brings the schema up to date, and is heavier for it.
    anyio.run(migrated, started.database_url)
    address = started.serve("all")
    process = psutil.Process(started.running[-1].pid)
    loaded = sum(process.cpu_times()[:2]) * 1000
    print(f"{'start, until it is ready':28} {loaded:8.2f} ms = {loaded / start:6.2f} starts")
    # Until its first look at the tool servers is over.
    time.sleep(5)
    print(f"{'RSS idle':28} {_mb(process.memory_info().rss):8.1f} MB")
    yield Program(address, process, psutil.Process(started.postmaster), start)


def main(started: Processes) -> int:
    with program(started) as running:
        anyio.run(sessions, running, started.database_url)
        anyio.run(acceptance, running)
    return 0


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with processes(YAML, recording()) as everything:
        sys.exit(main(everything))
