"""The answer times of /health while something else happens on the same event loop, measured from another process."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import Process

POLLER = """
import http.client, json, select, sys, time
host, port = sys.argv[1].split(":")
connection, taken = http.client.HTTPConnection(host, int(port), timeout=120), []
while not select.select([sys.stdin], [], [], 0.01)[0]:
    started = time.perf_counter()
    connection.request("GET", "/health")
    connection.getresponse().read()
    taken.append(time.perf_counter() - started)
print(json.dumps(taken))
"""
# Subscribes and unsubscribes as fast as the server reads.
SUBSCRIBER = """
import json, sys, threading
from uuid import uuid4
from websockets.sync.client import connect
address, count = sys.argv[1], int(sys.argv[2])
with connect(f"ws://{address}/ws", max_size=None) as socket:
    def read():
        try:
            for _ in socket: pass
        except Exception: pass
    threading.Thread(target=read, daemon=True).start()
    for number in range(count):
        channel = f"session:{uuid4()}"
        socket.send(json.dumps({"action": "subscribe", "channel": channel}))
        if number % 2:
            socket.send(json.dumps({"action": "unsubscribe", "channel": channel}))
"""


@dataclass(slots=True)
class AnswerTimes:
    """Seconds that /health took."""

    taken: list[float] = field(default_factory=list[float])

    def percentile(self, share: float) -> float:
        return sorted(self.taken)[min(int(len(self.taken) * share), len(self.taken) - 1)]


@asynccontextmanager
async def measured_health(address: str) -> AsyncGenerator[AnswerTimes]:
    """Ask /health all the time within the block; afterwards the times are known."""
    times = AnswerTimes()
    async with await anyio.open_process([sys.executable, "-c", POLLER, address]) as poller:
        yield times
        await _close_input(poller)
        assert poller.stdout is not None
        times.taken = json.loads(b"".join([part async for part in poller.stdout]))


async def _close_input(process: Process) -> None:
    assert process.stdin is not None
    await process.stdin.aclose()
