"""The audit log: who did what to which session. Entries outlive their session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import read
from tarsy.db.tables import audit_log


class AuditAction(StrEnum):
    ALERT_SUBMITTED = "alert.submitted"
    SESSION_FORKED = "session.forked"
    SESSION_CANCELLED = "session.cancelled"
    SESSION_DELETED = "session.deleted"
    SESSION_PURGED = "session.purged"
    EXECUTION_CANCELLED = "execution.cancelled"
    CHAT_ASKED = "chat.asked"
    CHAT_CANCELLED = "chat.cancelled"
    HINT_GIVEN = "hint.given"
    SCORE_REQUESTED = "score.requested"
    CONFIG_VIEWED = "config.viewed"
    CONFIG_RELOADED = "config.reloaded"
    SETUP_OPENED = "setup.opened"
    SETUP_CHANGED = "setup.changed"
    WORK_PAUSED = "work.paused"
    WORK_RESUMED = "work.resumed"
    ALERTS_MUTED = "alerts.muted"
    MUTE_ENDED = "mute.ended"
    INCIDENT_INVESTIGATED = "incident.investigated"
    INCIDENT_RESOLVED = "incident.resolved"
    INCIDENTS_MERGED = "incidents.merged"
    INCIDENT_SPLIT = "incident.split"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at: datetime
    actor: str
    action: AuditAction
    session_id: str | None
    details: Mapping[str, Any]


async def add_audit_entry(
    connection: AsyncConnection, *, actor: str, action: AuditAction, session_id: str | None = None, details: Mapping[str, Any] | None = None
) -> None:
    """Add an entry in the transaction of the action that it is about."""
    values = {"actor": actor, "action": action.value, "session_id": session_id, "details": dict(details or {})}
    await connection.execute(sa.insert(audit_log).values(values))


async def add_audit_entries(connection: AsyncConnection, action: AuditAction, done: Sequence[tuple[str, str]]) -> None:
    """Add an entry for each pair of an actor and the session that they did the same to."""
    entries = [{"actor": actor, "action": action.value, "session_id": session_id} for actor, session_id in done]
    await connection.execute(sa.insert(audit_log), entries)


class AuditLog:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def append(
        self, actor: str, action: AuditAction, *, session_id: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        """Add an entry about an action that changes nothing in the database."""
        async with self._engine.begin() as connection:
            await add_audit_entry(connection, actor=actor, action=action, session_id=session_id, details=details)

    async def of_session(self, session_id: str) -> list[AuditEntry]:
        """Return the entries about a session, oldest first."""
        query = sa.select(audit_log).where(audit_log.c.session_id == session_id).order_by(audit_log.c.id)
        async with autocommit(self._engine).connect() as connection:
            rows = (await connection.execute(query)).mappings()
            return [read(AuditEntry, row) for row in rows]
