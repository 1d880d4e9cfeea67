"""Reads a session's timeline in the order in which every client saw it."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg
import orjson
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Statement, borrowed
from tarsy.db.errors import NotFoundError
from tarsy.db.run.trace import EXECUTION_TREE, ExecutionInTree
from tarsy.domain.live_events import session_channel


def _time(column: str) -> str:
    """A time as all of ours are written: connections speak UTC, and write dates as ISO does. A template would cost half as much again."""
    return f"{column}::date || 'T' || {column}::time || 'Z'"


def _quoted(text: str) -> str:
    """What has no character that JSON would escape, as JSON."""
    return f"""coalesce('"' || {text} || '"', 'null')"""


# PostgreSQL writes an event as JSON but for its content: a function that takes the columns by name costs it twice as much, because it looks
# up the type and escapes the name of each of them for each row; and it escapes a large text ten times more slowly than we do.
_WRITTEN = f"""
    '"' || t.id || '","stage_id":' || {_quoted("t.stage_id")} || ',"execution_id":' || {_quoted("t.execution_id")}
    || ',"position":' || t.position || ',"sequence_number":' || t.sequence_number || ',"event_type":"' || t.event_type
    || '","evidence_id":' || coalesce(to_json(t.metadata ->> 'evidence_id')::text, 'null') || ',"status":"' || t.status
    || '","metadata":' || t.metadata::text || ',"created_at":"' || {_time("t.created_at")}
    || '","completed_at":' || {_quoted(_time("t.completed_at"))}"""
# All of it is answered in one statement, which sees one moment: an event between two reads would be lost to the listener. First a row without
# content, of the session, then one for each event: gathered into one, they would be copied once more, and sent only when the last is done.
_PAGE = Statement(
    f"""
    SELECT CAST(0 AS bigint) AS number, CAST(json_build_object(
            'last_event_id', coalesce((SELECT last_id FROM event_channels WHERE name = :channel), 0),
            'executions', (SELECT json_agg(x) FROM ({EXECUTION_TREE}) x)
        ) AS text) AS written, NULL AS content
    FROM alert_sessions WHERE id = :id AND deleted_at IS NULL
    UNION ALL (
        SELECT t.position, {_WRITTEN}, t.content
        FROM timeline_events t WHERE t.session_id = :id AND t.position > :after ORDER BY t.position LIMIT :limit
    )
    ORDER BY number
    """  # noqa: S608 - our own words
)


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Events, and the live event up to which they are current: a client that goes on listening from there misses nothing."""

    # A JSON array, as the API shows it.
    events: bytes
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
        # One more than is shown tells whether others follow.
        values = {"id": session_id, "channel": session_channel(session_id), "after": after, "limit": limit + 1}
        async with borrowed(self._engine) as connection:
            rows = await _PAGE.rows(connection, values)
        if not rows or rows[0]["content"] is not None:
            raise NotFoundError("session", session_id)
        session, events = orjson.loads(rows[0]["written"]), rows[1:]
        executions = tuple(ExecutionInTree(**execution) for execution in session["executions"] or ())
        next_after = events[limit - 1]["number"] if len(events) > limit else None
        return TimelinePage(_events_json(events[:limit]), executions, session["last_event_id"], next_after=next_after)


def _events_json(events: Sequence[asyncpg.Record]) -> bytes:
    """A JSON array. What PostgreSQL wrote continues the value of the first key, so that all of it stands in one object."""
    return orjson.dumps([{"id": orjson.Fragment(written), "content": content} for _, written, content in events])
