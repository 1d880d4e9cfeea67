"""The outbox of live events: written in the transaction of what they tell of, read by clients that must catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Connection, Statement, borrowed
from tarsy.db.rows import as_stored
from tarsy.domain.live_events import LiveEvent, StoredLiveEvent

# PostgreSQL's channel for persistent events; subscribers' channels are inside the payload.
EVENTS_NOTIFICATION = "tarsy_events"
# Of a payload and the name of its channel. PostgreSQL refuses 8,000 bytes and more, with the few that name the parts.
NOTIFY_LIMIT = 7_900

# Numbers the `drafts` of a statement channel by channel, stores them and announces them at the commit. Their texts are put together as
# texts: taking JSON apart to write a number into it would cost as much as storing it.
PUBLISHING = """
    taken AS (
        INSERT INTO event_channels AS c (name, last_id) SELECT channel, together FROM drafts WHERE number = 1 ORDER BY place
        ON CONFLICT (name) DO UPDATE SET last_id = c.last_id + excluded.last_id
        RETURNING name, last_id
    ),
    numbered AS (
        SELECT d.place, d.channel, d.session_id, t.last_id - d.together + d.number AS id, d.payload
        FROM drafts d JOIN taken t ON t.name = d.channel
    ),
    told AS (
        SELECT place, channel, session_id, id, concat(payload, ',"id":', id, '}') AS payload FROM numbered
    ),
    stored AS (
        INSERT INTO events (channel, id, session_id, payload) SELECT channel, id, session_id, CAST(payload AS jsonb) FROM told
    ),
    announced AS (
        SELECT place, id, pg_notify(:notification, concat(
            '{"channel":', to_json(channel), ',"id":', id,
            CASE WHEN octet_length(payload) + octet_length(channel) <= :limit THEN concat(',"payload":', payload) END, '}'
        )) AS sent
        FROM told ORDER BY place
    )"""
DRAFTS = """
    unnest(
        CAST(:channels AS text[]), CAST(:sessions AS uuid[]), CAST(:payloads AS text[]), CAST(:numbers AS integer[]), CAST(:together AS integer[])
    ) WITH ORDINALITY AS d(channel, session_id, payload, number, together, place)"""
_PUBLISH = Statement(f"WITH drafts AS (SELECT d.* FROM {DRAFTS}), {PUBLISHING} SELECT id, sent FROM announced ORDER BY place")  # noqa: S608 - our own words
_READ = Statement("SELECT id, payload FROM events WHERE channel = :channel AND id > :last_id ORDER BY id LIMIT :limit")
_LAST = Statement("SELECT last_id FROM event_channels WHERE name = :channel")


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no id yet, as PUBLISHING reads it."""

    channel: str
    session_id: str | None
    payload: Mapping[str, Any]
    # The payload as JSON.
    text: str


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
    made = [draft_of(session_id, draft) for session_id, draft in drafts]
    stored = await _PUBLISH.rows(connection, publishing_parameters(made))
    return [stored_event(draft, row["id"]) for draft, row in zip(made, stored, strict=True)]


def draft_of(session_id: str | None, event: LiveEvent) -> Draft:
    payload, text = as_stored({"type": event.type.value, "channel": event.channel, **event.payload})
    return Draft(event.channel, session_id, payload, text)


def publishing_parameters(drafts: Sequence[Draft]) -> dict[str, Any]:
    """What DRAFTS and PUBLISHING read. Which of its channel's drafts each is, and how many those are, need not be counted by the database."""
    channels = [draft.channel for draft in drafts]
    numbers: list[int] = []
    together: dict[str, int] = {}
    for channel in channels:
        together[channel] = together.get(channel, 0) + 1
        numbers.append(together[channel])
    return {
        "channels": channels,
        "sessions": [draft.session_id for draft in drafts],
        # The id goes where the last bracket was.
        "payloads": [draft.text[:-1] for draft in drafts],
        "numbers": numbers,
        "together": [together[channel] for channel in channels],
        "notification": EVENTS_NOTIFICATION,
        "limit": NOTIFY_LIMIT,
    }


def stored_event(draft: Draft, number: int) -> StoredLiveEvent:
    """A draft under the id it was given."""
    return StoredLiveEvent(draft.channel, number, {**draft.payload, "id": number})


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
