"""What the whole program costs: `tarsy serve` with a stdio tool server that costs nothing, asked over HTTP. CPU of its own process, of all that it
started, and of PostgreSQL, in milliseconds and in starts of an interpreter, so that runs on different machines compare; its model in process and
over gRPC; memory, idle and with many live sessions, of `--processes 4`, and what loading the MCP SDK adds.

BENCH_SESSIONS (60) sets how many sessions, BENCH_ALERTS (1,000) how many alerts, BENCH_LIVE (200) how many live sessions.
"""

import os
import subprocess
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
from machine import Machine, measured
from processes import Processes, percentile, processes

from tarsy.db.connection import create_engine
from tarsy.db.migrate import upgrade
from tarsy.domain.recording import RecordedCall, RecordedChunk, RecordedToolCallChunk, Recording
from tarsy.domain.usage import TokenUsage

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "60"))
ALERTS = int(os.environ.get("BENCH_ALERTS", "1000"))
LIVE = int(os.environ.get("BENCH_LIVE", "200"))
SENDERS = 32
FEW, MANY = 5, 50
# Long enough for all live sessions to wait for their model at once.
THINKING_SECONDS = 60.0
# Until its first look at the tool servers is over.
SETTLING_SECONDS = 5
ALERT = {"alert_type": "bench", "data": "HighErrorRate: checkout answers 5xx since 09:41. " * 20}
# One process that serves and four that work, under one parent or each by itself.
WORKERS = 4
TOGETHER = (("all", "--processes", str(WORKERS)),)
APART = (("api",), *(("worker",) for _ in range(WORKERS)))
# In a process that has what an idle server has.
SDK = """
import psutil, time, tarsy.wiring.application
own = psutil.Process()
held, used = own.memory_info().rss, time.process_time()
import mcp
print(f"{(own.memory_info().rss - held) / 2**20:.1f} MB, {time.process_time() - used:.2f} s of CPU")
"""
TOOL = Path(__file__).with_name("tool_server.sh")
OPEN = "SELECT count(*) FROM alert_sessions WHERE completed_at IS NULL"
BEGUN = "SELECT count(*) FROM alert_sessions WHERE status = 'in_progress'"
VERDICT = """
It runs [A1: "pod/checkout-7d9f8b6c5-x2x4z   1/1   Running   3h"].

```verdict
outcome: no_fault
mechanism: nothing is wrong
confidence: high
evidence: [A1]
```
"""


