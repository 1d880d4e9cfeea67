"""Live text on two processes: 50 and 200 streams of 40 pieces a second, 50 subscribers, then the same with one that never reads.

Figures count only on a quiet machine with two cores to spare; beside them stands how many commits of its PostgreSQL a wait is as long as. Goals: with
50 streams p99 below 25 ms on the same process and p50 below 12 ms on the other; with 200, p99 below 50 and below 250 ms.
"""

import contextlib
import logging
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from uuid import uuid4

import anyio
import orjson
import psutil
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from machine import Machine, measured
from websockets.asyncio.client import connect

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade
from tarsy.db.notifications import NotificationListener
from tarsy.domain.live_events import session_channel
from tarsy.events.relay import TEXT_NOTIFICATION
from tarsy.kit.logs import configure_logs

SESSIONS = 50
STREAMS_PER_SESSION = 4
SECONDS = 6.0
ROUNDS = 3
SERVER = Path(__file__).with_name("live_server.py")


@dataclass(slots=True)
class ServerProcess:
    process: Process
    lines: BufferedByteReceiveStream
    port: int

    async def line(self) -> str:
        return (await self.lines.receive_until(b"\n", 1_000)).decode()

    async def generate(self, seconds: float, each: int, sessions: list[str]) -> None:
        """Have it write for so long to `each` streams in every session."""
        assert self.process.stdin is not None
        await self.process.stdin.send(f"{seconds} {each} {' '.join(sessions)}\n".encode())
        await self.line()

    def cpu_seconds(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system


@dataclass(slots=True)
class Round:
    same: list[float] = field(default_factory=list[float])
    other: list[float] = field(default_factory=list[float])
    notifications: int = 0
    cpu: tuple[float, float] = (0.0, 0.0)

    def add(self, one: "Round") -> None:
        self.same += one.same
        self.other += one.other
        self.notifications += one.notifications
        self.cpu = (self.cpu[0] + one.cpu[0], self.cpu[1] + one.cpu[1])


@asynccontextmanager
async def server_process(url: str, *, pieces_per_second: float = 40) -> AsyncGenerator[ServerProcess]:
    async with await anyio.open_process([sys.executable, str(SERVER), url, str(pieces_per_second)], stderr=None) as process:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        server = ServerProcess(process, lines, 0)
        server.port = int(await server.line())
        yield server
        process.terminate()


async def subscriber(port: int, session: str, delays: list[float], subscribed: anyio.Event) -> None:
    async with connect(f"ws://127.0.0.1:{port}/ws", compression=None) as client:
        await client.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        async for text in client:
            now, message = time.time(), orjson.loads(text)
            if message["type"] == "subscription.confirmed":
                subscribed.set()
            elif message["type"] == "stream.chunk":
                delays += [now - float(word) for word in message["delta"].split()]


async def sleeper(port: int, sessions: list[str]) -> None:
    """Subscribes to everything and never reads; its buffer is small, so that the server notices soon."""
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    narrow.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        narrow.connect(("127.0.0.1", port))
    await anyio.wait_writable(narrow)
    async with connect(f"ws://127.0.0.1:{port}/ws", sock=narrow, compression=None, max_queue=1, close_timeout=0.1) as client:
        for session in sessions:
            await client.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        await anyio.sleep_forever()


async def run_round(
    url: str, writer: ServerProcess, other: ServerProcess, *, each: int = STREAMS_PER_SESSION, with_sleeper: bool = False
) -> Round:
    """Live text of `each` streams in every session, with one subscriber each: half of them at each process."""
    sessions = [str(uuid4()) for _ in range(SESSIONS)]
    result = Round()

    def count(_payload: str) -> None:
        result.notifications += 1

    listener = NotificationListener(url)
    listener.subscribe(TEXT_NOTIFICATION, count)
    async with anyio.create_task_group() as tasks:
        await tasks.start(listener.run)
        if with_sleeper:
            tasks.start_soon(sleeper, writer.port, sessions)
        for number, session in enumerate(sessions):
            server, delays = (writer, result.same) if number % 2 else (other, result.other)
            subscribed = anyio.Event()
            tasks.start_soon(subscriber, server.port, session, delays, subscribed)
            await subscribed.wait()
        before = (writer.cpu_seconds(), other.cpu_seconds())
        await writer.generate(SECONDS, each, sessions)
        result.cpu = (writer.cpu_seconds() - before[0], other.cpu_seconds() - before[1])
        # The last pieces are still on their way.
        await anyio.sleep(0.5)
        tasks.cancel_scope.cancel()
    return result


def percentiles(delays: list[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    cuts = quantiles(delays, n=100)
    return cuts[49] * 1000, cuts[98] * 1000


def report(title: str, result: Round, machine: Machine) -> None:
    print(title)
    for where, delays in (("same process", result.same), ("other process", result.other)):
        median, worst = percentiles(delays)
        print(f"  {where:<14} p50 {machine.wait(median)}   p99 {machine.wait(worst)}   ({len(delays)} pieces)")
    pieces = len(result.same) + len(result.other)
    print(f"  notifications  {result.notifications / (ROUNDS * SECONDS):6.1f} /s for {pieces / (ROUNDS * SECONDS):.0f} pieces/s")
    for where, seconds in zip(("writing", "other"), result.cpu, strict=True):
        reported = f"of CPU for 1,000 pieces, {seconds / (ROUNDS * SECONDS):.0%} of one core"
        print(f"  {where + ' process':<15}{machine.cpu(seconds * 1000 / pieces * 1000)} {reported}")


async def run(url: str) -> None:
    engine = create_engine(url)
    await upgrade(engine)
    await engine.dispose()
    machine = await measured(url)
    machine.report()
    async with server_process(url) as writer, server_process(url) as other:
        few, usual, disturbed = Round(), Round(), Round()
        # By turns, so that what else the machine does falls on all.
        for _ in range(ROUNDS):
            few.add(await run_round(url, writer, other, each=1))
            usual.add(await run_round(url, writer, other))
            disturbed.add(await run_round(url, writer, other, with_sleeper=True))
    report("50 streams x 40 pieces/s, 50 subscribers", few, machine)
    report("200 streams x 40 pieces/s, 50 subscribers", usual, machine)
    report("the same, and one that subscribes to all and never reads", disturbed, machine)
    for where, before, after in (("same", usual.same, disturbed.same), ("other", usual.other, disturbed.other)):
        change = percentiles(after)[1] / percentiles(before)[1] - 1
        print(f"p99 on the {where} process changed by {change:+.0%} because of it")


def main() -> None:
    configure_logs(level=logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as directory:
        server = EmbeddedServer(Path(directory))
        server.open()
        try:
            anyio.run(run, server.url)
        finally:
            server.close()


if __name__ == "__main__":
    main()
