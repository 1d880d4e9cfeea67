"""Old sessions, incidents and live events: hidden or erased in batches. Any number of processes may try."""

from collections.abc import Mapping
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction
from tarsy.db.connection import autocommit, transaction_limit
from tarsy.db.processes import CLEAN_UP, record_upkeep
from tarsy.db.retry import took_too_long
from tarsy.domain.notification import DELIVERY_PREFIX, NotificationStatus
from tarsy.domain.work import WorkState

# An arbitrary number that no other lock uses. One process at a time hides and erases sessions.
_LOCK = sa.text("SELECT pg_try_advisory_xact_lock(7421903)")
# Short transactions: no writer should wait because old data are deleted.
BATCH = 200
# Less than a transaction may take: at the end of that, the server closes the connection, which does not show that the time was up.
_TIME_LIMIT = (sa.text("SET LOCAL statement_timeout = '30s'"),)
# For a single one that takes longer.
_LONG_TIME_LIMIT = (sa.text("SET LOCAL statement_timeout = '10min'"), sa.text(transaction_limit(0, only_this=True)))
# A tenth of a second's work. All at once, the events of a day without clean-up would take longer than a transaction may.
EVENT_BATCH = 5_000
# Longer than any sender repeats a request.
DELIVERY_DAYS = 7

# `completed_at` comes first in both: it is indexed, and nothing is hidden before it has ended.
_HIDE_SESSIONS = sa.text(
    """
    WITH old AS (
        SELECT id FROM alert_sessions WHERE completed_at < now() - CAST(:age AS interval) AND deleted_at IS NULL
        ORDER BY completed_at LIMIT :batch FOR UPDATE SKIP LOCKED
    ),
    hidden AS (UPDATE alert_sessions s SET deleted_at = now() FROM old WHERE s.id = old.id RETURNING s.id)
    INSERT INTO audit_log (actor, action, session_id) SELECT :actor, :action, id FROM hidden
    """
)
_ERASE_SESSIONS = sa.text(
    f"""
    WITH old AS (
        SELECT id FROM alert_sessions s
        WHERE s.completed_at < now() - CAST(:age AS interval) AND (NOT :hidden_only OR s.deleted_at < now() - CAST(:age AS interval))
            AND NOT EXISTS (SELECT FROM work w WHERE w.session_id = s.id AND w.state <> '{WorkState.DONE}')
        ORDER BY s.completed_at LIMIT :batch FOR UPDATE SKIP LOCKED
    ),
    erased AS (DELETE FROM alert_sessions s USING old WHERE s.id = old.id RETURNING s.id),
    published AS (DELETE FROM events e USING old WHERE e.session_id = old.id),
    channels AS (DELETE FROM event_channels c USING old WHERE c.name = 'session:' || old.id)
    INSERT INTO audit_log (actor, action, session_id) SELECT :actor, :action, id FROM erased
    """
)
_COUNT_SESSIONS = sa.text("SELECT count(*) FROM alert_sessions WHERE completed_at < now() - CAST(:age AS interval)")


def _erase_older(table: str, time: str, *, condition: str = "true", key: str = "id") -> sa.TextClause:
    return sa.text(
        f"""
        DELETE FROM {table} WHERE {key} IN (
            SELECT {key} FROM {table} o WHERE {time} < now() - CAST(:age AS interval) AND {condition}
            ORDER BY {time} LIMIT :batch FOR UPDATE SKIP LOCKED
        )
        """
    )


# An incident is erased after the last of its investigations; alerts that were only recorded, changes and mutes have none.
_ERASE_INCIDENTS = (
    _erase_older("incidents", "resolved_at", condition="NOT EXISTS (SELECT FROM alert_sessions s WHERE s.incident_id = o.id)"),
    _erase_older("alerts", "heard_at", condition="incident_id IS NULL"),
    _erase_older("changes", "at"),
    _erase_older("mutes", "ends"),
)
# Those that are still to be delivered are kept.
_ERASE_NOTIFICATIONS = _erase_older("notifications", "created_at", condition=f"status <> '{NotificationStatus.PENDING}'")
# It belongs to no session, and stays when its notification is erased: here, or with a session or an incident.
_ERASE_WORK_OF_NOTIFICATIONS = sa.text(
    f"""
    DELETE FROM work WHERE id IN (
        SELECT id FROM work w
        WHERE starts_with(w.kind, '{DELIVERY_PREFIX}') AND w.state <> '{WorkState.CLAIMED}'
            AND NOT EXISTS (SELECT FROM notifications n WHERE n.id = w.subject_id)
        LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """
)
_ERASE_DELIVERIES = _erase_older("webhook_deliveries", "received_at", key="key")
_ERASE_AUDIT_LOG = _erase_older("audit_log", "at")
_ERASE_EVENTS = sa.text(
    """
    DELETE FROM events WHERE ctid = ANY (ARRAY(
        SELECT e.ctid FROM events e
        WHERE e.created_at < now() - CAST(:age AS interval)
            AND NOT EXISTS (SELECT FROM notification_cursors n WHERE n.channel = e.channel AND n.last_id < e.id)
        ORDER BY e.created_at LIMIT :batch FOR UPDATE OF e SKIP LOCKED
    ))
    """
)


