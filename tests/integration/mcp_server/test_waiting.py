"""Waiting for the end of a session over live events from the database."""

from typing import Any

import anyio

from support.live_node import LiveNode, live_node, new_id
from tarsy.api.services import LiveServices
from tarsy.domain.live_events import LiveEvent, LiveEventType, session_channel
from tarsy.events.feed import CATCHUP_LIMIT
from tarsy.events.hub import HubLimits
from tarsy.mcp_server.progress import Event, wait_for_end

SECONDS = 600.0


def event(session_id: str, kind: LiveEventType, **payload: Any) -> LiveEvent:
    return LiveEvent(session_channel(session_id), kind, {"session_id": session_id, **payload})


def ends_session(event: Event) -> bool:
    return event["type"] == LiveEventType.SESSION_COMPLETED


async def wait(live: LiveServices, session_id: str, subscribed: anyio.Event, seconds: float = SECONDS) -> list[str]:
    """Wait for the end of a session; return what was reported meanwhile."""
    reported: list[str] = []

    async def has_ended() -> bool:
        subscribed.set()
        return False

    async def report(_seconds: float, _total: float | None, text: str) -> None:
        reported.append(text)

    with anyio.fail_after(60):
        await wait_for_end(live, session_id, seconds, has_ended=has_ended, is_end=ends_session, report=report)
    return reported


async def finish(node: LiveNode, session_id: str, subscribed: anyio.Event) -> None:
    await subscribed.wait()
    await node.write([event(session_id, LiveEventType.STAGE_STARTED, stage_name="investigation")])
    # As a process would that is not this one.
    await node.write([event(session_id, LiveEventType.SESSION_COMPLETED, status="completed")], announce=False)


async def test_a_wait_reports_what_happens_and_ends_with_the_session(database_url: str) -> None:
    session_id, subscribed = new_id(), anyio.Event()
    async with live_node(database_url) as node, anyio.create_task_group() as tasks:
        tasks.start_soon(finish, node, session_id, subscribed)
        reported = await wait(LiveServices(hub=node.live.hub), session_id, subscribed)
        assert reported == ["Follows the session", "Stage investigation"]


async def test_a_wait_ends_with_the_session_even_if_its_end_is_among_events_that_were_left_out(database_url: str) -> None:
    session_id, is_over = new_id(), False
    async with live_node(database_url) as node:

        async def has_ended() -> bool:
            nonlocal is_over
            if is_over:
                return True
            await node.write([event(session_id, LiveEventType.SESSION_COMPLETED, status="completed")])
            await node.write_status(session_id, CATCHUP_LIMIT + 1)
            is_over = True
            return False

        async def report(_seconds: float, _total: float | None, _text: str) -> None: ...

        with anyio.fail_after(10):
            await wait_for_end(
                LiveServices(hub=node.live.hub), session_id, SECONDS, has_ended=has_ended, is_end=ends_session, report=report
            )


async def test_a_wait_ends_when_the_server_stops(database_url: str) -> None:
    subscribed = anyio.Event()
    async with live_node(database_url) as node, anyio.create_task_group() as tasks:
        live = LiveServices(hub=node.live.hub)

        async def stop() -> None:
            await subscribed.wait()
            live.streams.end()

        tasks.start_soon(stop)
        await wait(live, new_id(), subscribed)


async def test_a_wait_has_a_limit(database_url: str) -> None:
    async with live_node(database_url) as node:
        reported = await wait(LiveServices(hub=node.live.hub), new_id(), anyio.Event(), seconds=0.05)
        assert set(reported) == {"Follows the session"}


async def test_nobody_waits_without_a_free_live_connection(database_url: str) -> None:
    async with live_node(database_url, limits=HubLimits(connections=0)) as node:
        assert await wait(LiveServices(hub=node.live.hub), new_id(), anyio.Event()) == []
