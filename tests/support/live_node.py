"""One process's share of live delivery on a real database, without its server."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio
import orjson
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import create_engine
from tarsy.db.notifications import NotificationListener, NotificationSender
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox, Publisher
from tarsy.domain.live_events import LiveEvent, LiveEventType, StoredLiveEvent, StreamDelta, session_channel
from tarsy.events.connection import Connection
from tarsy.events.hub import HubLimits
from tarsy.events.live_updates import LiveUpdates

# Long enough for a busy machine, short enough to fail within a test's own limit.
GIVE_UP_SECONDS = 60

Message = dict[str, Any]


async def _any_session(_session_id: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class LiveNode:
    engine: AsyncEngine
    outbox: Outbox
    listener: NotificationListener
    live: LiveUpdates

    async def write(self, events: Sequence[LiveEvent], *, announce: bool = True) -> list[StoredLiveEvent]:
        """Commit events as a writer of this process does; without `announce`, as one of another process."""
        publisher = Publisher(self.engine, self.live.deliver) if announce else Publisher(self.engine)
        async with publisher.transaction() as transaction:
            await transaction.publish(events, session_id=None)
        return transaction.published

    async def write_status(self, session_id: str, count: int = 1, *, filler: str = "", announce: bool = True) -> list[StoredLiveEvent]:
        return await self.write([status_event(session_id, filler) for _ in range(count)], announce=announce)


def status_event(session_id: str, filler: str = "") -> LiveEvent:
    return LiveEvent(session_channel(session_id), LiveEventType.SESSION_STATUS, {"session_id": session_id, "filler": filler})


def created_event(session_id: str, event_id: str, filler: str = "") -> LiveEvent:
    payload = {"session_id": session_id, "event": {"id": event_id, "status": "streaming", "content": filler}}
    return LiveEvent(session_channel(session_id), LiveEventType.TIMELINE_CREATED, payload)


def completed_event(session_id: str, event_id: str, content: str) -> LiveEvent:
    payload = {"session_id": session_id, "event_id": event_id, "status": "completed", "content": content}
    return LiveEvent(session_channel(session_id), LiveEventType.TIMELINE_COMPLETED, payload)


def delta(session_id: str, event_id: str, offset: int, text: str) -> StreamDelta:
    return StreamDelta(session_id, event_id, offset, text)


def new_id() -> str:
    return str(uuid4())


@asynccontextmanager
async def live_node(url: str, *, limits: HubLimits | None = None) -> AsyncGenerator[LiveNode]:
    engine = create_engine(url)
    listener, sender = NotificationListener(url), NotificationSender(url)
    live = LiveUpdates(
        store=Outbox(engine),
        source=listener,
        broadcast=sender,
        session_exists=_any_session,
        events_notification=EVENTS_NOTIFICATION,
        limits=limits,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(listener.run)
        await tasks.start(sender.run)
        await tasks.start(live.run)
        yield LiveNode(engine, Outbox(engine), listener, live)
        tasks.cancel_scope.cancel()
    await engine.dispose()


async def read_until(connection: Connection, enough: Callable[[list[Message]], bool]) -> list[Message]:
    """Everything the connection receives until `enough(messages)`."""
    seen: list[Message] = []
    with anyio.fail_after(GIVE_UP_SECONDS):
        while not enough(seen):
            seen += [orjson.loads(message) for message in await connection.next_messages()]
    return seen


def ids(messages: Sequence[Message]) -> list[int]:
    return [message["id"] for message in messages if "id" in message]


def text_of(messages: Sequence[Message], event_id: str) -> str:
    """What a client shows that puts every chunk at its place."""
    text = ""
    for message in messages:
        if message["type"] == "stream.chunk" and message["event_id"] == event_id:
            assert message["offset"] <= len(text), "a chunk beyond the end of what the client has"
            text = text[: message["offset"]] + message["delta"]
    return text
