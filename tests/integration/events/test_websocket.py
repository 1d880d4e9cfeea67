"""The live connection as clients see it: a real server, real sockets, a real database."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from support.live_node import (
    GIVE_UP_SECONDS,
    LiveNode,
    Message,
    completed_event,
    created_event,
    delta,
    ids,
    live_node,
    new_id,
    text_of,
)
from support.live_server import live_server
from tarsy.api.auth import AuthSettings
from tarsy.api.live import MAX_ACTION_BYTES
from tarsy.api.tokens import ApiTokens
from tarsy.db.retention import PostgresRetentionStore
from tarsy.domain.live_events import session_channel
from tarsy.events import connection as events_connection
from tarsy.events.hub import HubLimits


@pytest.fixture
async def node(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url, limits=HubLimits(connections=3, subscriptions=2)) as node:
        yield node


@pytest.fixture
async def address(node: LiveNode) -> AsyncGenerator[str]:
    async with live_server(node) as address:
        yield address


class Client:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def say(self, **action: Any) -> None:
        await self._connection.send(orjson.dumps(action).decode())

    async def receive(self) -> Message:
        with anyio.fail_after(GIVE_UP_SECONDS):
            return orjson.loads(await self._connection.recv())

    async def subscribe(self, channel: str, last_event_id: int | None = None) -> Message:
        await self.say(action="subscribe", channel=channel, last_event_id=last_event_id)
        return await self.receive()

    async def receive_events(self, count: int) -> list[int]:
        return ids([await self.receive() for _ in range(count)])


@asynccontextmanager
async def client(address: str, path: str = "/ws", **options: Any) -> AsyncGenerator[Client]:
    async with connect(f"ws://{address}{path}", **options) as connection:
        client = Client(connection)
        assert (await client.receive())["type"] == "connection.established"
        yield client


@pytest.mark.parametrize("path", ["/ws", "/api/v1/ws"])
async def test_a_client_that_subscribes_gets_the_position_of_the_channel_and_what_follows(node: LiveNode, address: str, path: str) -> None:
    session = new_id()
    await node.write_status(session, 3)
    async with client(address, path) as browser:
        confirmed = await browser.subscribe(session_channel(session))
        assert confirmed == {"type": "subscription.confirmed", "channel": session_channel(session), "last_event_id": 3}
        await node.write_status(session, 2)
        assert await browser.receive_events(2) == [4, 5]


async def test_a_client_that_comes_back_continues_after_its_last_event(node: LiveNode, address: str) -> None:
    session = new_id()
    await node.write_status(session, 5)
    async with client(address) as browser:
        await browser.subscribe(session_channel(session), last_event_id=2)
        assert await browser.receive_events(3) == [3, 4, 5]
        await browser.say(action="catchup", channel=session_channel(session), last_event_id=3)
        assert await browser.receive_events(2) == [4, 5]


async def test_more_than_two_hundred_missed_events_are_an_overflow_and_live_goes_on(node: LiveNode, address: str) -> None:
    session = new_id()
    await node.write_status(session, 250)
    async with client(address) as browser:
        await browser.subscribe(session_channel(session), last_event_id=49)
        assert await browser.receive() == {"type": "catchup.overflow", "channel": session_channel(session), "last_event_id": 250}
        await node.write_status(session)
        assert await browser.receive_events(1) == [251]
        await browser.say(action="catchup", channel=session_channel(session), last_event_id=51)
        assert await browser.receive_events(200) == list(range(52, 252))


async def test_events_taken_by_retention_are_an_overflow(node: LiveNode, address: str) -> None:
    session = new_id()
    await node.write_status(session, 5)
    await PostgresRetentionStore(node.engine).erase_events(older_than_seconds=0)
    await node.write_status(session, 1)
    async with client(address) as browser:
        await browser.subscribe(session_channel(session), last_event_id=3)
        assert (await browser.receive())["type"] == "catchup.overflow"
        await browser.subscribe(session_channel(session), last_event_id=5)
        assert await browser.receive_events(1) == [6]


async def test_an_id_the_database_never_gave_is_an_overflow(node: LiveNode, address: str) -> None:
    session = new_id()
    await node.write_status(session, 5)
    async with client(address) as browser:
        await browser.subscribe(session_channel(session), last_event_id=99)
        assert await browser.receive() == {"type": "catchup.overflow", "channel": session_channel(session), "last_event_id": 5}


async def test_text_never_arrives_before_its_event_nor_after_its_end(node: LiveNode, address: str) -> None:
    session, event = new_id(), new_id()
    async with client(address) as browser:
        await browser.subscribe(session_channel(session))
        await node.write([created_event(session, event)])
        node.live.publish(delta(session, event, 0, "one "))
        received = [await browser.receive(), await browser.receive()]
        assert [message["type"] for message in received] == ["timeline_event.created", "stream.chunk"]
        node.live.publish(delta(session, event, 4, "two"))
        await node.write([completed_event(session, event, "one two")])
        node.live.publish(delta(session, event, 7, "late"))
        await browser.say(action="ping")
        while received[-1]["type"] != "pong":
            received.append(await browser.receive())
        assert [message["type"] for message in received].index("timeline_event.completed") > max(
            index for index, message in enumerate(received) if message["type"] == "stream.chunk"
        )


async def test_a_client_that_joins_in_mid_stream_gets_the_text_so_far(node: LiveNode, address: str) -> None:
    session, event = new_id(), new_id()
    await node.write([created_event(session, event)])
    node.live.publish(delta(session, event, 0, "so far"))
    async with client(address) as browser:
        await browser.subscribe(session_channel(session), last_event_id=0)
        received = [await browser.receive(), await browser.receive()]
        assert received[0]["type"] == "timeline_event.created"
        assert (received[1]["offset"], received[1]["delta"]) == (0, "so far")
        node.live.publish(delta(session, event, 6, " and on"))
        received.append(await browser.receive())
        assert received[2]["offset"] == 6
        assert text_of(received, event) == "so far and on"


async def test_a_stream_that_starts_over_replaces_what_was_shown(node: LiveNode, address: str) -> None:
    session, event = new_id(), new_id()
    async with client(address) as browser:
        await browser.subscribe(session_channel(session))
        await node.write([created_event(session, event)])
        node.live.publish(delta(session, event, 0, "a first attempt"))
        received = [await browser.receive(), await browser.receive()]
        node.live.publish(delta(session, event, 0, "another"))
        received.append(await browser.receive())
        assert text_of(received, event) == "another"


async def test_progress_reaches_the_list_and_whoever_joins_it_later(node: LiveNode, address: str) -> None:
    session = new_id()
    node.live.progress(session, stage_name="look", stage_index=1, stage_count=3)
    async with client(address) as browser:
        await browser.subscribe("sessions")
        assert (await browser.receive())["stage_index"] == 1
        node.live.progress(session, stage_name="look", stage_index=2, stage_count=3)
        assert await browser.receive() == {
            "type": "session.progress",
            "channel": "sessions",
            "session_id": session,
            "stage_name": "look",
            "stage_index": 2,
            "stage_count": 3,
        }


async def test_after_unsubscribing_nothing_more_is_sent(node: LiveNode, address: str) -> None:
    session = new_id()
    async with client(address) as browser:
        await browser.subscribe(session_channel(session))
        await browser.say(action="unsubscribe", channel=session_channel(session))
        await browser.say(action="ping")
        assert (await browser.receive())["type"] == "pong"
        await node.write_status(session)
        await browser.say(action="ping")
        assert (await browser.receive())["type"] == "pong"


@pytest.mark.parametrize("channel", ["tarsy_events", "session:1", "session:*"])
async def test_a_channel_that_does_not_exist_is_refused(address: str, channel: str) -> None:
    async with client(address) as browser:
        refused = await browser.subscribe(channel)
        assert (refused["type"], refused["channel"]) == ("subscription.error", channel)


async def test_more_subscriptions_than_the_limit_are_refused(address: str) -> None:
    async with client(address) as browser:
        for _ in range(2):
            assert (await browser.subscribe(session_channel(new_id())))["type"] == "subscription.confirmed"
        assert (await browser.subscribe("sessions"))["type"] == "subscription.error"


async def test_a_client_that_asks_without_end_has_to_wait(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_connection, "REQUESTS_PER_SECOND", 5)
    async with client(address) as browser:
        started = anyio.current_time()
        for _ in range(7):
            await browser.say(action="ping")
        for _ in range(7):
            assert await browser.receive() == {"type": "pong"}
        assert anyio.current_time() - started >= 0.9


async def test_catching_up_without_a_subscription_is_refused(address: str) -> None:
    async with client(address) as browser:
        await browser.say(action="catchup", channel="sessions", last_event_id=0)
        assert (await browser.receive())["type"] == "subscription.error"


async def test_nonsense_is_answered_and_survived(address: str) -> None:
    async with client(address) as browser:
        await browser.say(action="shout")
        assert (await browser.receive())["type"] == "error"
        await browser.say(action="ping")
        assert await browser.receive() == {"type": "pong"}


async def test_an_action_beyond_the_size_limit_ends_the_connection(address: str) -> None:
    async with client(address) as browser:
        await browser.say(action="ping", filler="x" * MAX_ACTION_BYTES)
        with pytest.raises(ConnectionClosed) as closed:
            await browser.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_more_connections_than_the_limit_are_turned_away_and_places_are_given_back(address: str) -> None:
    async with client(address), client(address), client(address) as last:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://{address}/ws")
        assert refused.value.response.status_code == 503
        await last.say(action="ping")
        assert (await last.receive())["type"] == "pong"
    async with client(address):
        pass


@pytest.mark.parametrize(("origin", "admitted"), [("https://evil.example", False), ("https://tarsy.example", True), (None, True)])
async def test_only_pages_of_allowed_origins_may_listen(node: LiveNode, origin: str | None, *, admitted: bool) -> None:
    async with live_server(node, auth=AuthSettings(allowed_origins=("https://tarsy.example",))) as address:
        if admitted:
            async with client(address, origin=origin):
                pass
            return
        with pytest.raises(InvalidStatus) as refused:
            async with client(address, origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_whoever_must_log_in_must_do_so_here_too(node: LiveNode) -> None:
    auth = AuthSettings(tokens=ApiTokens({"me": "0123456789abcdef0123456789abcdef"}), login_required=True)
    async with live_server(node, auth=auth) as address:
        with pytest.raises(InvalidStatus):
            await connect(f"ws://{address}/ws")
        async with client(address, additional_headers={"Authorization": "Bearer 0123456789abcdef0123456789abcdef"}):
            pass


async def test_a_client_that_sleeps_has_the_whole_text_when_it_wakes(node: LiveNode, address: str) -> None:
    """Far more than its socket holds: the text so far comes when the client reads again."""
    session, event, pieces, piece = new_id(), new_id(), 300, "x" * 20_000
    async with (
        connect(f"ws://{address}/ws", max_queue=1, max_size=None, compression=None, close_timeout=0.1) as sleeper,
    ):
        await sleeper.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        received: list[Message] = [orjson.loads(await sleeper.recv()), orjson.loads(await sleeper.recv())]
        await node.write([created_event(session, event)])
        for number in range(pieces):
            node.live.publish(delta(session, event, number * len(piece), piece))
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(GIVE_UP_SECONDS):
            while len(text_of(received, event)) < pieces * len(piece):
                received.append(orjson.loads(await sleeper.recv()))
        chunks = [message for message in received if message["type"] == "stream.chunk"]
        assert text_of(received, event) == piece * pieces
        assert len(chunks) < pieces