class PostgresRetentionStore:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def hide_sessions(self, *, days: int, actor: str) -> int:
        """Soft-delete sessions that ended more than `days` ago, and return how many."""
        parameters = {"actor": actor, "action": AuditAction.SESSION_DELETED.value}
        return await self._in_batches(_HIDE_SESSIONS, timedelta(days=days), parameters, lock=_LOCK)

    async def erase_sessions(self, *, days: int, actor: str, hidden_only: bool) -> int:
        """Erase sessions that ended (or, with `hidden_only`, were hidden) more than `days` ago, and return how many.

        Only their entries in the audit log remain.
        """
        parameters = {"actor": actor, "action": AuditAction.SESSION_PURGED.value, "hidden_only": hidden_only}
        return await self._in_batches(_ERASE_SESSIONS, timedelta(days=days), parameters, lock=_LOCK)

    async def count_sessions(self, *, days: int) -> int:
        """Return how many sessions ended more than `days` ago, hidden or not."""
        async with autocommit(self._engine).connect() as connection:
            return (await connection.execute(_COUNT_SESSIONS, {"age": timedelta(days=days)})).scalar_one()

    async def erase_incidents(self, *, days: int) -> int:
        """Erase incidents that were resolved more than `days` ago and have no investigations left, and other old data of senders.

        Return how many rows were erased, the answers to webhooks and the notifications not counted.
        """
        age = timedelta(days=days)
        erased = sum([await self._in_batches(statement, age) for statement in _ERASE_INCIDENTS])
        await self._in_batches(_ERASE_NOTIFICATIONS, age)
        # In large batches: each reads the whole table.
        await self._in_batches(_ERASE_WORK_OF_NOTIFICATIONS, age, batch=EVENT_BATCH)
        await self._in_batches(_ERASE_DELIVERIES, timedelta(days=min(days, DELIVERY_DAYS)))
        return erased

    async def erase_events(self, *, older_than_seconds: float) -> int:
        """Erase old live events and return how many; their ids are never used again."""
        return await self._in_batches(_ERASE_EVENTS, timedelta(seconds=older_than_seconds), batch=EVENT_BATCH)

    async def erase_audit_log(self, *, days: int) -> int:
        """Erase old entries of the audit log and return how many."""
        return await self._in_batches(_ERASE_AUDIT_LOG, timedelta(days=days), batch=EVENT_BATCH)

    async def record_clean_up(self) -> None:
        """Record that old data were searched for and deleted, whether there were any or not."""
        await record_upkeep(self._engine, CLEAN_UP)

    async def _in_batches(
        self,
        statement: sa.TextClause,
        age: timedelta,
        parameters: Mapping[str, object] | None = None,
        *,
        batch: int = BATCH,
        lock: sa.TextClause | None = None,
    ) -> int:
        """Repeat a statement until there is no full batch left, or until another process holds `lock`; return the number of rows."""
        done = 0
        while True:
            try:
                async with self._engine.begin() as connection:
                    if lock is not None and not (await connection.execute(lock)).scalar_one():
                        return done
                    for setting in _TIME_LIMIT if batch > 1 else _LONG_TIME_LIMIT:
                        await connection.execute(setting)
                    count = (await connection.execute(statement, {"age": age, "batch": batch, **(parameters or {})})).rowcount
            except DBAPIError as error:
                # Large sessions take long. The next round would begin with the same ones, and never get any further.
                if batch == 1 or not took_too_long(error):
                    raise
                batch //= 2
                continue
            done += count
            if count < batch:
                return done
