"""The processes of the installation: their signs of life, and which of them speaks for all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.rows import columns
from tarsy.db.spending_book import PostgresSpendingBook
from tarsy.db.tables import alert_sessions, incidents, processes, sql_list, work
from tarsy.domain.alert import Severity
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.diagnosis import LiveProcess, Overview, QueueLevel, RoleCount
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

# Three signs of life that did not come.
ALIVE = timedelta(seconds=45)
_OPEN = [status for status in SessionStatus if not status.is_final]

# Rows of processes that were killed are cleared away a day later, by the others.
_BEAT = sa.text(
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


class ProcessRepository:
    def __init__(self, engine: AsyncEngine, budgets: Callable[[], Sequence[PeriodBudget]] = tuple) -> None:
        self._engine = engine
        # Those in force at the moment.
        self._budgets = budgets

    async def beat(self, process: LiveProcess) -> Overview | None:
        """Give a sign of life; answers with the overview for the process that has been there longest, which speaks for all."""
        values = {**columns(process), "alive": ALIVE}
        async with self._engine.begin() as connection:
            is_first = (await connection.execute(_BEAT, values)).scalar_one()
            overview = await read_overview(connection) if is_first else None
        budgets = self._budgets()
        if overview is None or not budgets:
            return overview
        return replace(overview, budgets=tuple(await PostgresSpendingBook(self._engine).states(budgets, datetime.now(UTC))))

    async def leave(self, process_id: str) -> None:
        """Say that a process ends."""
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
