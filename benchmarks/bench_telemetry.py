"""What observing costs: CPU per iteration with metrics and with traces, against neither. Goal for both together: 5 % at most."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import structlog
from bench_sessions import cpu_seconds
from sqlalchemy.ext.asyncio import AsyncEngine
from workload import CALLS_PER_SESSION, load

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.traces.traced import Traced
from tarsy.telemetry.traces.tracing import tracing_to

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "20"))
CONCURRENCY = 8
# Short ones, taken in turn, each beginning with another mode: what else the machine does hits all alike.
ROUNDS = 12
GOAL = 0.05

# A collector in a process of its own: what it costs is not ours.
COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Taker(BaseHTTPRequestHandler):
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


async def milliseconds(engine: AsyncEngine, mode: str, endpoint: str) -> float:
    """CPU per iteration of one round."""
    metrics = None if mode == "neither" else Metrics()
    observer = Traced(tracing_to({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})) if mode == "metrics and traces" else None
    async with load(engine, concurrency=CONCURRENCY, observer=observer, metrics=metrics) as running:
        await running.submit(SESSIONS)
        before = cpu_seconds()
        await running.work_off()
        if observer:
            await anyio.to_thread.run_sync(observer.close)
        return (cpu_seconds() - before) / (SESSIONS * CALLS_PER_SESSION) * 1000


async def main(directory: Path, endpoint: str) -> bool:
    server = EmbeddedServer(directory)
    await anyio.to_thread.run_sync(server.open)
    modes = ("neither", "metrics", "metrics and traces")
    taken: dict[str, list[float]] = {mode: [] for mode in modes}
    try:
        engine = create_engine(server.url)
        await upgrade(engine)
        for number in range(ROUNDS + 1):
            for mode in (*modes[number % 3 :], *modes[: number % 3]):
                taken[mode].append(await milliseconds(engine, mode, endpoint))
        await engine.dispose()
    finally:
        await anyio.to_thread.run_sync(server.close)
    shares = {mode: more(times, taken["neither"]) for mode, times in taken.items()}
    for mode, times in taken.items():
        print(f"{mode:20} {statistics.median(times[1:]):6.2f} ms of CPU per iteration   {shares[mode]:+.1%}")
    return shares["metrics and traces"] <= GOAL


def more(times: list[float], than: list[float]) -> float:
    """The median of what each round cost more than the same round without; the first one warms up."""
    return statistics.median(one / other - 1 for one, other in zip(times[1:], than[1:], strict=True))


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name, collector() as address:
        sys.exit(0 if anyio.run(main, Path(name), address) else 1)
