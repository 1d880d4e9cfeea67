"""Streamed text through the whole program: a client that joins late, a worker without its database, fifty sessions that end together."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import orjson
import pytest
import yaml
from sqlalchemy import Row, make_url

from support.agent_scenario import SESSION_ID, Scenario, agent, chain, stage
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import session_channel
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, TextChunk
from tarsy.domain.session import AlertSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import TokenUsage
from tarsy.events.connection import Connection
from tarsy.wiring.application import Application

pytestmark = pytest.mark.timeout(120)

TEXT = ("It is the disk of the node: ", "it is full.")
FIFTY = 50


@dataclass(slots=True)
class Model:
    """Waits before its first words until `begins` is set, and after them until `goes_on` is."""

    begins: anyio.Event = field(default_factory=anyio.Event)
    goes_on: anyio.Event = field(default_factory=anyio.Event)
    asked: anyio.Event = field(default_factory=anyio.Event)
    waiting: int = 0
    # Begins by itself as soon as so many wait.
    together: int | None = None

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        del request
        self.asked.set()
        self.waiting += 1
        if self.waiting == self.together:
            self.begins.set()
        await self.begins.wait()
        yield TextChunk(TEXT[0])
        await self.goes_on.wait()
        yield TextChunk(TEXT[1])
        yield TokenUsage(input_tokens=10, output_tokens=5, total_tokens=15)

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="")

    async def aclose(self) -> None:
        """There is nothing to close."""


def scenario(model: Model, config_dir: Path | None = None) -> Scenario:
    return Scenario(chain(stage(agent(mcp_servers=())), executive_summary=None), [], llm=model, config_dir=config_dir)


async def timeline(running: Application, session_id: str = SESSION_ID) -> Sequence[Row[Any]]:
    return (await running.services.repositories.timeline.read(session_id)).events


async def ended(sessions: SessionRepository, session_id: str) -> AlertSession:
    """The session once it has ended; the test's own time limit bounds it."""
    while True:
        if (session := await sessions.get(session_id)).status.is_final:
            return session
        await anyio.sleep(0.05)


async def received(client: Connection, until: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    while not any(message["type"] == until for message in messages):
        messages += [orjson.loads(message) for message in await client.next_messages()]
    return messages


async def test_a_client_that_joins_in_mid_stream_finds_the_text_and_gets_the_rest(database_url: str) -> None:
    model = Model()
    model.begins.set()
    async with scenario(model).running(database_url) as running, anyio.create_task_group() as tasks:
        hub = running.services.live.hub
        with hub.connect() as early, hub.connect() as late:
            await hub.subscribe(early, session_channel(SESSION_ID), 0)
            tasks.start_soon(running.pool.run_waiting, INVESTIGATION)
            first = (await received(early, "stream.chunk"))[-1]
            stored = [event.id for event in await timeline(running) if event.status == "streaming"]
            assert stored == [first["event_id"]], "the row of a text is committed before its first words are delivered"
            await hub.subscribe(late, session_channel(SESSION_ID), 0)
            model.goes_on.set()
            texts: dict[str, str] = {}
            for message in await received(late, "session.completed"):
                if message["type"] == "timeline_event.created":
                    texts[message["event"]["id"]] = message["event"]["content"]
                if message["type"] == "stream.chunk":
                    known = texts[message["event_id"]]
                    assert message["offset"] <= len(known)
                    texts[message["event_id"]] = known[: message["offset"]] + message["delta"]
            assert texts[first["event_id"]] == "".join(TEXT)


class Outage:
    """A network between a worker and its database that can be down."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._open: list[asyncio.StreamWriter] = []
        self.is_down = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.close()
            return
        server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        self._open += [writer, server_writer]

        async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(65_536):
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(forward(reader, server_writer), forward(server_reader, writer))

    def begin(self) -> None:
        self.is_down = True
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()


@asynccontextmanager
async def network(url: str) -> AsyncGenerator[tuple[Outage, str]]:
    parsed = make_url(url)
    outage = Outage(f"{parsed.query['host']}/.s.PGSQL.{parsed.query['port']}")
    async with await asyncio.start_server(outage.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield outage, f"postgresql://tarsy@127.0.0.1:{port}/{parsed.database}?sslmode=disable"
        outage.begin()


async def test_a_session_that_is_cancelled_while_its_worker_has_no_database_ends_cancelled_and_leaves_nothing_open(
    database_url: str,
) -> None:
    model, direct = Model(), create_engine(database_url)
    async with network(database_url) as (outage, url), scenario(model).running(url) as running, anyio.create_task_group() as tasks:
        tasks.start_soon(running.pool.run)
        await model.asked.wait()
        outage.begin()
        # The row of this text cannot be written, so its words are not delivered.
        model.begins.set()
        sessions = SessionRepository(Publisher(direct))
        await sessions.request_cancel(SESSION_ID, actor="tester")
        outage.is_down = False
        assert (await ended(sessions, SESSION_ID)).status is SessionStatus.CANCELLED
        assert {(event.event_type, event.status) for event in await timeline(running)} <= {("llm_response", "cancelled")}
        running.pool.stop_now()
    await direct.dispose()


async def test_fifty_sessions_that_stream_and_end_together_all_keep_their_texts(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text(yaml.safe_dump({"queue": {"worker_count": FIFTY, "max_concurrent_sessions": FIFTY}}))
    model = Model(together=FIFTY)
    model.goes_on.set()
    one = scenario(model, tmp_path)
    ids = [str(uuid4()) for _ in range(FIFTY)]
    async with one.continued(database_url) as running, anyio.create_task_group() as tasks:
        repositories = running.services.repositories
        for session_id in ids:
            await repositories.sessions.insert(replace(one.session(), id=session_id))
        tasks.start_soon(running.pool.run)
        sessions = [await ended(repositories.sessions, session_id) for session_id in ids]
        running.pool.stop_now()
        assert {session.status for session in sessions} == {SessionStatus.COMPLETED}
        assert {session.final_analysis for session in sessions} == {"".join(TEXT)}
        assert "streaming" not in [event.status for session_id in ids for event in await timeline(running, session_id)]
