"""The journal on a network that cuts connections in the worst moments: a step is written once, whatever happens to its commit."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from anyio.abc import ByteStream, SocketAttribute
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from chaos.ground import Ground
from chaos.scenario import scenario, short
from tarsy.db.connection import create_engine
from tarsy.db.journal import PostgresJournal
from tarsy.db.queue import WorkQueue
from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.session import SessionClose
from tarsy.domain.status import SessionStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType

STREAMED = str(uuid4())


class Cutter:
    """A way to the database that can cut a connection while a step is under way: before it arrives, or before its answer does."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        # The connection that says this is cut, once.
        self.cut_at: bytes | None = None
        self.arrives = False
        self.cuts = 0

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
                    if self.cut_at is not None and self.cut_at in data:
                        self.cut_at = None
                        self.cuts += 1
                        if self.arrives:
                            await server.send(data)
                        break
                    await server.send(data)
            tasks.cancel_scope.cancel()


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
    return replace(streaming(claim), id=str(uuid4()), status=TimelineStatus.COMPLETED, content=text, completed_at=datetime.now(UTC))


def streaming(claim: Claim) -> TimelineEvent:
    return TimelineEvent(
        id=STREAMED,
        session_id=claim.session_id,
        stage_id=None,
        execution_id=None,
        sequence_number=0,
        event_type=TimelineEventType.WARNING,
        status=TimelineStatus.STREAMING,
        content="",
        created_at=datetime.now(UTC),
    )


def opens(claim: Claim) -> Step:
    return Step(claim=claim, opened=(warning(claim, "second"),))


def only_closes(claim: Claim) -> Step:
    closed = TimelineClose(event_id=STREAMED, status=TimelineStatus.COMPLETED, content="second", completed_at=datetime.now(UTC))
    return Step(claim=claim, closed=(closed,))


def ends(claim: Claim) -> Step:
    close = SessionClose(status=SessionStatus.COMPLETED, completed_at=datetime.now(UTC), final_analysis="second")
    return Step(claim=claim, session_close=close)


# The message on the wire at which a step of each kind is decided: its only statement, or the end of its transaction.
KINDS: dict[Callable[[Claim], Step], bytes] = {opens: b"second", only_closes: b"second", ends: b"COMMIT;\x00"}


@pytest.mark.parametrize("arrives", [True, False], ids=["the answer is lost", "the commit is lost"])
@pytest.mark.parametrize("second", KINDS, ids=lambda kind: kind.__name__)
async def test_a_step_whose_connection_is_cut_at_its_commit_is_written_once(
    database_url: str, ground: Ground, claim: Claim, second: Callable[[Claim], Step], *, arrives: bool
) -> None:
    async with cutting(database_url) as (cutter, engine):
        journal = PostgresJournal(engine, lambda _events: None)
        await journal.commit(Step(claim=claim, opened=(streaming(claim),)))
        cutter.cut_at, cutter.arrives = KINDS[second], arrives
        await journal.commit(second(claim))
        assert cutter.cuts == 1
    told = [row["text"] for row in await ground.fetch("SELECT CAST(payload AS text) AS text FROM events WHERE channel LIKE 'session:%'")]
    assert len([text for text in told if "second" in text]) == 1
    numbers = await ground.fetch("SELECT id FROM events WHERE channel LIKE 'session:%' ORDER BY id")
    assert [row["id"] for row in numbers] == list(range(1, len(told) + 1))


async def test_an_attempt_that_nobody_waits_for_any_more_is_waited_for_before_the_next(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    others = create_engine(database_url)
    async with cutting(database_url) as (cutter, engine), others.begin() as slow, anyio.create_task_group() as tasks:
        # Somebody else holds the channel, so that the first attempt is still under way when its connection is gone.
        await slow.execute(sa.text("SELECT FROM event_channels WHERE name LIKE 'session:%' FOR UPDATE"))
        cutter.cut_at, cutter.arrives = b"second", True
        tasks.start_soon(PostgresJournal(engine, lambda _events: None).commit, opens(claim))
        await ground.until("SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        await slow.commit()
    await others.dispose()
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": "second"}]


async def test_text_that_postgresql_cannot_store_is_stored_as_far_as_it_can(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    await PostgresJournal(engine, lambda _events: None).commit(Step(claim=claim, opened=(warning(claim, "a\x00b\ud800c é"),)))
    await engine.dispose()
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": "a\ufffdb\ufffdc é"}]
