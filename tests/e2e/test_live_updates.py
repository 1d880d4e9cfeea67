"""Two server processes on one database: whatever happens, each client sees the stored truth, and text crosses processes."""

import io
import os
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import anyio
import httpx
import orjson
import pytest
import sqlalchemy as sa
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.to_thread import run_sync
from rich.console import Console
from sqlalchemy.exc import DBAPIError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from support.warm_tarsy import warm_command
from tarsy.cli.client import TarsyClient
from tarsy.cli.client import connect as cli_client
from tarsy.cli.live_view import answer_question, follow
from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.rows import columns
from tarsy.db.tables import events, timeline_events
from tarsy.demo.samples import list_samples
from tarsy.domain import live_events
from tarsy.domain.live_events import LiveEvent, LiveEventType, session_channel
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

START_SECONDS = 120
GIVE_UP_SECONDS = 90
# Below the catch-up limit, so that no reader may be asked to reload.
EVENTS = 160
READERS = 5

Message = dict[str, Any]


@pytest.fixture
def own_server() -> Generator[EmbeddedServer]:
    """A database of its own: the test restarts it. Not below pytest's directories, which its account may not enter."""
    with tempfile.TemporaryDirectory(prefix="tarsy-live-") as directory:
        server = EmbeddedServer(Path(directory))
        server.open()
        yield server
        server.close()


@asynccontextmanager
async def tarsy(database_url: str, *options: str, **environment: str) -> AsyncGenerator[str]:
    """A real server process; yields host and port."""
    env = {**os.environ, "DATABASE_URL": database_url, **environment}
    command = [*warm_command(), "serve", "--port", "0", *options]
    async with await anyio.open_process(command, env=env, stderr=None) as process:
        try:
            assert process.stdout is not None
            with anyio.fail_after(START_SECONDS):
                line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1_000)
            yield line.decode().rpartition("http://")[2].strip(" /")
        finally:
            process.kill()


async def submit(address: str) -> str:
    """A session of a sample incident."""
    sample = list_samples()[0]
    patient = httpx.AsyncHTTPTransport(retries=6)
    async with httpx.AsyncClient(base_url=f"http://{address}", timeout=30, transport=patient) as http:
        answer = await http.post("/api/v1/alerts", json={"alert_type": sample.alert_type, "data": sample.alert_data})
        assert answer.is_success, answer.text
        return str(answer.json()["session_id"])


async def say(connection: ClientConnection, **action: Any) -> None:
    await connection.send(orjson.dumps(action).decode())


@dataclass(slots=True)
class Reader:
    """A client that comes and goes, on whichever server it finds, and reads quickly or slowly."""

    channel: str
    addresses: tuple[str, str]
    chance: Random
    last: int = 0
    seen: list[Message] = field(default_factory=list[Message])

    async def read_until(self, finished: anyio.Event, total: list[int]) -> None:
        while not (finished.is_set() and self.last >= total[0]):
            try:
                await self._visit(self.chance.choice(self.addresses), lazy=self.chance.random() < 0.3)
            except (WebSocketException, OSError):
                await anyio.sleep(0.1)

    async def _visit(self, address: str, *, lazy: bool) -> None:
        stay = 0.2 + self.chance.random() * 2
        async with connect(f"ws://{address}/ws", close_timeout=0.1) as connection:
            with anyio.move_on_after(stay):
                await self._listen(connection, lazy=lazy)

    async def _listen(self, connection: ClientConnection, *, lazy: bool) -> None:
        await say(connection, action="subscribe", channel=self.channel, last_event_id=self.last)
        async for text in connection:
            self._take(orjson.loads(text))
            if lazy:
                await anyio.sleep(self.chance.random() * 0.1)

    def _take(self, message: Message) -> None:
        assert message["type"] not in {"catchup.overflow", "subscription.error", "error"}, message
        if "id" in message:
            assert message["id"] == self.last + 1, "a gap or a repetition"
            self.last = message["id"]
            self.seen.append(message)


