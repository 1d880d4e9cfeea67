"""The short way of live text: from the writer to the client's socket without a turn of the event loop in between."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import orjson
import pytest
from websockets.asyncio.client import connect

from support.live_node import GIVE_UP_SECONDS, LiveNode, Message, created_event, delta, new_id, read_until, text_of
from support.live_server import live_server
from tarsy.domain.live_events import StoredLiveEvent, session_channel


class Socket:
    """A client's, that takes what it is given unless it `is_full`."""

    def __init__(self) -> None:
        self.is_full = False
        self.taken: list[Message] = []

    def write_now(self, message: str) -> bool:
        if not self.is_full:
            self.taken.append(orjson.loads(message))
        return not self.is_full


class Follower:
    """A client's task and its socket, as the server has them."""

    def __init__(self, node: LiveNode, session: str) -> None:
        self._node = node
        self.session = session
        self.socket = Socket()
        self.read: list[Message] = []
        self._news = anyio.Event()

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        with self._node.live.hub.connect() as connection:
            connection.write_now = self.socket.write_now
            await self._node.live.hub.subscribe(connection, session_channel(self.session), None)

            async def read() -> None:
                while True:
                    self.read += [orjson.loads(message) for message in await connection.next_messages()]
                    self._news.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                yield
                tasks.cancel_scope.cancel()

    async def heard(self, kind: str) -> None:
        """Until its task has read such a message, and waits for the next."""
        with anyio.fail_after(GIVE_UP_SECONDS):
            while kind not in [message["type"] for message in self.read]:
                self._news = anyio.Event()
                await self._news.wait()
        await anyio.wait_all_tasks_blocked()


@pytest.fixture
def follower(here: LiveNode) -> Follower:
    return Follower(here, new_id())


async def test_text_is_on_its_way_when_the_writer_goes_on(here: LiveNode, follower: Follower) -> None:
    event = new_id()
    async with follower.following():
        await here.write([created_event(follower.session, event)])
        await follower.heard("timeline_event.created")
        here.live.publisher.publish(delta(follower.session, event, 0, "one "))
        here.live.publisher.publish(delta(follower.session, event, 4, "two"))
        assert [message["delta"] for message in follower.socket.taken] == ["one ", "two"]


async def test_text_does_not_overtake_the_event_that_it_belongs_to(here: LiveNode, follower: Follower) -> None:
    event = new_id()
    async with follower.following():
        await follower.heard("subscription.confirmed")
        created = created_event(follower.session, event)
        here.live.publisher.announce([StoredLiveEvent(created.channel, 1, {"type": created.type, "id": 1, **created.payload})])
        here.live.publisher.publish(delta(follower.session, event, 0, "one"))
        assert follower.socket.taken == []
        await follower.heard("stream.chunk")
        assert [message["type"] for message in follower.read[1:]] == ["timeline_event.created", "stream.chunk"]


async def test_text_for_a_socket_that_is_full_waits_and_keeps_its_order(here: LiveNode, follower: Follower) -> None:
    event, socket = new_id(), follower.socket
    async with follower.following():
        await here.write([created_event(follower.session, event)])
        await follower.heard("timeline_event.created")
        socket.is_full = True
        here.live.publisher.publish(delta(follower.session, event, 0, "one "))
        socket.is_full = False
        here.live.publisher.publish(delta(follower.session, event, 4, "two "))
        assert socket.taken == []
        await follower.heard("stream.chunk")
        here.live.publisher.publish(delta(follower.session, event, 8, "three"))
        assert text_of([*follower.read, *socket.taken], event) == "one two three"


async def test_a_client_without_a_short_way_is_told_by_its_task(here: LiveNode) -> None:
    session, event = new_id(), new_id()
    with here.live.hub.connect() as connection:
        await here.live.hub.subscribe(connection, session_channel(session), None)
        await here.write([created_event(session, event)])
        here.live.publisher.publish(delta(session, event, 0, "one"))
        seen = await read_until(connection, lambda messages: text_of(messages, event) == "one")
        assert seen[-1]["type"] == "stream.chunk"


async def test_a_client_that_sleeps_has_the_whole_text_when_it_wakes(here: LiveNode) -> None:
    """Far more than its socket holds: the short way ends there, and the text so far comes when the client reads again."""
    session, event, pieces, piece = new_id(), new_id(), 300, "x" * 20_000
    async with (
        live_server(here) as address,
        connect(f"ws://{address}/ws", max_queue=1, max_size=None, compression=None, close_timeout=0.1) as sleeper,
    ):
        await sleeper.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        heard: list[Message] = [orjson.loads(await sleeper.recv()), orjson.loads(await sleeper.recv())]
        await here.write([created_event(session, event)])
        for number in range(pieces):
            here.live.publisher.publish(delta(session, event, number * len(piece), piece))
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(GIVE_UP_SECONDS):
            while len(text_of(heard, event)) < pieces * len(piece):
                heard.append(orjson.loads(await sleeper.recv()))
        chunks = [message for message in heard if message["type"] == "stream.chunk"]
        assert text_of(heard, event) == piece * pieces
        assert len(chunks) < pieces
