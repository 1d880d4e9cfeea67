"""The timeline of a session, in the order in which every client saw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import snapshot
from tarsy.db.errors import NotFoundError
from tarsy.db.run.trace import execution_tree
from tarsy.db.tables import alert_sessions, event_channels, timeline_events
from tarsy.domain.execution import AgentExecution
from tarsy.domain.live_events import session_channel


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Events, and the live event up to which they are current: a client that subscribes from there misses nothing."""

    # Rows with the columns of the table, and the `evidence_id` of the metadata.
    events: Sequence[sa.Row[Any]]
    executions: tuple[AgentExecution, ...]
    last_event_id: int
    # The position after which the next page begins, if there is one.
    next_after: int | None


class TimelineRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        # An event between two reads of different moments would be lost to the subscriber.
        self._engine = snapshot(engine)

    async def read(self, session_id: str, *, after: int = 0, limit: int = 10_000) -> TimelinePage:
        """Return the events of a session that follow position `after`.

        Raises:
            NotFoundError: there is no such session, or it was deleted.
        """
        event = timeline_events.c
        last_event = (
            sa.select(sa.func.coalesce(event_channels.c.last_id, 0))
            .select_from(alert_sessions.outerjoin(event_channels, event_channels.c.name == session_channel(session_id)))
            .where(alert_sessions.c.id == session_id, alert_sessions.c.deleted_at.is_(None))
        )
        # One more than the page holds shows whether others follow.
        page = (
            sa.select(timeline_events, event.metadata["evidence_id"].astext.label("evidence_id"))
            .where(event.session_id == session_id, event.position > after)
            .order_by(event.position)
            .limit(limit + 1)
        )
        async with self._engine.connect() as connection:
            last_event_id = await connection.scalar(last_event)
            if last_event_id is None:
                raise NotFoundError("session", session_id)
            events = (await connection.execute(page)).all()
            executions = await execution_tree(connection, session_id)
        next_after = events[limit - 1].position if len(events) > limit else None
        return TimelinePage(events[:limit], executions, last_event_id, next_after)
