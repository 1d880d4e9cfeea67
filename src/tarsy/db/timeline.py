"""Reads a session's timeline in the order in which every client saw it."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.rows import timeline_of
from tarsy.db.tables import event_channels, timeline_events
from tarsy.domain.live import session_channel
from tarsy.domain.timeline import TimelineEvent


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Events, and the live event up to which they are current: a client that goes on listening from there misses nothing."""

    events: tuple[TimelineEvent, ...]
    last_event_id: int
    more: bool


class TimelineRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, session_id: str, *, after: int = 0, limit: int = 10_000) -> TimelinePage:
        """The events of a session that follow position `after`."""
        table = timeline_events.c
        query = sa.select(timeline_events).where(table.session_id == session_id, table.position > after)
        last = sa.select(event_channels.c.last_id).where(event_channels.c.name == session_channel(session_id))
        async with self._engine.connect() as connection:
            # Both reads must see the same moment: an event between them would be lost to the listener.
            snapshot = await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            last_id = (await snapshot.execute(last)).scalar_one_or_none() or 0
            rows = (await snapshot.execute(query.order_by(table.position).limit(limit + 1))).mappings().all()
        return TimelinePage(tuple(timeline_of(row) for row in rows[:limit]), last_id, more=len(rows) > limit)
