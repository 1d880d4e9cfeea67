"""Notes to running investigations (hints, and updates about their alerts): stored here, read by the agents with their steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Publisher
from tarsy.db.rows import Row, note_of, storable
from tarsy.db.tables import alert_sessions
from tarsy.domain import live_events
from tarsy.domain.note import MAX_HINTS, Note, NoteKind, NoteState, SessionNote, note_state
from tarsy.domain.status import SessionStatus

# A storm of alerts must not fill the conversation that investigates it.
MAX_UPDATES = 20
NO_MORE_UPDATES = "Agents get no further updates: later alerts of this incident, and their ends, are not mentioned."
_MOST: Mapping[NoteKind, int] = {NoteKind.HINT: MAX_HINTS, NoteKind.ALERTS: MAX_UPDATES, NoteKind.RESOLVED: MAX_UPDATES}

# An arbitrary number that no other lock uses. Two transactions must not give the same number to a session's notes.
_COUNTING = 0x7A26
_LOCK = sa.text(f"SELECT pg_advisory_xact_lock({_COUNTING}, hashtext(s.id)) FROM unnest(CAST(:sessions AS text[])) AS s(id)")
_STORE = sa.text(
    """
    INSERT INTO notes (session_id, number, kind, author, content, created_at)
    SELECT d.session_id, b.last + 1, :kind, d.author, d.content || CASE WHEN b.same = :most - 1 THEN :no_more ELSE '' END, :at
    FROM unnest(CAST(:sessions AS uuid[]), CAST(:authors AS text[]), CAST(:contents AS text[])) AS d(session_id, author, content)
    CROSS JOIN LATERAL (
        SELECT coalesce(max(number), 0) AS last, count(*) FILTER (WHERE kind = :kind) AS same FROM notes n WHERE n.session_id = d.session_id
    ) b
    WHERE b.same < :most
    RETURNING CAST(session_id AS text) AS session_id, number, kind, author, content, created_at
    """
)
_READ = """
    SELECT CAST(n.session_id AS text) AS session_id, n.number, n.kind, n.author, n.content, n.created_at, s.status,
        (SELECT array_agg(DISTINCT e.agent_name) FROM run_inputs i JOIN agent_executions e ON e.id = i.execution_id
         WHERE i.session_id = n.session_id AND i.kind = 'note' AND i.name = 'NOTE' || n.number) AS readers
    FROM notes n JOIN alert_sessions s ON s.id = n.session_id
    WHERE {of} AND s.deleted_at IS NULL ORDER BY s.created_at DESC, s.id DESC, n.number DESC LIMIT :most
"""
_OF_SESSION = sa.text(_READ.format(of="n.session_id = :id"))
_OF_INCIDENT = sa.text(_READ.format(of="s.incident_id = :id"))
# As many as one session can have. The page of an incident shows no more either: the newest.
_SHOWN = sum(_MOST.values())


@dataclass(frozen=True, slots=True)
class NewNote:
    session_id: str
    author: str
    text: str


async def store_notes(connection: AsyncConnection, kind: NoteKind, new: Sequence[NewNote], at: datetime) -> list[tuple[str, Note]]:
    """Store notes, at most one for each session, and return those that were stored.

    A session that has the greatest number of notes of a kind gets no more.
    """
    if not new:
        return []
    # Always in the same order, so that there is no deadlock.
    ordered = sorted(new, key=lambda one: one.session_id)
    sessions = [one.session_id for one in ordered]
    await connection.execute(_LOCK, {"sessions": sessions})
    parameters = {
        "sessions": sessions,
        "authors": [storable(one.author) for one in ordered],
        "contents": [storable(one.text) for one in ordered],
        "kind": kind.value,
        "at": at,
        "most": _MOST[kind],
        "no_more": "" if kind is NoteKind.HINT else f"\n\n{NO_MORE_UPDATES}",
    }
    return [(row["session_id"], note_of(row)) for row in (await connection.execute(_STORE, parameters)).mappings()]


class NoteRepository:
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def hint(self, session_id: str, text: str, *, author: str) -> SessionNote:
        """Store an engineer's hint for the agents of a session.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has ended, or has all the hints that it takes.
        """
        query = sa.select(alert_sessions.c.status).where(alert_sessions.c.id == session_id, alert_sessions.c.deleted_at.is_(None))
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            status = await connection.scalar(query)
            if status is None:
                raise NotFoundError("session", session_id)
            if SessionStatus(status).is_final:
                raise ConflictError("The hint came too late: the investigation has ended. Ask it as a question instead.")
            stored = await store_notes(connection, NoteKind.HINT, [NewNote(session_id, author, text)], datetime.now(UTC))
            if not stored:
                raise ConflictError(f"This investigation already has {MAX_HINTS} hints, the maximum.")
            given = stored[0][1]
            await add_audit_entry(
                connection, actor=author, action=AuditAction.HINT_GIVEN, session_id=session_id, details={"note": given.id}
            )
            await transaction.publish([live_events.note_created(session_id, given)], session_id=session_id)
        return SessionNote(note=given, session_id=session_id, state=NoteState.WAITING)

    async def of_session(self, session_id: str) -> list[SessionNote]:
        """Return the notes of a session, oldest first, with the agents that have read them."""
        return await self._read(_OF_SESSION, session_id)

    async def of_incident(self, incident_id: str) -> list[SessionNote]:
        """Return the newest notes of the investigations of an incident, oldest first."""
        return await self._read(_OF_INCIDENT, incident_id)

    async def _read(self, statement: sa.TextClause, wanted: str) -> list[SessionNote]:
        async with autocommit(self._publisher.engine).connect() as connection:
            rows = (await connection.execute(statement, {"id": wanted, "most": _SHOWN})).mappings().all()
        return [_session_note(row) for row in reversed(rows)]


def _session_note(row: Row) -> SessionNote:
    readers = tuple(row["readers"] or ())
    state = note_state(len(readers), SessionStatus(row["status"]))
    return SessionNote(note=note_of(row), session_id=row["session_id"], state=state, delivered_to=readers)
