"""How cost grows: each row does the same with little and with much of something, and prints the CPU that it took (ours and PostgreSQL's) and
the exponent between the two. 0: it costs the same however much there is; 1: twice as much costs twice as much. What is above 1.1 is marked.

BENCH_GROWTH_SESSIONS, _KEPT, _LIVE_EVENTS, _EVENTS, _WAITING, _TURNS, _LIVE, _SUBSCRIBERS and _ALERT set the two sizes of a row, as in `BENCH_GROWTH_TURNS=10,100`.
"""

import math
import os
import resource
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import anyio
import asyncpg
import psutil
import structlog
from bench_live import server_process, subscriber
from bench_stored import STORED_EVENTS, STORED_EXECUTIONS, STORED_SESSIONS, STORED_STAGES
from sqlalchemy.ext.asyncio import AsyncEngine
from workload import chain, load

from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade
from tarsy.db.outbox import Publisher
from tarsy.db.retention import PostgresRetentionStore
from tarsy.db.run.timeline import TimelineRepository
from tarsy.db.run.trace import InteractionRepository
from tarsy.db.session.listing import SessionFilter
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.session.executor import SessionExecutor

# Enough to tell a millisecond, which is all that the kernel counts of other processes' time.
ROUNDS = 40
STEEP = 1.1
# A process begins with a session in less.
BEGIN_SECONDS = 0.03
# Slow enough that each piece is sent to a thousand subscribers by itself.
PIECES_PER_SECOND, PIECES_SECONDS = 10, 6

_ONE_EVENT_EACH = """
    INSERT INTO timeline_events
        (id, session_id, stage_id, execution_id, sequence_number, position, event_type, status, content, created_at, completed_at)
    SELECT gen_random_uuid(), e.session_id, e.stage_id, e.id, 1, 1, 'llm_response', 'completed', 'clear', now(), now() FROM agent_executions e
    """
# A thousand of them long ago.
_ENDED = """
    UPDATE alert_sessions s SET completed_at = now() - make_interval(days => CASE WHEN n.number <= 1000 THEN 365 ELSE 1 END)
    FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS number FROM alert_sessions) n WHERE n.id = s.id
    """
_LIVE_EVENTS = """
    INSERT INTO events (channel, id, payload, created_at)
    SELECT 'session:' || n % 1000, n, jsonb_build_object('type', 'session.progress', 'text', repeat('x', 200)), now() - interval '2 hours'
    FROM generate_series(1, $1::int) n
    """
_WAITING = """
    INSERT INTO work (id, kind, subject_id, session_id, chain_id, state, rank, created_at)
    SELECT gen_random_uuid(), 'session', s.id, s.id, 'bench', 'ready', s.created_at, s.created_at
    FROM (SELECT id, created_at FROM alert_sessions ORDER BY created_at LIMIT $1::int) s
    """


def sizes(name: str, few: int, many: int) -> tuple[int, int]:
    first, second = os.environ.get(f"BENCH_GROWTH_{name}", f"{few},{many}").split(",")
    return int(first), int(second)


