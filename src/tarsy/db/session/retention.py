"""Old sessions and incidents: hidden, then erased, in batches. Any number of processes may try; one at a time does."""

from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction
from tarsy.db.connection import autocommit
from tarsy.domain.work import WorkState

# An arbitrary number that no other lock uses.
_LOCK = sa.text("SELECT pg_try_advisory_xact_lock(7421903)")
# Short transactions: no writer should wait because old data are deleted.
BATCH = 200

# `completed_at` comes first in both: it is indexed, and nothing is hidden before it has ended.
_HIDE = sa.text(
    """
    WITH old AS (
        SELECT id FROM alert_sessions WHERE completed_at < now() - CAST(:age AS interval) AND deleted_at IS NULL
        ORDER BY completed_at LIMIT :batch FOR UPDATE SKIP LOCKED
    ),
    hidden AS (UPDATE alert_sessions s SET deleted_at = now() FROM old WHERE s.id = old.id RETURNING s.id)
    INSERT INTO audit_log (actor, action, session_id) SELECT :actor, :action, id FROM hidden
    """
)
_ERASE = sa.text(
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
_COUNT = sa.text("SELECT count(*) FROM alert_sessions WHERE completed_at < now() - CAST(:age AS interval)")


class OldSessions:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def hide(self, *, days: int, actor: str) -> int:
        """Soft-delete sessions that ended more than `days` ago, and return how many."""
        return await self._in_batches(_HIDE, {"age": timedelta(days=days), "actor": actor, "action": AuditAction.SESSION_DELETED.value})

    async def erase(self, *, days: int, actor: str, hidden_only: bool) -> int:
        """Erase sessions that ended (or, with `hidden_only`, were hidden) more than `days` ago, and return how many.

        Only their entries in the audit log remain.
        """
        action = AuditAction.SESSION_PURGED.value
        return await self._in_batches(_ERASE, {"age": timedelta(days=days), "actor": actor, "action": action, "hidden_only": hidden_only})

    async def count(self, *, days: int) -> int:
        """Return how many sessions ended more than `days` ago, hidden or not."""
        async with autocommit(self._engine).connect() as connection:
            return (await connection.execute(_COUNT, {"age": timedelta(days=days)})).scalar_one()

    async def _in_batches(self, statement: sa.TextClause, parameters: dict[str, object]) -> int:
        done, more = 0, True
        while more:
            async with self._engine.begin() as connection:
                if not (await connection.execute(_LOCK)).scalar_one():
                    return done
                count = (await connection.execute(statement, {**parameters, "batch": BATCH})).rowcount
            done, more = done + count, count == BATCH
        return done


# An incident is erased after the last of its investigations; alerts that were only recorded, changes and mutes have none.
_FORGET = (
    """
    DELETE FROM incidents WHERE id IN (
        SELECT i.id FROM incidents i WHERE i.resolved_at < now() - CAST(:age AS interval)
            AND NOT EXISTS (SELECT FROM alert_sessions s WHERE s.incident_id = i.id)
        ORDER BY i.resolved_at LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """,
    """
    DELETE FROM alerts WHERE id IN (
        SELECT id FROM alerts WHERE incident_id IS NULL AND heard_at < now() - CAST(:age AS interval)
        ORDER BY heard_at LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """,
    """
    DELETE FROM changes WHERE id IN (
        SELECT id FROM changes WHERE at < now() - CAST(:age AS interval) ORDER BY at LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """,
    """
    DELETE FROM mutes WHERE id IN (
        SELECT id FROM mutes WHERE ends < now() - CAST(:age AS interval) ORDER BY ends LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """,
)
_FORGET_DELIVERIES = sa.text(
    """
    DELETE FROM webhook_deliveries WHERE key IN (
        SELECT key FROM webhook_deliveries WHERE received_at < now() - CAST(:age AS interval)
        ORDER BY received_at LIMIT :batch FOR UPDATE SKIP LOCKED
    )
    """
)
# Longer than any sender repeats a request.
DELIVERY_DAYS = 7


class OldIncidents:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def forget(self, *, days: int) -> int:
        """Erase incidents that were resolved more than `days` ago and have no investigations left, and other old data of senders.

        Return how many rows were erased, the answers to webhooks not counted.
        """
        erased = 0
        for statement in _FORGET:
            erased += await self._in_batches(sa.text(statement), days)
        await self._in_batches(_FORGET_DELIVERIES, min(days, DELIVERY_DAYS))
        return erased

    async def _in_batches(self, statement: sa.TextClause, days: int) -> int:
        done, more = 0, True
        while more:
            async with self._engine.begin() as connection:
                count = (await connection.execute(statement, {"age": timedelta(days=days), "batch": BATCH})).rowcount
            done, more = done + count, count == BATCH
        return done
