"""Waking investigations that a budget did not let begin, as far as there is room for them now."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.spending_book import PostgresSpendingBook
from tarsy.db.tables import work
from tarsy.db.work.parking import unpark
from tarsy.db.work.release import claimed_row
from tarsy.domain.alert import Severity
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.period_budget import BudgetWait, PeriodBudget, Waiting, released
from tarsy.domain.work import WorkState

_PARKED = f"work.state = '{WorkState.PARKED}' AND work.parked_by_budget IS NOT NULL"
# What has become critical meanwhile is held up by none.
_WAITING = sa.text(
    f"""
    SELECT work.id::text AS id, work.budget_needs AS needs, CASE WHEN i.severity = '{Severity.CRITICAL}' THEN '' ELSE work.parked_by_budget END AS budget
    FROM work LEFT JOIN alert_sessions s ON s.id = work.session_id LEFT JOIN incidents i ON i.id = s.incident_id
    WHERE {_PARKED} ORDER BY work.rank, work.id
    """  # noqa: S608 - our own words
)


async def wake_within(engine: AsyncEngine, budgets: Sequence[PeriodBudget], now: datetime) -> list[StoredLiveEvent]:
    """Wake them by priority and age, one after the other. Any number of processes may try: each is woken once."""
    waiting = await _waiting(engine)
    if not waiting:
        return []
    states = await PostgresSpendingBook(engine).states(budgets, now)
    woken: list[StoredLiveEvent] = []
    for work_id in released(waiting, states):
        async with engine.begin() as connection:
            row = await claimed_row(connection, (work.c.id == work_id) & sa.text(_PARKED), skip_locked=True)
            woken += await unpark(connection, row) if row else []
    return woken


async def _waiting(engine: AsyncEngine) -> Sequence[Waiting]:
    async with engine.connect() as connection:
        return [(row.id, BudgetWait(row.budget, row.needs)) for row in await connection.execute(_WAITING)]
