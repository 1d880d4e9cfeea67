"""The processes of the installation: their heartbeats, which of them reports for all, and the figures that its health is judged by."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import columns, read
from tarsy.db.spending import PostgresSpendingStore
from tarsy.db.tables import alert_sessions, incidents, processes, sql_list, work
from tarsy.domain.alert import Severity
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.diagnosis import HealthSnapshot, LiveProcess, ModelRecord, Overview, QueueLevel, RoleCount
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

# Three heartbeats that did not come.
ALIVE = timedelta(seconds=45)
CLEAN_UP = "clean-up"
BACKUP = "backup"
_OPEN = [status for status in SessionStatus if not status.is_final]

# Rows of processes that were killed are deleted a day later, by the others.
_HEARTBEAT = sa.text(
    """
    WITH mine AS (
        INSERT INTO processes (id, role, workers, version, started_at) VALUES (:id, :role, :workers, :version, :started_at)
        ON CONFLICT (id) DO UPDATE SET seen_at = now(), workers = :workers
    ),
    gone AS (DELETE FROM processes WHERE seen_at < now() - interval '1 day' AND id <> :id)
    SELECT NOT EXISTS (
        SELECT FROM processes WHERE id <> :id AND seen_at > now() - CAST(:alive AS interval) AND (started_at, id) < (:started_at, :id)
    )
    """
)
# Written out, so that the partial indexes serve.
_SESSIONS = (
    sa.select(alert_sessions.c.status, sa.func.count())
    .where(sa.text(f"status IN ({sql_list(_OPEN)}) AND deleted_at IS NULL"))
    .group_by(alert_sessions.c.status)
)
_INCIDENTS = (
    sa.select(incidents.c.severity, sa.func.count())
    .where(incidents.c.resolved_at.is_(None), incidents.c.merged_into.is_(None))
    .group_by(incidents.c.severity)
)
_QUEUE = (
    sa.select(work.c.priority, sa.func.count(), sa.func.extract("epoch", sa.func.now() - sa.func.min(work.c.created_at)))
    .where(work.c.kind == INVESTIGATION, work.c.state == sa.literal_column(f"'{WorkState.READY}'"))
    .group_by(work.c.priority)
    .order_by(work.c.priority)
)
_ROLES = (
    sa.select(processes.c.role, sa.func.count(), sa.func.sum(processes.c.workers))
    .where(processes.c.seen_at > sa.func.now() - ALIVE)
    .group_by(processes.c.role)
    .order_by(processes.c.role)
)
_HEALTH = sa.text(
    f"""
    SELECT now() AS now,
        (SELECT count(*) FROM processes WHERE seen_at > now() - CAST(:alive AS interval)) AS processes,
        (SELECT coalesce(sum(workers), 0) FROM processes WHERE seen_at > now() - CAST(:alive AS interval)) AS workers,
        (SELECT min(started_at) FROM processes) AS first_process_at,
        (SELECT count(*) FROM work WHERE kind = '{INVESTIGATION}' AND state = {sql_list([WorkState.READY])}) AS waiting,
        (SELECT count(*) FROM alert_sessions WHERE deleted_at IS NULL AND created_at > now() - interval '30 minutes') AS submitted_lately,
        (SELECT count(*) FROM alert_sessions WHERE completed_at > now() - interval '30 minutes') AS ended_lately,
        (SELECT done_at FROM upkeep WHERE name = '{CLEAN_UP}') AS cleaned_up_at,
        (SELECT done_at FROM upkeep WHERE name = '{BACKUP}') AS backed_up_at
    """
)
# From the newest sessions, which are indexed by time, to their calls, which are indexed by session.
_MODELS = sa.text(
    """
    SELECT i.provider, i.model, count(*) AS calls, count(i.error_code) AS failed,
        (array_agg(i.error_code ORDER BY i.started_at DESC) FILTER (WHERE i.error_code IS NOT NULL))[1] AS last_error
    FROM alert_sessions s JOIN llm_interactions i ON i.session_id = s.id AND i.started_at > now() - interval '15 minutes'
    WHERE s.deleted_at IS NULL AND s.created_at > now() - interval '2 hours'
    GROUP BY 1, 2 ORDER BY 1, 2
    """
)
_DONE = sa.text("INSERT INTO upkeep (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET done_at = now()")


class ProcessRepository:
    def __init__(self, engine: AsyncEngine, budgets: Callable[[], Sequence[PeriodBudget]] = tuple) -> None:
        self._engine = engine
        # Those in force at the moment.
        self._budgets = budgets

    async def heartbeat(self, process: LiveProcess) -> Overview | None:
        """Store a heartbeat; return the overview to the process that has been running longest, which reports for all, and None to others."""
        async with self._engine.begin() as connection:
            is_first = (await connection.execute(_HEARTBEAT, {**columns(process), "alive": ALIVE})).scalar_one()
            overview = await read_overview(connection) if is_first else None
        budgets = self._budgets()
        if overview is None or not budgets:
            return overview
        return replace(overview, budgets=tuple(await PostgresSpendingStore(self._engine).states(budgets, datetime.now(UTC))))

    async def leave(self, process_id: str) -> None:
        """Delete the row of a process that ends."""
        async with self._engine.begin() as connection:
            await connection.execute(sa.delete(processes).where(processes.c.id == process_id))


async def read_overview(connection: AsyncConnection) -> Overview:
    sessions = {SessionStatus(status): count for status, count in await connection.execute(_SESSIONS)}
    open_ones = {Severity(severity): count for severity, count in await connection.execute(_INCIDENTS)}
    queue = await connection.execute(_QUEUE)
    roles = await connection.execute(_ROLES)
    return Overview(
        sessions={status: sessions.get(status, 0) for status in _OPEN},
        incidents={severity: open_ones.get(severity, 0) for severity in Severity},
        queue=tuple(QueueLevel(priority=row[0], depth=row[1], oldest_age_seconds=float(row[2])) for row in queue),
        roles=tuple(RoleCount(role=row[0], processes=row[1], workers=row[2]) for row in roles),
    )


async def record_upkeep(engine: AsyncEngine, name: str) -> None:
    """Record that a clean-up or a backup was done now; a backup may be made by any tool."""
    async with autocommit(engine).connect() as connection:
        await connection.execute(_DONE, {"name": name})


class HealthReader:
    """Reads the figures that the installation's health is judged by."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def read(self) -> HealthSnapshot:
        async with self._engine.connect() as connection:
            figures = (await connection.execute(_HEALTH, {"alive": ALIVE})).mappings().one()
            models = (await connection.execute(_MODELS)).mappings().all()
        return read(HealthSnapshot, figures, models=tuple(read(ModelRecord, row) for row in models))
