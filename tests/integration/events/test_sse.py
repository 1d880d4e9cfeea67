"""Server-sent events carry what the live connection carries."""

from collections.abc import AsyncGenerator

import anyio
import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent, aconnect_sse

from support.live_node import GIVE_UP_SECONDS, LiveNode, created_event, delta, live_node, new_id
from support.live_server import live_server
from tarsy.events.hub import HubLimits


@pytest.fixture
async def node(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url, limits=HubLimits(connections=1)) as node:
        yield node


@pytest.fixture
async def http(node: LiveNode) -> AsyncGenerator[httpx.AsyncClient]:
    async with live_server(node) as address, httpx.AsyncClient(base_url=f"http://{address}", timeout=GIVE_UP_SECONDS) as http:
        yield http


async def take(source: EventSource, count: int) -> list[ServerSentEvent]:
    taken: list[ServerSentEvent] = []
    with anyio.fail_after(GIVE_UP_SECONDS):
        async for event in source.aiter_sse():
            taken.append(event)
            if len(taken) == count:
                break
    return taken


async def test_a_script_follows_a_session_and_continues_after_its_last_event(node: LiveNode, http: httpx.AsyncClient) -> None:
    session = new_id()
    await node.write_status(session, 3)
    async with aconnect_sse(http, "GET", f"/api/v1/sessions/{session}/events", headers={"Last-Event-ID": "1"}) as source:
        assert source.response.headers["content-type"].startswith("text/event-stream")
        events = await take(source, 3)
    assert [event.event for event in events] == ["subscription.confirmed", "session.status", "session.status"]
    assert [event.id for event in events[1:]] == ["2", "3"]


async def test_text_comes_without_an_id(node: LiveNode, http: httpx.AsyncClient) -> None:
    session, event = new_id(), new_id()
    await node.write([created_event(session, event)])
    node.live.publish(delta(session, event, 0, "two\nlines"))
    async with aconnect_sse(http, "GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as source:
        [_, created, chunk] = await take(source, 3)
    assert (created.event, created.id) == ("timeline_event.created", "1")
    assert (chunk.event, chunk.json()["delta"]) == ("stream.chunk", "two\nlines")
    # The client library repeats the last id it saw: that is what it would continue from.
    assert chunk.id == "1"


async def test_a_session_that_cannot_exist_is_not_found(http: httpx.AsyncClient) -> None:
    assert (await http.get("/api/v1/sessions/nonsense/events")).status_code == 404


async def test_too_many_connections_are_asked_to_come_back_later(node: LiveNode, http: httpx.AsyncClient) -> None:
    with node.live.hub.connect():
        assert (await http.get(f"/api/v1/sessions/{new_id()}/events")).status_code == 429
