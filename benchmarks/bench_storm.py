"""An alert storm: how long accepting an alert takes while three replicas work. BENCH_ALERTS sets how many come (2,000)."""

import os
import sys
import time

import anyio
import httpx
import structlog
from processes import Processes, percentile, processes

ALERTS = int(os.environ.get("BENCH_ALERTS", "2000"))
SENDERS = 16
REPLICAS = 3
ALERT = {"alert_type": "bench", "data": "HighLatency on checkout, again. " * 40}


async def storm(address: str) -> tuple[list[float], float]:
    """Send all alerts; the seconds that each took, and all together."""
    taken: list[float] = []
    left = iter(range(ALERTS))
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:

        async def sender() -> None:
            for _ in left:
                started = time.monotonic()
                answer = await client.post("/api/v1/alerts", json=ALERT)
                taken.append(time.monotonic() - started)
                assert answer.status_code == 202, answer.text

        began = time.monotonic()
        async with anyio.create_task_group() as tasks:
            for _ in range(SENDERS):
                tasks.start_soon(sender)
    return taken, time.monotonic() - began


def main(started: Processes) -> int:
    address = started.serve("api")
    for _ in range(REPLICAS):
        started.serve("worker")
    taken, seconds = anyio.run(storm, address)
    print(f"alerts accepted       {len(taken):8d}   ({SENDERS} senders, {REPLICAS} replicas at work)")
    print(f"accepted per second   {len(taken) / seconds:8.1f}")
    print(f"acceptance p50        {percentile(taken, 0.5):8.1f} ms")
    print(f"acceptance p99        {percentile(taken, 0.99):8.1f} ms")
    return 0 if len(taken) == ALERTS else 1


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with processes() as everything:
        sys.exit(main(everything))
