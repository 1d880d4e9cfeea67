"""Reads a session's timeline in the order in which every client saw it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Statement, borrowed
from tarsy.db.errors import NotFoundError
from tarsy.db.execution_tree import ExecutionInTree, execution_tree
from tarsy.domain.live import session_channel

# As all our times are written; connections speak UTC.
_TIME = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
_EVENT = f"""
    json_build_object(
        'id', t.id, 'stage_id', t.stage_id, 'execution_id', t.execution_id, 'position', t.position, 'sequence_number', t.sequence_number,
        'event_type', t.event_type, 'evidence_id', t.metadata ->> 'evidence_id', 'status', t.status, 'content', t.content, 'metadata', t.metadata,
        'created_at', to_char(t.created_at, '{_TIME}'), 'completed_at', to_char(t.completed_at, '{_TIME}')
    )"""
# All of it is answered in one statement, which sees one moment: an event between two reads would be lost to the listener.
# A session without events answers with a row that has none.
_PAGE = Statement(
    f"""
    SELECT coalesce((SELECT last_id FROM event_channels WHERE name = :channel), 0) AS last_event_id, e.position, e.event
    FROM alert_sessions s
    LEFT JOIN LATERAL (
        SELECT t.position, {_EVENT}::text AS event FROM timeline_events t
        WHERE t.session_id = s.id AND t.position > :after ORDER BY t.position LIMIT :limit
    ) e ON true
    WHERE s.id = :id AND s.deleted_at IS NULL
    ORDER BY e.position
    """  # noqa: S608 - our own words
)


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Events, and the live event up to which they are current: a client that goes on listening from there misses nothing."""

    # A JSON array, as the API shows it.
    events: str
    executions: Sequence[ExecutionInTree]
    last_event_id: int
    # The position after which the next page begins, if there is one.
    next_after: int | None


class TimelineRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, session_id: str, *, after: int = 0, limit: int = 10_000) -> TimelinePage:
        """The events of a session that follow position `after`.

        Raises:
            NotFoundError: there is no such session, or it was deleted.
        """
        values = {"id": session_id, "channel": session_channel(session_id), "after": after, "limit": limit + 1}
        async with borrowed(self._engine) as connection:
            rows = await _PAGE.rows(connection, values)
            # After the events: whatever an event belongs to is there by then.
            executions = await execution_tree(connection, session_id)
        if not rows:
            raise NotFoundError("session", session_id)
        events = f"[{','.join(row['event'] for row in rows[:limit] if row['event'])}]"
        next_after = rows[limit - 1]["position"] if len(rows) > limit else None
        return TimelinePage(events, executions, rows[0]["last_event_id"], next_after=next_after)
