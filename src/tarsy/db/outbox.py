"""The outbox of live events: written in the transaction of the change that they announce, read by clients that must catch up."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import as_stored
from tarsy.domain.live_events import LiveEvent, StoredLiveEvent

# Takes committed events to the subscribers of this process; never waits.
Deliver = Callable[[Sequence[StoredLiveEvent]], None]

# PostgreSQL's channel for persistent events; subscribers' channels are inside the payload.
EVENTS_NOTIFICATION = "tarsy_events"
# Of a payload and the name of its channel. PostgreSQL refuses 8,000 bytes and more, with the few that name the parts.
NOTIFY_LIMIT = 7_900

# The events that a statement publishes, in their order.
DRAFTS = """
    unnest(CAST(:channels AS text[]), CAST(:sessions AS uuid[]), CAST(:payloads AS jsonb[]))
    WITH ORDINALITY AS d(channel, session_id, payload, place)"""
# Publishes the `drafts` of a statement: numbers them channel by channel, stores them, and announces them at the commit.
# The row of a channel stays locked until then, which makes its ids gap-free and in commit order.
PUBLISHING = """
    counted AS (
        SELECT d.*, row_number() OVER (PARTITION BY channel ORDER BY place) AS number, count(*) OVER (PARTITION BY channel) AS total
        FROM drafts d
    ),
    channels AS (
        INSERT INTO event_channels AS c (name, last_id)
        SELECT channel, total FROM counted WHERE number = 1 ORDER BY place
        ON CONFLICT (name) DO UPDATE SET last_id = c.last_id + excluded.last_id
        RETURNING name, last_id
    ),
    numbered AS (
        SELECT place, channel, session_id, last_id - total + number AS id,
            payload || jsonb_build_object('id', last_id - total + number) AS payload
        FROM counted JOIN channels ON name = channel
    ),
    stored AS (
        INSERT INTO events (channel, id, session_id, payload) SELECT channel, id, session_id, payload FROM numbered
    ),
    announced AS (
        SELECT place, id, pg_notify(:notification, CAST(jsonb_build_object(
            'channel', channel, 'id', id,
            'payload', CASE WHEN octet_length(CAST(payload AS text)) + octet_length(channel) <= :limit THEN payload END
        ) AS text)) AS sent
        FROM numbered ORDER BY place
    )"""
_PUBLISH = sa.text(f"WITH drafts AS (SELECT d.* FROM {DRAFTS}), {PUBLISHING} SELECT id, sent FROM announced ORDER BY place")
_READ = sa.text("SELECT id, payload FROM events WHERE channel = :channel AND id > :last_id ORDER BY id LIMIT :limit")
_LAST = sa.text("SELECT last_id FROM event_channels WHERE name = :channel")


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no id yet."""

    channel: str
    session_id: str | None
    payload: Mapping[str, Any]
    # The payload as JSON.
    text: str


def draft_of(session_id: str | None, event: LiveEvent) -> Draft:
    payload, text = as_stored({"type": event.type.value, "channel": event.channel, **event.payload})
    return Draft(event.channel, session_id, payload, text)


def draft_parameters(drafts: Sequence[Draft]) -> dict[str, Any]:
    """Return the parameters of DRAFTS and PUBLISHING."""
    return {
        "channels": [draft.channel for draft in drafts],
        "sessions": [draft.session_id for draft in drafts],
        "payloads": [draft.text for draft in drafts],
        "notification": EVENTS_NOTIFICATION,
        "limit": NOTIFY_LIMIT,
    }


def stored_event(draft: Draft, number: int) -> StoredLiveEvent:
    """Return a draft with the id that it was given."""
    return StoredLiveEvent(draft.channel, number, {**draft.payload, "id": number})


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction, and the events that it has published."""

    connection: AsyncConnection
    published: list[StoredLiveEvent] = field(default_factory=list[StoredLiveEvent])

    async def publish(self, events: Sequence[LiveEvent], *, session_id: str | None) -> None:
        """Store events about one session and announce them when the transaction commits; see `publish_for`."""
        await self.publish_for([(session_id, event) for event in events])

    async def publish_for(self, events: Sequence[tuple[str | None, LiveEvent]]) -> None:
        """Store events, each about its session, and announce them when the transaction commits.

        Channels are locked in the order of first use until the commit: callers publish last, and to a session's own channel before the
        shared one, so that no two writers wait for each other.
        """
        if not events:
            return
        drafts = [draft_of(session_id, event) for session_id, event in events]
        stored = await self.connection.execute(_PUBLISH, draft_parameters(drafts))
        self.published.extend(stored_event(draft, row.id) for draft, row in zip(drafts, stored, strict=True))


@dataclass(frozen=True, slots=True)
class Publisher:
    """Begins transactions that publish events. Once one is committed, its events are delivered to the subscribers of this process.

    Other processes get them by PostgreSQL's notification, as this one does too: delivering them only makes them arrive sooner here.
    """

    engine: AsyncEngine
    deliver: Deliver = lambda _events: None

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Transaction]:
        async with self.engine.begin() as connection:
            transaction = Transaction(connection)
            yield transaction
        self.deliver(transaction.published)


class Outbox:
    """Reads published events."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def read_after(self, channel: str, last_id: int, limit: int) -> list[StoredLiveEvent]:
        """Return the events of `channel` that follow `last_id`, oldest first."""
        async with self._engine.connect() as connection:
            rows = await connection.execute(_READ, {"channel": channel, "last_id": last_id, "limit": limit})
            return [StoredLiveEvent(channel, row.id, row.payload) for row in rows]

    async def last_id(self, channel: str) -> int:
        """Return the id of a channel's newest event, 0 before the first."""
        async with self._engine.connect() as connection:
            return await connection.scalar(_LAST, {"channel": channel}) or 0
