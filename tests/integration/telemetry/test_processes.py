"""Processes record that they are alive, and one of them reports for the whole installation."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import anyio
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from support.agent_scenario import Scenario, agent, chain, stage
from support.scraped import value
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.processes import ProcessRepository, read_overview
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.diagnosis import LiveProcess, Overview
from tarsy.domain.period_budget import BudgetPeriod, PeriodBudget
from tarsy.telemetry.exposition import exposition, show_installation
from tarsy.telemetry.metrics import Metrics
from tarsy.wiring.upkeep import Presence

ELDER = LiveProcess(id="elder", role="api", workers=0, version="1", started_at=datetime(2026, 1, 1, tzinfo=UTC))
YOUNGER = LiveProcess(id="younger", role="worker", workers=8, version="1", started_at=ELDER.started_at + timedelta(seconds=1))


@pytest.fixture
async def engine(database_url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(database_url)
    yield engine
    await engine.dispose()


async def test_the_process_that_has_been_there_longest_tells_of_all(engine: AsyncEngine) -> None:
    processes = ProcessRepository(engine)
    await SessionRepository(Publisher(engine)).insert(replace(Scenario(chain(stage(agent())), ()).session(), id=str(uuid4())))
    assert await processes.heartbeat(YOUNGER) is not None
    overview = await processes.heartbeat(ELDER)
    assert await processes.heartbeat(YOUNGER) is None
    assert overview is not None
    assert {status.value: count for status, count in overview.sessions.items() if count} == {"pending": 1}
    assert [(level.priority, level.depth, level.oldest_age_seconds > 0) for level in overview.queue] == [(0, 1, True)]
    assert [(role.role, role.processes, role.workers) for role in overview.roles] == [("api", 1, 0), ("worker", 1, 8)]


async def test_another_process_takes_over_from_one_that_left_or_fell_silent(engine: AsyncEngine) -> None:
    processes = ProcessRepository(engine)
    await processes.heartbeat(ELDER)
    assert await processes.heartbeat(YOUNGER) is None
    async with engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE processes SET seen_at = now() - interval '1 minute' WHERE id = 'elder'")
    alone = await processes.heartbeat(YOUNGER)
    assert alone is not None
    assert [role.role for role in alone.roles] == ["worker"]
    assert await processes.heartbeat(ELDER) is not None
    await processes.leave("elder")
    assert await processes.heartbeat(YOUNGER) is not None


async def _overview(engine: AsyncEngine) -> Overview:
    async with engine.connect() as connection:
        return await read_overview(connection)


async def test_a_process_that_ends_leaves(engine: AsyncEngine) -> None:
    processes = ProcessRepository(engine)
    reported: list[Overview | None] = []
    begun = anyio.Event()

    def note(overview: Overview | None) -> None:
        reported.append(overview)
        begun.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Presence(processes, lambda: YOUNGER, note).run)
        await begun.wait()
        assert (await _overview(engine)).workers == 8
        tasks.cancel_scope.cancel()
    assert reported[0] is not None
    assert (await _overview(engine)).workers == 0


async def test_gauges_of_the_installation_are_gone_where_another_process_tells_them(engine: AsyncEngine) -> None:
    metrics = Metrics()
    budget = PeriodBudget(per=BudgetPeriod.DAY, usd=Decimal("2.5"), chain="shop")
    await SessionRepository(Publisher(engine)).insert(replace(Scenario(chain(stage(agent())), ()).session(), id=str(uuid4())))
    async with engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE work SET priority = 7")
    show_installation(metrics.installation, await ProcessRepository(engine, lambda: [budget]).heartbeat(YOUNGER))
    assert value(exposition(metrics.registry), "tarsy_workers", role="worker") == 8
    of = {"per": "day", "chain": "shop", "alert_type": ""}
    assert [value(exposition(metrics.registry), f"tarsy_budget_{what}_usd", **of) for what in ("limit", "spent", "reserved")] == [2.5, 0, 0]
    assert value(exposition(metrics.registry), "tarsy_processes", role="worker") == 1
    assert value(exposition(metrics.registry), "tarsy_sessions", status="pending") == 1
    assert value(exposition(metrics.registry), "tarsy_queue_depth", priority="7") == 1
    assert (value(exposition(metrics.registry), "tarsy_queue_oldest_age_seconds", priority="7") or 0) > 0
    assert value(exposition(metrics.registry), "tarsy_incidents_open", severity="critical") == 0
    show_installation(metrics.installation, None)
    assert value(exposition(metrics.registry), "tarsy_workers", role="worker") is None
    assert value(exposition(metrics.registry), "tarsy_queue_depth", priority="7") is None
    assert value(exposition(metrics.registry), "tarsy_budget_limit_usd", **of) is None
