"""The outbox of live events: written in the transaction of what they tell of, read by clients that must catch up."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Connection, Statement, borrowed
from tarsy.db.storable import as_stored
from tarsy.domain.live import LiveEvent, StoredLiveEvent

# An event that has no number yet, as PUBLISHING reads it.
Draft = Mapping[str, Any]

# PostgreSQL's channel for persistent events; subscribers' channels are inside the payload.
EVENTS_NOTIFICATION = "tarsy_events"
# PostgreSQL refuses 8,000 bytes and more.
NOTIFY_LIMIT = 7_900

# Numbers the `drafts` of a statement channel by channel, stores them and announces them at the commit. The texts are made once: without
# a word PostgreSQL would make each of them where it is measured and again where it is sent.
PUBLISHING = """
    channels AS (
        SELECT channel, count(*) AS events, min(place) AS first FROM drafts GROUP BY channel
    ),
    taken AS (
        INSERT INTO event_channels AS c (name, last_id) SELECT channel, events FROM channels ORDER BY first
        ON CONFLICT (name) DO UPDATE SET last_id = c.last_id + excluded.last_id
        RETURNING name, last_id
    ),
    numbered AS (
        SELECT d.place, d.channel, d.session_id, t.last_id - n.events + row_number() OVER (PARTITION BY d.channel ORDER BY d.place) AS id, d.payload
        FROM drafts d JOIN channels n USING (channel) JOIN taken t ON t.name = d.channel
    ),
    told AS (
        SELECT place, channel, session_id, id, payload || jsonb_build_object('id', id) AS payload FROM numbered
    ),
    stored AS (
        INSERT INTO events (channel, id, session_id, payload) SELECT channel, id, session_id, payload FROM told
    ),
    texts AS MATERIALIZED (
        SELECT place, channel, id, CAST(json_build_object('channel', channel, 'id', id, 'payload', payload) AS text) AS whole FROM told
    ),
    announced AS (
        SELECT place, channel, id, pg_notify(
            :notification,
            CASE WHEN octet_length(whole) <= :limit THEN whole ELSE CAST(json_build_object('channel', channel, 'id', id) AS text) END
        ) AS sent
        FROM texts ORDER BY place
    )"""
DRAFTS = "jsonb_to_recordset(CAST(:drafts AS jsonb)) AS d(place integer, channel text, session_id uuid, payload jsonb)"
_PUBLISH = Statement(f"WITH drafts AS (SELECT d.* FROM {DRAFTS}), {PUBLISHING} SELECT id, sent FROM announced ORDER BY place")  # noqa: S608 - our own words
_READ = Statement("SELECT id, payload FROM events WHERE channel = :channel AND id > :last_id ORDER BY id LIMIT :limit")
_LAST = Statement("SELECT last_id FROM event_channels WHERE name = :channel")


async def publish(connection: Connection, drafts: Sequence[LiveEvent], *, session_id: str | None) -> list[StoredLiveEvent]:
    """Store events about one session and announce them when the transaction commits; see `publish_for`."""
    return await publish_for(connection, [(session_id, draft) for draft in drafts])


async def publish_for(connection: Connection, drafts: Sequence[tuple[str | None, LiveEvent]]) -> list[StoredLiveEvent]:
    """Store events, each about its session, and announce them at the commit: one round trip, best the last one before it.

    Channels are taken in the order of first use, and kept: callers publish a session's own channel before the shared one, so that no two
    writers wait for each other.
    """
    if not drafts:
        return []
    rows = draft_rows(drafts)
    stored = await _PUBLISH.rows(connection, publishing_parameters(rows))
    return [stored_event(draft, row["id"]) for draft, row in zip(rows, stored, strict=True)]


def draft_rows(drafts: Sequence[tuple[str | None, LiveEvent]]) -> list[Draft]:
    """What PUBLISHING reads of each draft, in their order."""
    return [
        {
            "place": place,
            "channel": draft.channel,
            "session_id": session_id,
            "payload": {"type": draft.type.value, "channel": draft.channel, **as_stored(draft.payload)},
        }
        for place, (session_id, draft) in enumerate(drafts)
    ]


def publishing_parameters(rows: Sequence[Draft]) -> dict[str, Any]:
    return {"drafts": orjson.dumps(rows).decode(), "notification": EVENTS_NOTIFICATION, "limit": NOTIFY_LIMIT}


def stored_event(row: Draft, number: int) -> StoredLiveEvent:
    """A draft under the id it was given."""
    return StoredLiveEvent(row["channel"], number, {**row["payload"], "id": number})


# A tenth of a second's work. All at once, what a day without upkeep has left would take longer than a transaction may.
PURGE_BATCH = 5_000
_PURGE = Statement(
    """
    WITH gone AS (
        DELETE FROM events WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM events WHERE created_at < now() - CAST(:age AS interval) ORDER BY created_at LIMIT :batch FOR UPDATE SKIP LOCKED
        )) RETURNING 1
    )
    SELECT count(*) FROM gone
    """
)


class Outbox:
    """Reads what was published."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read_after(self, channel: str, last_id: int, limit: int) -> list[StoredLiveEvent]:
        """The events of `channel` that follow `last_id`, oldest first."""
        async with borrowed(self._engine) as connection:
            rows = await _READ.rows(connection, {"channel": channel, "last_id": last_id, "limit": limit})
        return [StoredLiveEvent(channel, row["id"], row["payload"]) for row in rows]

    async def last_id(self, channel: str) -> int:
        """The id of a channel's newest event, 0 before the first."""
        async with borrowed(self._engine) as connection:
            row = await _LAST.row(connection, {"channel": channel})
        return row["last_id"] if row else 0

    async def purge(self, *, older_than_seconds: float) -> int:
        """Forget events whose time has passed; their ids are never used again."""
        forgotten, more = 0, True
        while more:
            async with borrowed(self._engine) as connection:
                (row,) = await _PURGE.rows(connection, {"age": timedelta(seconds=older_than_seconds), "batch": PURGE_BATCH})
            forgotten, more = forgotten + row["count"], row["count"] == PURGE_BATCH
        return forgotten