@dataclass(frozen=True, slots=True)
class Machine:
    """The database of one measurement, and whose CPU counts."""

    url: str
    engine: AsyncEngine
    postmaster: psutil.Process

    async def execute(self, statement: str, *values: object) -> None:
        connection = await asyncpg.connect(self.url)
        await connection.execute(statement, *values)
        await connection.close()

    async def value(self, query: str, *values: object) -> str:
        connection = await asyncpg.connect(self.url)
        found = await connection.fetchval(query, *values)
        await connection.close()
        return str(found)

    def cpu(self) -> float:
        """Milliseconds that this process and PostgreSQL's have used so far."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        running = 0.0
        for backend in self.postmaster.children():
            # One that ends meanwhile is counted with the postmaster's children.
            with suppress(psutil.NoSuchProcess):
                running += sum(backend.cpu_times()[:2])
        # The postmaster's own time, that of backends that have ended, and that of those that run.
        theirs = sum(self.postmaster.cpu_times()[:4]) + running
        return (own.ru_utime + own.ru_stime + theirs) * 1000

    async def cost(self, action: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
        """CPU milliseconds of one `action`, once it is warm."""
        for _ in range(max(1, rounds // 8)):
            await action()
        before = self.cpu()
        for _ in range(rounds):
            await action()
        return max(self.cpu() - before, 1) / rounds


def report(what: str, of: str, small: tuple[int, float], large: tuple[int, float]) -> None:
    exponent = math.log(large[1] / small[1]) / math.log(large[0] / small[0])
    marked = "   <- grows faster than the work" if exponent > STEEP else ""
    print(
        f"{what:22} {small[1]:9.2f} ms {large[1]:9.2f} ms   exponent {exponent:5.2f}   ({small[0]} -> {large[0]} {of}){marked}", flush=True
    )


async def stored(machine: Machine) -> None:
    """The list, a search and a session's page, with more and more sessions stored."""
    sessions, interactions, timeline = (
        SessionRepository(Publisher(machine.engine)),
        InteractionRepository(machine.engine),
        TimelineRepository(machine.engine),
    )
    costs: dict[str, list[tuple[int, float]]] = {}
    for count in sizes("SESSIONS", 10_000, 100_000):
        await machine.execute("TRUNCATE alert_sessions CASCADE")
        await machine.execute(STORED_SESSIONS, count, chain().model_dump_json())
        for statement in (STORED_STAGES, STORED_EXECUTIONS, "VACUUM ANALYZE"):
            await machine.execute(statement)
        one = await machine.value("SELECT id::text FROM alert_sessions ORDER BY created_at OFFSET $1 LIMIT 1", count // 2)
        rows: dict[str, Callable[[], Awaitable[object]]] = {
            "list of 25": lambda: sessions.list(limit=25),
            "search, rare word": lambda: sessions.list(SessionFilter(text="service-123"), limit=25),
            "search, common word": lambda: sessions.list(SessionFilter(text="latency"), limit=25),
            "session": lambda one=one: interactions.run(one),
            "timeline": lambda one=one: timeline.read(one),
        }
        for name, action in rows.items():
            costs.setdefault(name, []).append((count, await machine.cost(action)))
    for name, (small, large) in costs.items():
        report(name, "sessions stored", small, large)


async def erasing(machine: Machine) -> None:
    """Clearing away a day's sessions, each with its stages, executions and events, while more and more are kept."""
    old, found = PostgresRetentionStore(machine.engine), list[tuple[int, float]]()
    for count in sizes("KEPT", 10_000, 100_000):
        await machine.execute("TRUNCATE alert_sessions, events, event_channels CASCADE")
        await machine.execute(STORED_SESSIONS, count, chain().model_dump_json())
        for statement in (STORED_STAGES, STORED_EXECUTIONS, _ONE_EVENT_EACH, _ENDED, "VACUUM ANALYZE"):
            await machine.execute(statement)
        before = machine.cpu()
        erased = await old.erase_sessions(days=100, actor="bench", hidden_only=False)
        found.append((count, (machine.cpu() - before) / erased))
    report("session erased", "sessions kept", *found)


async def forgetting(machine: Machine) -> None:
    """Forgetting the live events of an hour."""
    old, found = PostgresRetentionStore(machine.engine), list[tuple[int, float]]()
    for count in sizes("LIVE_EVENTS", 100_000, 1_000_000):
        await machine.execute("TRUNCATE events")
        await machine.execute(_LIVE_EVENTS, count)
        await machine.execute("VACUUM ANALYZE events")
        before = machine.cpu()
        await old.erase_events(older_than_seconds=3600)
        found.append((count, machine.cpu() - before))
    report("live events forgotten", "events", *found)


async def events(machine: Machine) -> None:
    found: list[tuple[int, float]] = []
    one = await machine.value("SELECT session_id::text FROM agent_executions LIMIT 1")
    for count in sizes("EVENTS", 200, 2_000):
        await machine.execute("TRUNCATE timeline_events")
        await machine.execute(STORED_EVENTS, one, count)
        found.append((count, await machine.cost(lambda: TimelineRepository(machine.engine).read(one))))
    report("timeline", "events of the session", *found)


async def waiting(machine: Machine) -> None:
    """A look at the queue that finds no room, which is what a worker does most of the time under load."""
    queue, rules = WorkQueue(Publisher(machine.engine), pod_id="bench"), SessionExecutor.rules
    found: list[tuple[int, float]] = []
    for count in sizes("WAITING", 1_000, 10_000):
        await machine.execute("TRUNCATE work")
        await machine.execute(_WAITING, count)
        await machine.execute("ANALYZE work")
        found.append((count, await machine.cost(lambda: queue.claim(rules, counted=[rules.kind], max_concurrent_sessions=0))))
    await machine.execute("TRUNCATE work")
    report("claim", "sessions waiting", *found)


async def turns(machine: Machine) -> None:
    found: list[tuple[int, float]] = []
    for count in sizes("TURNS", 10, 100):

        async def run(count: int = count) -> None:
            async with load(machine.engine, concurrency=2, turns=count) as running:
                await running.submit(2)
                await running.run_waiting()

        found.append((count, await machine.cost(run, rounds=4) / 2))
    report("session", "turns", *found)


async def live(machine: Machine) -> None:
    """Sessions that are live at the same time: their model thinks until all of them have begun."""
    found: list[tuple[int, float]] = []
    for count in sizes("LIVE", 50, 2_000):
        before = machine.cpu()
        async with load(machine.engine, concurrency=count, pause=1.0, first=2.0 + count * BEGIN_SECONDS, turns=1) as running:
            await running.submit(count)
            await running.run_waiting(look_every=0.5)
        found.append((count, machine.cpu() - before))
    report("sessions", "live at once", *found)


async def subscribers(machine: Machine) -> None:
    """A piece of text for all that follow its session over WebSocket; what counts is the CPU of the server."""
    found: list[tuple[int, float]] = []
    for count in sizes("SUBSCRIBERS", 10, 1_000):
        session, received = str(uuid4()), list[float]()
        async with (
            server_process(machine.url, pieces_per_second=PIECES_PER_SECOND) as server,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(count):
                subscribed = anyio.Event()
                tasks.start_soon(subscriber, server.port, session, received, subscribed)
                await subscribed.wait()
            before = server.cpu_seconds()
            await server.generate(PIECES_SECONDS, 1, [session])
            found.append((count, (server.cpu_seconds() - before) * 1000 / (PIECES_PER_SECOND * PIECES_SECONDS)))
            tasks.cancel_scope.cancel()
    report("piece of live text", "subscribers", *found)


async def alerts(machine: Machine) -> None:
    words = "checkout answers 5xx since 09:41; "
    found: list[tuple[int, float]] = []
    async with load(machine.engine, concurrency=1) as idle:
        for size in sizes("ALERT", 1_024, 1_048_576):
            text = words * (size // len(words))
            found.append((size, await machine.cost(partial(idle.submit, 1, text), rounds=20)))
    report("alert taken", "bytes", *found)


async def run(url: str, pid: int) -> None:
    engine = create_engine(url)
    await upgrade(engine)
    machine = Machine(url, engine, psutil.Process(pid))
    for row in (stored, erasing, forgetting, events, waiting, turns, live, subscribers, alerts):
        await row(machine)
    await engine.dispose()


def main() -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        directory = Path(name) / "data"
        server = EmbeddedServer(directory)
        server.open()
        try:
            anyio.run(run, server.url, int((directory / "postgres" / "postmaster.pid").read_text().split()[0]))
        finally:
            server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
