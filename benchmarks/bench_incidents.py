"""A storm of notifications: 10,000 alerts of 40 problems, from 64 connections, on three replicas. BENCH_NOTIFICATIONS sets how many come."""

import json
import os
import sys
import time

import anyio
import httpx
import structlog
from processes import Processes, percentile, processes

NOTIFICATIONS = int(os.environ.get("BENCH_NOTIFICATIONS", "10000"))
PROBLEMS = 40
MEMBERS = 25
CONNECTIONS = 64
REPLICAS = 3
# Every investigation is recorded and takes a second or two.
END_SECONDS = 600


def body(number: int) -> str:
    """One notification as Alertmanager sends it: an alert of one of the problems."""
    problem, member = number % PROBLEMS, number // PROBLEMS % MEMBERS
    labels = {"alertname": f"Problem{problem}", "problem": str(problem), "pod": f"pod-{member}", "severity": "critical"}
    alert = {"status": "firing", "labels": labels, "annotations": {"summary": "It is slow"}, "fingerprint": f"{problem}-{member}"}
    return json.dumps({"groupKey": str(problem), "groupLabels": {"problem": str(problem)}, "commonLabels": {}, "alerts": [alert]})


async def storm(addresses: list[str]) -> tuple[list[float], float]:
    """Send all notifications; the seconds that each took, and all together."""
    taken: list[float] = []
    left = iter(range(NOTIFICATIONS))

    async def sender(address: str) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as client:
            for number in left:
                started = time.monotonic()
                answer = await client.post("/api/v1/webhook/alertmanager?alert_type=bench", content=body(number))
                taken.append(time.monotonic() - started)
                assert answer.status_code == 202, answer.text

    began = time.monotonic()
    async with anyio.create_task_group() as tasks:
        for number in range(CONNECTIONS):
            tasks.start_soon(sender, addresses[number % len(addresses)])
    return taken, time.monotonic() - began


async def outcome(address: str) -> tuple[int, int, int]:
    """How many incidents, investigations that have ended, and deliveries there are in the end."""
    async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as client:
        running = True
        with anyio.move_on_after(END_SECONDS):
            while running:
                page = await client.get("/api/v1/sessions", params={"status": ["pending", "in_progress"], "limit": 1})
                running = bool(page.json()["sessions"])
                await anyio.sleep(1 if running else 0)
        incidents = (await client.get("/api/v1/incidents", params={"limit": 200})).json()["incidents"]
        sessions = (await client.get("/api/v1/sessions", params={"limit": 200})).json()["sessions"]
    return len(incidents), len(sessions), sum(incident["deliveries"] for incident in incidents)


def main(started: Processes) -> int:
    addresses = [started.serve("all") for _ in range(REPLICAS)]
    taken, seconds = anyio.run(storm, addresses)
    incidents, sessions, deliveries = anyio.run(outcome, addresses[0])
    print(f"alerts accepted       {len(taken):8d}   ({CONNECTIONS} connections, {REPLICAS} replicas)")
    print(f"accepted per second   {len(taken) / seconds:8.1f}")
    print(f"acceptance p50        {percentile(taken, 0.5):8.1f} ms")
    print(f"acceptance p99        {percentile(taken, 0.99):8.1f} ms")
    print(f"incidents             {incidents:8d}   of {PROBLEMS} problems")
    print(f"investigations        {sessions:8d}")
    print(f"alerts counted        {deliveries:8d}")
    return 0 if (incidents, sessions, deliveries) == (PROBLEMS, PROBLEMS, NOTIFICATIONS) else 1


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with processes() as everything:
        sys.exit(main(everything))