async def write(database_url: str, session: str, chance: Random) -> int:
    """Write until there are enough events, through whatever happens to the database; answers how many there are."""
    engine = create_engine(database_url)
    outbox, channel = Outbox(engine), session_channel(session)
    last = 0
    while last < EVENTS:
        # Sometimes larger than a notification.
        payload = {"session_id": session, "filler": "x" * chance.choice([0, 0, 0, 9_000])}
        batch = [LiveEvent(channel, LiveEventType.SESSION_STATUS, payload)] * chance.randint(1, 4)
        try:
            async with Publisher(engine).transaction() as transaction:
                await transaction.publish(batch, session_id=session)
            last = await outbox.last_id(channel)
        except DBAPIError:
            await anyio.sleep(0.1)
        await anyio.sleep(chance.random() * 0.06)
    await engine.dispose()
    return last


async def stored(database_url: str, channel: str) -> list[Message]:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        rows = await connection.execute(sa.select(events.c.payload).where(events.c.channel == channel).order_by(events.c.id))
        payloads = [dict(row.payload) for row in rows]
    await engine.dispose()
    return payloads


def restart(server: EmbeddedServer) -> None:
    server.close()
    server.open()


@pytest.mark.timeout(240)
async def test_every_client_sees_the_stored_truth_through_disconnections_and_a_database_restart(own_server: EmbeddedServer) -> None:
    url = own_server.url
    async with tarsy(url, "--role", "api") as one, tarsy(url, "--role", "api") as two:
        session = await submit(one)
        chance = Random("live")  # noqa: S311 - a test that can be repeated, not a secret
        readers = [Reader(session_channel(session), (one, two), Random(f"reader {number}")) for number in range(READERS)]  # noqa: S311 - same
        finished, total = anyio.Event(), [0]
        with anyio.fail_after(GIVE_UP_SECONDS):
            async with anyio.create_task_group() as tasks:
                for reader in readers:
                    tasks.start_soon(reader.read_until, finished, total)
                tasks.start_soon(run_sync, restart, own_server)
                total[0] = await write(url, session, chance)
                finished.set()
        truth = await stored(url, session_channel(session))
    assert len(truth) == total[0]
    assert all(reader.seen == truth for reader in readers)


@pytest.mark.timeout(240)
async def test_text_of_one_process_is_seen_on_the_other_as_it_is_written(database_url: str) -> None:
    # The process that takes the alert sets how fast its recording answers.
    async with tarsy(database_url) as worker, tarsy(database_url, "--role", "api", TARSY_REPLAY_SPEED="20") as other:
        session = await submit(other)
        texts: dict[str, str] = {}
        chunks, contents = 0, dict[str, str]()
        with anyio.fail_after(GIVE_UP_SECONDS):
            async with connect(f"ws://{other}/ws") as connection:
                await say(connection, action="subscribe", channel=session_channel(session), last_event_id=0)
                async for text in connection:
                    message = orjson.loads(text)
                    match message["type"]:
                        case "stream.chunk":
                            chunks += 1
                            known = texts[message["event_id"]]
                            assert message["offset"] <= len(known)
                            texts[message["event_id"]] = known[: message["offset"]] + message["delta"]
                        case "timeline_event.created":
                            texts[message["event"]["id"]] = ""
                        case "timeline_event.completed":
                            contents[message["event_id"]] = message["content"]
                        case "session.completed":
                            break
                        case _:
                            pass
        assert worker != other
    assert chunks > 0
    # The verdict is written below the analysis, and stored apart from it.
    reported = {event: text.partition("```verdict")[0].rstrip() for event, text in texts.items()}
    assert all(contents[event].startswith(text) for event, text in reported.items() if text and event in contents)


