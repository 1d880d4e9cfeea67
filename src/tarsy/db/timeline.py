"""Reads a session's timeline in the order in which every client saw it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Statement, borrowed
from tarsy.db.errors import NotFoundError
from tarsy.db.execution_tree import EXECUTION_TREE, ExecutionInTree
from tarsy.domain.live import session_channel

# As all our times are written; connections speak UTC.
_TIME = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
_EVENT = f"""
    t.id, t.stage_id, t.execution_id, t.position, t.sequence_number, t.event_type, t.metadata ->> 'evidence_id' AS evidence_id, t.status, t.content,
    t.metadata, to_char(t.created_at, '{_TIME}') AS created_at, to_char(t.completed_at, '{_TIME}') AS completed_at"""
# All of it is answered in one statement, which sees one moment: an event between two reads would be lost to the listener. The events come as
# one text, because nothing here looks at them.
_PAGE = Statement(
    f"""
    SELECT coalesce((SELECT last_id FROM event_channels WHERE name = :channel), 0) AS last_event_id, page.events,
        CASE WHEN EXISTS (SELECT FROM timeline_events t WHERE t.session_id = s.id AND t.position > page.last) THEN page.last END AS next_after,
        (SELECT json_agg(x) FROM ({EXECUTION_TREE}) x) AS executions
    FROM alert_sessions s
    CROSS JOIN LATERAL (
        SELECT string_agg(row_to_json(e)::text, ',') AS events, max(e.position) AS last
        FROM (SELECT {_EVENT} FROM timeline_events t WHERE t.session_id = s.id AND t.position > :after ORDER BY t.position LIMIT :limit) e
    ) page
    WHERE s.id = :id AND s.deleted_at IS NULL
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
        values = {"id": session_id, "channel": session_channel(session_id), "after": after, "limit": limit}
        async with borrowed(self._engine) as connection:
            row = await _PAGE.row(connection, values)
        if row is None:
            raise NotFoundError("session", session_id)
        executions = tuple(ExecutionInTree(**execution) for execution in row["executions"] or ())
        return TimelinePage(f"[{row['events'] or ''}]", executions, row["last_event_id"], next_after=row["next_after"])
