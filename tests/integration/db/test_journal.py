"""The journal on a network that cuts connections in the worst moments: a step is written once, whatever happens to its commit."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from chaos.ground import Ground
from chaos.scenario import scenario, short
from tarsy.db.connection import create_engine
from tarsy.db.embedded import EmbeddedServer
from tarsy.db.journal import PostgresJournal
from tarsy.db.migrate import upgrade
from tarsy.db.postgres_program import run
from tarsy.db.queue import WorkQueue
from tarsy.db.server_account import account_for
from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

COMMIT = b"COMMIT;\x00"


class Cutter:
    """A way to the database that can cut a connection at its next commit: before it arrives, or before its answer does."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        # True: the commit arrives, its answer does not. False: neither does.
        self.cut_next: bool | None = None
        self.cuts = 0
        # What else happens at that moment, before the client learns of the cut.
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def serve(self, client: ByteStream) -> None:
        async with client, await anyio.connect_unix(self._socket_path) as server, anyio.create_task_group() as tasks:

            async def answers() -> None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in server:
                        await client.send(data)
                tasks.cancel_scope.cancel()

            tasks.start_soon(answers)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for data in client:
                    if self.cut_next is not None and COMMIT in data:
                        await self._cut(server, data)
                        break
                    await server.send(data)
            tasks.cancel_scope.cancel()

    async def _cut(self, server: ByteStream, data: bytes) -> None:
        arrives, self.cut_next = self.cut_next, None
        self.cuts += 1
        if arrives:
            await server.send(data)
        if self.meanwhile:
            # Whatever happens to the server's end of the connection then.
            with anyio.CancelScope(shield=True):
                await self.meanwhile()


@asynccontextmanager
async def cutting(url: str) -> AsyncGenerator[tuple[Cutter, AsyncEngine]]:
    parsed = make_url(url)
    cutter = Cutter(f"{parsed.query['host']}/.s.PGSQL.{parsed.query['port']}")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - of anyio, not of a framework
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, cutter.serve)
        engine = create_engine(f"postgresql://tarsy@127.0.0.1:{port}/{parsed.database}?sslmode=disable")
        try:
            yield cutter, engine
        finally:
            await engine.dispose()
            tasks.cancel_scope.cancel()


@pytest.fixture
async def claim(ground: Ground) -> Claim:
    return await claimed_on(ground)


async def claimed_on(ground: Ground) -> Claim:
    await ground.submit(scenario(short(0.0), ground.directory))
    engine = create_engine(ground.url)
    claimed = await WorkQueue(engine, pod_id="test").claim(ClaimKind.SESSION, cap=1)
    await engine.dispose()
    assert claimed
    return claimed[0].claim


@pytest.fixture
def ground(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(database_url, tmp_path_factory.mktemp("ground"))


def warning(claim: Claim, text: str) -> TimelineEvent:
    now = datetime.now(UTC)
    return TimelineEvent(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_id=None,
        execution_id=None,
        sequence_number=0,
        event_type=TimelineEventType.WARNING,
        status=TimelineStatus.COMPLETED,
        content=text,
        created_at=now,
        completed_at=now,
    )


@pytest.mark.parametrize("arrives", [True, False], ids=["the answer is lost", "the commit is lost"])
async def test_a_step_whose_connection_is_cut_at_its_commit_is_written_once(
    database_url: str, ground: Ground, claim: Claim, *, arrives: bool
) -> None:
    delivered: list[StoredLiveEvent] = []
    async with cutting(database_url) as (cutter, engine):
        journal = PostgresJournal(engine, delivered.extend)
        await journal.commit(Step(claim=claim, opened=(warning(claim, "first"),)))
        cutter.cut_next = arrives
        await journal.commit(Step(claim=claim, opened=(warning(claim, "second"),)))
        assert cutter.cuts == 1
        await journal.commit(Step(claim=claim, opened=(warning(claim, "third"),)))
    stored = await ground.fetch("SELECT content, position FROM timeline_events ORDER BY position")
    assert [row["content"] for row in stored] == ["first", "second", "third"]
    own = await ground.fetch("SELECT id FROM events WHERE channel LIKE 'session:%' ORDER BY id")
    assert [row["id"] for row in own] == list(range(1, len(own) + 1))
    assert len(own) == 5


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server that may crash: the shared one is not to be restarted under other tests."""
    server = EmbeddedServer(tmp_path_factory.mktemp("server"))
    server.open()
    yield server
    server.close()


async def test_a_step_lost_in_a_crash_is_written_again_though_its_transaction_id_went_to_another(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    ground = Ground(own_server.url, tmp_path)
    engine = create_engine(own_server.url)
    await upgrade(engine)
    await engine.dispose()
    claim = await claimed_on(ground)
    # Otherwise the log may reach the disk before the crash, and the id of the lost transaction with it.
    await ground.fetch("ALTER SYSTEM SET wal_writer_delay = '10s'")
    await ground.fetch("SELECT pg_reload_conf()")
    reused: list[bool] = []

    async def crash() -> None:
        lost = await next_transaction(ground)
        data = Path(make_url(own_server.url).query["host"])  # pyright: ignore[reportArgumentType]  # one host, hence one text
        await anyio.to_thread.run_sync(run, "pg_ctl", ["-D", str(data), "-m", "immediate", "-w", "restart"], account_for(data))
        reused.append(await next_transaction(ground) <= lost)
        while await next_transaction(ground) <= lost:
            pass

    async with cutting(own_server.url) as (cutter, engine):
        journal = PostgresJournal(engine, lambda _events: None)
        cutter.cut_next, cutter.meanwhile = False, crash
        await journal.commit(Step(claim=claim, opened=(warning(claim, "not lost"),)))
    assert reused == [True]
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": "not lost"}]


async def next_transaction(ground: Ground) -> int:
    rows = await ground.fetch("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint) AS id")
    return rows[0]["id"]


async def test_text_that_postgresql_cannot_store_is_stored_as_far_as_it_can(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    await PostgresJournal(engine, lambda _events: None).commit(Step(claim=claim, opened=(warning(claim, "a\x00b\ud800c é"),)))
    await engine.dispose()
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": "a\ufffdb\ufffdc é"}]