@pytest.mark.timeout(240)
async def test_a_terminal_follows_a_session_to_its_end_and_can_look_at_it_again(database_url: str) -> None:
    command = [*warm_command(), "watch"]
    async with tarsy(database_url, TARSY_REPLAY_SPEED="50") as address:
        session = await submit(address)
        with anyio.fail_after(GIVE_UP_SECONDS):
            live = await anyio.run_process([*command, session, "--url", f"http://{address}"])
            again = await anyio.run_process([*command, session, "--url", f"http://{address}"])
    for shown in (live.stdout.decode(), again.stdout.decode()):
        assert f"{session} completed" in " ".join(shown.split())


class Screen(io.StringIO):
    """A terminal on which a test can wait for words."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self._awaited = awaited
        self.shown = anyio.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self._awaited in self.getvalue():
            self.shown.set()
        return written


async def store_entry(database_url: str, session: str, entry_id: str, *, left_out: int) -> None:
    """Store a warning and `left_out` events after it."""
    at = datetime.now(UTC)
    made = TimelineEvent(
        id=entry_id,
        session_id=session,
        stage_id=None,
        execution_id=None,
        sequence_number=0,
        event_type=TimelineEventType.WARNING,
        status=TimelineStatus.COMPLETED,
        content="The disk is nearly full.",
        created_at=at,
        completed_at=at,
    )
    engine = create_engine(database_url)
    async with Publisher(engine).transaction() as transaction:
        created = live_events.timeline_created(made)
        await transaction.publish([created], session_id=session)
        (stored,) = transaction.published
        await transaction.connection.execute(sa.insert(timeline_events).values(columns(made) | {"position": stored.id}))
        filler = LiveEvent(session_channel(session), LiveEventType.SESSION_STATUS, {"session_id": session, "status": "pending"})
        # The entry is announced once more, as if it had not been stored yet when the terminal read the timeline.
        await transaction.publish([*[filler] * left_out, created], session_id=session)
    await engine.dispose()


async def erase_events(database_url: str) -> None:
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(sa.delete(events))
    await engine.dispose()


@pytest.mark.timeout(240)
async def test_a_terminal_shows_what_happened_before_more_events_than_are_sent_again(database_url: str) -> None:
    async with tarsy(database_url, "--role", "api") as address, cli_client(f"http://{address}") as client:
        session = await submit(address)
        await store_entry(database_url, session, str(uuid4()), left_out=250)
        screen, completed = Screen("The disk is nearly full."), list[bool]()

        async def watch() -> None:
            completed.append(await follow(client, session, Console(file=screen, width=120)))

        with anyio.fail_after(GIVE_UP_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                await screen.shown.wait()
                await client.cancel(session)
    assert completed == [False]
    assert screen.getvalue().count("The disk is nearly full.") == 1
    assert f"{session} cancelled" in " ".join(screen.getvalue().split())


@pytest.mark.timeout(240)
async def test_a_terminal_that_wakes_after_the_events_were_erased_shows_the_end_and_the_answer(database_url: str) -> None:
    class Slept(TarsyClient):
        async def last_event(self, session_id: str) -> int:
            del session_id
            return 0

    async with tarsy(database_url, TARSY_REPLAY_SPEED="0") as address, cli_client(f"http://{address}") as client:
        session = await submit(address)
        screens = [io.StringIO(), io.StringIO()]
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert await follow(client, session, Console(file=io.StringIO()))
            await erase_events(database_url)
            assert await follow(client, session, Console(file=screens[0], width=120))
            async with httpx.AsyncClient(base_url=f"http://{address}", timeout=30) as http:
                assert await answer_question(Slept(http), session, list_samples()[0].questions[0], Console(file=screens[1], width=120))
    assert f"{session} completed" in " ".join(screens[0].getvalue().split())
    assert all(screen.getvalue().count("→ cluster.deployment_history") == 1 for screen in screens)
    assert "Hardly, but the margin is thin." in screens[1].getvalue()
