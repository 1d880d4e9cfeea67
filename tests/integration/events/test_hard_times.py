"""Lost database connections, silent peers and clients that do not read."""

import asyncio
from collections.abc import AsyncGenerator

import anyio
import orjson
import pytest
import sqlalchemy as sa
from websockets.asyncio.client import connect

from support.live_node import (
    GIVE_UP_SECONDS,
    LiveNode,
    Message,
    created_event,
    delta,
    ids,
    live_node,
    new_id,
    read_until,
    text_of,
)
from support.live_server import live_server
from tarsy.api import live
from tarsy.domain.live_events import session_channel
from tarsy.events.connection import Connection
from tarsy.events.hub import HubLimits

# Every connection outside the pool: the one that listens and the one that sends.
_END_RAW_CONNECTIONS = sa.text(
    """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle' AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify($1%' OR query = '')
    """
)


@pytest.fixture
async def there(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url, limits=HubLimits(connections=1)) as node:
        yield node


async def cut_off(node: LiveNode) -> None:
    async with node.engine.begin() as connection:
        await connection.execute(_END_RAW_CONNECTIONS)


async def place_given_back(node: LiveNode) -> None:
    """Wait until the only place for a connection is free again."""
    with anyio.fail_after(GIVE_UP_SECONDS):
        while node.live.hub.connection_count:  # noqa: ASYNC110 - what ends is a socket of the server, which notifies nobody
            await anyio.sleep(0.02)


async def test_events_committed_while_nobody_listened_arrive_after_the_reconnection(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        for _ in range(3):
            await cut_off(here)
            await here.write_status(session, 5)
        seen = await read_until(connection, lambda messages: len(ids(messages)) >= 15)
        assert ids(seen) == list(range(1, 16))


async def test_text_published_while_the_line_was_cut_is_not_lost(here: LiveNode, there: LiveNode) -> None:
    session, event, whole = new_id(), new_id(), ""
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        await here.write([created_event(session, event)])
        for number in range(60):
            if number in (20, 40):
                await cut_off(here)
            here.live.publish(delta(session, event, len(whole), f"word {number} "))
            whole += f"word {number} "
            await anyio.lowlevel.checkpoint()
        seen = await read_until(connection, lambda messages: text_of(messages, event) == whole)
        assert seen[1]["type"] == "timeline_event.created"


async def test_a_client_that_does_not_read_delays_nobody_and_is_asked_to_reload(here: LiveNode) -> None:
    session, count = new_id(), 400
    channel = session_channel(session)
    async with (
        live_server(here) as address,
        connect(f"ws://{address}/ws", max_queue=1, max_size=None, compression=None, close_timeout=0.1) as sleeper,
    ):
        await sleeper.send(orjson.dumps({"action": "subscribe", "channel": channel}).decode())
        await sleeper.recv()
        await sleeper.recv()
        with here.live.hub.connect() as other:
            await here.live.hub.subscribe(other, channel, None)
            awake = await _write_while_reading(here, session, count, other)
        assert ids(awake) == list(range(1, count + 1))
        last, overflows = 0, 0
        with anyio.fail_after(GIVE_UP_SECONDS):
            while last < count:
                message = orjson.loads(await sleeper.recv())
                if message["type"] == "catchup.overflow":
                    last, overflows = message["last_event_id"], overflows + 1
                else:
                    assert message["id"] == last + 1
                    last = message["id"]
        assert overflows == 1


async def _write_while_reading(node: LiveNode, session: str, count: int, reader: Connection) -> list[Message]:
    """Far more than the buffers of a socket hold."""
    seen: list[Message] = []
    for _ in range(count // 20):
        before = len(ids(seen))
        await node.write_status(session, 20, filler="x" * 60_000)
        seen += await read_until(reader, lambda messages: len(ids(messages)) >= 20)
        assert len(ids(seen)) == before + 20
    return seen


async def test_a_peer_that_does_not_answer_pings_is_closed(there: LiveNode) -> None:
    async with live_server(there, ws_ping_interval=0.1, ws_ping_timeout=0.1) as address:
        host, port = address.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET /ws HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert b"connection.established" in await reader.read()
        writer.close()
        await place_given_back(there)


async def test_a_client_that_takes_nothing_for_too_long_loses_its_place(there: LiveNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SEND_SECONDS", 0.3)
    session = new_id()
    async with (
        live_server(there) as address,
        connect(f"ws://{address}/ws", max_queue=1, max_size=None, compression=None, close_timeout=0.1) as sleeper,
    ):
        await sleeper.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        await sleeper.recv()
        await sleeper.recv()
        for _ in range(10):
            await there.write_status(session, 19, filler="x" * 60_000)
        await place_given_back(there)


async def test_a_client_that_gets_nothing_for_long_keeps_its_place(there: LiveNode, monkeypatch: pytest.MonkeyPatch) -> None:
    # Looked at in every turn of the loop: the silence between two answers is always too long.
    monkeypatch.setattr(live, "SEND_SECONDS", 0.0)
    async with live_server(there) as address, connect(f"ws://{address}/ws") as client:
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert orjson.loads(await client.recv())["type"] == "connection.established"
            for _ in range(5):
                await client.send(orjson.dumps({"action": "ping"}).decode())
                assert orjson.loads(await client.recv()) == {"type": "pong"}