def settings(workers: int, concurrent: int) -> str:
    return f"""
queue: {{worker_count: {workers}, max_concurrent_sessions: {concurrent}, graceful_shutdown_timeout: 1s}}
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


def recording(ending: str = VERDICT, *, thinking: float = 0.0) -> Recording:
    """Three turns with a tool, an answer of 2 kB in a hundred pieces, and a summary; the correction, too, that an answer without a verdict is asked for."""
    usage = RecordedChunk(usage=TokenUsage(input_tokens=4000, output_tokens=120, total_tokens=4120))
    track = "0.investigation/1.Investigator"

    def inspect(turn: int) -> RecordedCall:
        call = RecordedToolCallChunk(id=f"call-{turn}", name="bench.look", arguments={"at": turn})
        return RecordedCall(
            track=track, turn=turn, chunks=(RecordedChunk(text="I look.", after=thinking), RecordedChunk(tool_call=call), usage)
        )

    words = (*(RecordedChunk(text=f"finding {number:02d} is clear. ") for number in range(100)), RecordedChunk(text=ending), usage)
    answers = (RecordedCall(track=track, turn=turn, chunks=words) for turn in (3, 4))
    summary = RecordedCall(track="1.executive summary/1.ExecSummaryAgent", turn=0, chunks=(RecordedChunk(text="Roll it back."), usage))
    return Recording(calls=(*map(inspect, range(3)), *answers, summary))


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
    url: str
    process: psutil.Process
    postmaster: psutil.Process
    machine: Machine

    def cpu(self) -> Cpu:
        own = sum(self.process.cpu_times()[:2])
        return Cpu(own * 1000, _family(self.process) * 1000 - own * 1000, _family(self.postmaster) * 1000)

    def report(self, what: str, cost: Cpu, more: str = "") -> None:
        parts = f"own {cost.own:.2f}, tool servers {cost.below:.2f}; PostgreSQL {cost.database:.2f}"
        print(f"{what:34} {self.machine.cpu(cost.own + cost.below)}   ({parts}) {more}")


def _family(process: psutil.Process) -> float:
    """CPU seconds of a process and of all below it, the ended ones included."""
    below = process.children(recursive=True)
    return sum(process.cpu_times()[:4]) + sum(sum(child.cpu_times()[:4]) for child in below)


def _memory(processes: list[psutil.Process]) -> str:
    """What they hold, and what of it the machine has to have: pages that several share are counted once."""
    reported = [process.memory_full_info() for process in processes]
    return f"{sum(one.rss for one in reported) / 2**20:8.1f} MB, PSS {sum(one.pss for one in reported) / 2**20:.1f} MB"


async def send(address: str, count: int) -> list[float]:
    """Send alerts over as many connections as a crowd of senders has; the seconds that each took."""
    taken, left = list[float](), iter(range(count))
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:

        async def sender() -> None:
            for _ in left:
                begun = time.monotonic()
                (await client.post("/api/v1/alerts", json=ALERT)).raise_for_status()
                taken.append(time.monotonic() - begun)

        async with anyio.create_task_group() as tasks:
            for _ in range(SENDERS):
                tasks.start_soon(sender)
    return taken


async def until(url: str, query: str, wanted: int) -> None:
    connection, found = await asyncpg.connect(url), -1
    while found != wanted:
        await anyio.sleep(0.05)
        found = await connection.fetchval(query)
    await connection.close()


async def sessions(program: Program, what: str, workers: int) -> None:
    # The first ones load what the others find loaded.
    await send(program.address, workers)
    await until(program.url, OPEN, 0)
    before, begun = program.cpu(), time.monotonic()
    await send(program.address, SESSIONS)
    await until(program.url, OPEN, 0)
    rate = SESSIONS / (time.monotonic() - begun)
    program.report(f"session, {what}", program.cpu().since(before, SESSIONS), f"{rate:.1f} per second with {workers} workers")
    connection = await asyncpg.connect(program.url)
    failed = await connection.fetchval("SELECT count(*) FROM alert_sessions WHERE status <> 'completed'")
    await connection.close()
    assert failed == 0, f"{failed} sessions did not complete"


async def acceptance(program: Program) -> None:
    """Alerts while nothing is worked on, as in a storm that fills the queue."""
    async with httpx.AsyncClient(base_url=program.address, timeout=60) as client:
        (await client.post("/api/v1/system/pause", json={"reason": "bench"})).raise_for_status()
        await send(program.address, SENDERS)
        before, begun = program.cpu(), time.monotonic()
        taken = await send(program.address, ALERTS)
        rate = ALERTS / (time.monotonic() - begun)
        reported = f"{rate:.0f} per second with {SENDERS} senders, whose CPU is the benchmark's own"
        program.report("alert accepted", program.cpu().since(before, ALERTS), reported)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            print(f"{f'alert accepted, {name}':34} {program.machine.wait(percentile(taken, share))}")
    connection = await asyncpg.connect(program.url)
    await connection.execute("TRUNCATE alert_sessions, work, pauses CASCADE")
    await connection.close()


async def few(program: Program) -> None:
    await send(program.address, FEW)
    await until(program.url, OPEN, 0)


def statements(program: Program, log: Path) -> None:
    """What PostgreSQL was asked, by its own account."""
    anyio.run(few, program)
    before = log.stat().st_size
    anyio.run(few, program)
    reported = log.read_bytes()[before:]
    count = reported.count(b"LOG:  execute") + reported.count(b"LOG:  statement")
    print(f"{'statements of a session':34} {count / FEW:8.1f}   (the queries of this benchmark and heartbeats included)")


async def log_statements(url: str, which: str) -> None:
    connection = await asyncpg.connect(url)
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f'ALTER DATABASE "{name}" SET log_statement = {which}')
    await connection.close()


async def migrated(url: str) -> None:
    engine = create_engine(url)
    await upgrade(engine)
    await engine.dispose()


@contextmanager
def program(started: Processes, machine: Machine, **environment: str) -> Generator[Program]:
    address = started.serve("all", **environment)
    own = started.running[-1]
    time.sleep(SETTLING_SECONDS)
    yield Program(address, started.database_url, psutil.Process(own.pid), psutil.Process(started.postmaster), machine)
    started.stop(own)


def compare(started: Processes, machine: Machine) -> None:
    """A session with few workers and with many, its model in process and over gRPC."""
    service = started.llm_service()
    for workers in (FEW, MANY):
        started.configure(settings(workers, workers), recording())
        for where, environment in (("in process", {}), ("over gRPC", {"TARSY_LLM_SERVICE_ADDR": service})):
            with program(started, machine, **environment) as running:
                if workers == FEW:
                    print(f"{f'RSS idle, {where}':34} {_memory([running.process])}")
                anyio.run(sessions, running, where, workers)
    started.stop(started.running[0])


def more(started: Processes, machine: Machine) -> None:
    """What a correction costs, an alert, and what PostgreSQL is asked."""
    started.configure(settings(FEW, FEW), recording(""))
    with program(started, machine) as running:
        anyio.run(sessions, running, "with its correction", FEW)
        anyio.run(acceptance, running)
    anyio.run(log_statements, started.database_url, "'all'")
    started.configure(settings(FEW, FEW), recording())
    with program(started, machine) as running:
        statements(running, started.database_log)
    anyio.run(log_statements, started.database_url, "DEFAULT")


def live(started: Processes) -> None:
    """Many sessions whose model thinks, each with a tool server, on as many processes as they need."""
    started.configure(settings(MANY, LIVE), recording(thinking=THINKING_SECONDS))
    addresses = [started.serve("all", TARSY_REPLAY_SPEED="1") for _ in range(-(-LIVE // MANY))]
    anyio.run(send, addresses[0], LIVE)
    anyio.run(until, started.database_url, BEGUN, LIVE)
    time.sleep(SETTLING_SECONDS)
    ours = [psutil.Process(process.pid) for process in started.running]
    below = [child for process in ours for child in process.children(recursive=True)]
    print(f"{f'RSS with {LIVE} live sessions':34} {_memory(ours)} of {len(ours)} processes")
    # They are the operator's programs, and here a shell each.
    print(f"{'RSS of their tool servers':34} {_memory(below)} of {len(below)} processes")
    started.stop()


def several(started: Processes) -> None:
    """Idle processes that share what their parent loaded, and as many that share nothing; without the tool servers below them."""
    started.configure(settings(FEW, FEW), recording())
    for what, parts in ((f"--processes {WORKERS}", TOGETHER), ("each by itself", APART)):
        for role, *arguments in parts:
            started.serve(role, *arguments)
        time.sleep(SETTLING_SECONDS)
        parents = [psutil.Process(process.pid) for process in started.running]
        below = [child for parent in parents for child in parent.children(recursive=True) if child.exe() == parent.exe()]
        print(f"{f'RSS idle, {what}':34} {_memory([*parents, *below])} of {len(parents) + len(below)} processes")
        started.stop()


def sdk() -> None:
    added = subprocess.run([sys.executable, "-c", SDK], check=True, capture_output=True, text=True).stdout
    print(f"{'the MCP SDK adds':34} {added.strip()}")


def main(started: Processes) -> int:
    # A first start brings the schema up to date, and is heavier for it.
    anyio.run(migrated, started.database_url)
    machine = anyio.run(measured, started.database_url)
    machine.report()
    compare(started, machine)
    more(started, machine)
    live(started)
    several(started)
    sdk()
    return 0


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with processes(settings(FEW, FEW), recording()) as everything:
        sys.exit(main(everything))
