"""The audit log: who did what, when and from where. Entries outlive the session or incident that they are about."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import read
from tarsy.db.tables import audit_log

# The address of the client whose request is being handled. A context variable, because an action reaches the database through code that
# knows nothing of requests; work in batches, which acts for several clients at once, takes it along explicitly.
request_origin: ContextVar[str | None] = ContextVar("request_origin", default=None)


class AuditAction(StrEnum):
    ALERT_SUBMITTED = "alert.submitted"
    SESSION_FORKED = "session.forked"
    SESSION_CANCELLED = "session.cancelled"
    SESSION_DELETED = "session.deleted"
    SESSION_PURGED = "session.purged"
    SESSION_REVIEWED = "session.reviewed"
    SESSION_ACKNOWLEDGED = "session.acknowledged"
    SESSION_ASSIGNED = "session.assigned"
    SESSION_COMMENTED = "session.commented"
    EXECUTION_CANCELLED = "execution.cancelled"
    CALL_APPROVED = "call.approved"
    CALL_REJECTED = "call.rejected"
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
    INCIDENT_ACKNOWLEDGED = "incident.acknowledged"
    INCIDENT_ASSIGNED = "incident.assigned"
    INCIDENT_COMMENTED = "incident.commented"
    INCIDENTS_MERGED = "incidents.merged"
    INCIDENT_SPLIT = "incident.split"
    TOOLS_ACCEPTED = "tools.accepted"
    TOKEN_CREATED = "token.created"  # noqa: S105 - not a secret
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 - not a secret
    SIGNED_IN = "sign_in.created"
    SIGNED_OUT = "sign_in.ended"
    NOTIFICATION_SENT_AGAIN = "notification.sent_again"
    NOTIFICATION_TESTED = "notification.tested"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at: datetime
    actor: str
    # The address of the client; None for actions of TARSy itself, of monitoring systems, and of earlier versions.
    origin: str | None
    # A newer version may have stored actions that this one does not know.
    action: Annotated[AuditAction | str, Field(union_mode="left_to_right")]
    session_id: str | None
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    actor: str | None = None
    actions: tuple[AuditAction, ...] = ()
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def add_audit_entry(
    connection: AsyncConnection, *, actor: str, action: AuditAction, session_id: str | None = None, details: Mapping[str, Any] | None = None
) -> None:
    """Add an entry in the transaction of the action that it is about."""
    values = {"actor": actor, "action": action.value, "session_id": session_id, "details": dict(details or {})}
    await connection.execute(sa.insert(audit_log).values(values | {"origin": request_origin.get()}))


async def add_audit_entries(connection: AsyncConnection, action: AuditAction, done: Sequence[tuple[str, str, str | None]]) -> None:
    """Add an entry for each actor, the session that they did the same to, and the address that they did it from."""
    entries = [{"actor": actor, "action": action.value, "session_id": session_id, "origin": origin} for actor, session_id, origin in done]
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

    async def list(self, where: AuditFilter, *, limit: int, before: int | None = None) -> Sequence[AuditEntry]:
        """Return the newest entries that match, of those before the entry `before`."""
        table = audit_log.c
        conditions: list[sa.ColumnElement[bool]] = []
        if where.actor is not None:
            conditions.append(table.actor == where.actor)
        if where.actions:
            conditions.append(table.action.in_([action.value for action in where.actions]))
        if where.session_id is not None:
            conditions.append(table.session_id == where.session_id)
        if where.since is not None:
            conditions.append(table.at >= where.since)
        if where.until is not None:
            conditions.append(table.at < where.until)
        if before is not None:
            conditions.append(table.id < before)
        query = sa.select(audit_log).where(*conditions).order_by(table.id.desc()).limit(limit)
        async with autocommit(self._engine).connect() as connection:
            return [read(AuditEntry, row) for row in (await connection.execute(query)).mappings()]
