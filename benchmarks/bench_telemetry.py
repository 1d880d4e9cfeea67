"""What observing costs: CPU per iteration with metrics, which are always on, and with traces, which a variable turns on. Goal for traces: 15 % at most.

The model and the tool answer in this process and at once, so an iteration is as cheap as it can be, and the share of what observes it as large.
"""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from time import clock_gettime, process_time, pthread_getcpuclockid

import anyio
import structlog
from sqlalchemy.ext.asyncio import AsyncEngine
from workload import CALLS_PER_SESSION, Load, load

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade
from tarsy.domain.claim import INVESTIGATION
from tarsy.telemetry.measured_work import SessionTimes, Telemetry
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.traced_runs import RunSpans
from tarsy.telemetry.tracing import Tracing

# Very short ones, the modes in turn: what else the machine does hits neighbours alike, and falls out of their ratio.
SESSIONS = 2
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "240"))
WARM_UP = 5
GOAL = 0.15
MODES = ("neither", "metrics", "metrics and traces")
ITERATIONS = SESSIONS * CALLS_PER_SESSION

# A collector in a process of its own: what it costs is not ours.
COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Taker(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # it keeps connections, as collectors do
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def log_message(self, *_): pass
with ThreadingHTTPServer(("127.0.0.1", 0), Taker) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
"""


@contextmanager
def collector() -> Generator[str]:
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


class Senders:
    """The threads that encode and send. They work now and then, for rounds long over: their CPU is taken apart and shared out over all."""

    def __init__(self, before: set[Thread]) -> None:
        self._clocks = [pthread_getcpuclockid(thread.ident) for thread in set(enumerate_threads()) - before if thread.ident]
        assert self._clocks

    def seconds(self) -> float:
        return sum(clock_gettime(clock) for clock in self._clocks)


class Bench:
    def __init__(self, loads: Mapping[str, Load], tracing: Tracing, senders: Senders) -> None:
        self._loads = loads
        self._tracing = tracing
        self._senders = senders
        self.taken: dict[str, list[float]] = {mode: [] for mode in MODES}

    async def run(self) -> None:
        """Each round in another order. What was there before the first is no garbage: the collector need not look at it again."""
        orders = tuple(permutations(MODES))
        for number in range(WARM_UP):
            await self._round(orders[number])
        self.taken = {mode: [] for mode in MODES}
        gc.collect()
        gc.freeze()
        sent = self._senders.seconds()
        for number in range(ROUNDS):
            await self._round(orders[number % len(orders)])
        await self._add_sending(self._senders.seconds() - sent)

    async def _round(self, order: Iterable[str]) -> None:
        for mode in order:
            self.taken[mode].append(await self._milliseconds(self._loads[mode]))

    async def _milliseconds(self, running: Load) -> float:
        """CPU per iteration, in all threads but those that send."""
        await running.submit(SESSIONS)
        gc.collect()
        before = process_time() - self._senders.seconds()
        # Not the workers' own loop: how often they look for work depends on the time that passes, in which no mode has a share.
        async with anyio.create_task_group() as tasks:
            for _ in range(SESSIONS):
                tasks.start_soon(running.pool.run_waiting, INVESTIGATION)
        return (process_time() - self._senders.seconds() - before) / ITERATIONS * 1000

    async def _add_sending(self, seconds: float) -> None:
        """Including what is left to send at the end."""
        before = process_time()
        await anyio.to_thread.run_sync(self._tracing.close)
        each = (seconds + process_time() - before) / (ROUNDS * ITERATIONS) * 1000
        print(f"{'encoding and sending':20} {each:6.3f} ms of CPU per iteration")
        self.taken[MODES[2]] = [one + each for one in self.taken[MODES[2]]]


@asynccontextmanager
async def bench(engine: AsyncEngine, endpoint: str) -> AsyncGenerator[Bench]:
    """All modes in one process, each with a pool of its own. They share the queue, and have it in turn."""
    threads = set(enumerate_threads())
    # Under full load batches are sent when they are full. A machine that has more to do than this must not come to half-empty ones.
    tracing = Tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "600000"})
    senders = Senders(threads)
    measured, both = Metrics(), Metrics()
    modes = (None, Telemetry(measured, SessionTimes(measured.sessions)), Telemetry(both, SessionTimes(both.sessions), RunSpans(tracing)))
    async with AsyncExitStack() as stack:
        loads = {
            mode: await stack.enter_async_context(load(engine, concurrency=SESSIONS, telemetry=telemetry))
            for mode, telemetry in zip(MODES, modes, strict=True)
        }
        yield Bench(loads, tracing, senders)


async def main(directory: Path, endpoint: str) -> bool:
    server = EmbeddedServer(directory)
    await anyio.to_thread.run_sync(server.open)
    try:
        engine = create_engine(server.url)
        await upgrade(engine)
        async with bench(engine, endpoint) as measured:
            await measured.run()
        await engine.dispose()
    finally:
        await anyio.to_thread.run_sync(server.close)
    return report(measured.taken)


def report(taken: Mapping[str, list[float]]) -> bool:
    base = taken["neither"]
    print(f"{'neither':20} {statistics.median(base):6.3f} ms of CPU per iteration   (median of {ROUNDS} rounds)")
    for mode in MODES[1:]:
        print(f"{mode:20} {statistics.median(taken[mode]):6.3f} ms of CPU per iteration   {more(taken[mode], base)}")
    turned_on = more(taken["metrics and traces"], taken["metrics"])
    print(f"{'traces by themselves':45}      {turned_on}")
    return turned_on.middle <= GOAL


@dataclass(frozen=True, slots=True)
class Share:
    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:+.1%} (in 19 of 20 runs {self.low:+.1%} to {self.high:+.1%})"


def more(times: list[float], than: list[float]) -> Share:
    """The median of what a round cost more than the same round of another mode."""
    ratios = sorted(one / other - 1 for one, other in zip(times, than, strict=True))
    # The ranks that bound a median: whatever the distribution, each round is above it or below it like a coin.
    reach = round(0.98 * len(ratios) ** 0.5)
    middle = len(ratios) // 2
    return Share(ratios[max(0, middle - reach)], statistics.median(ratios), ratios[min(len(ratios) - 1, middle + reach)])


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name, collector() as address:
        sys.exit(0 if anyio.run(main, Path(name), address) else 1)
