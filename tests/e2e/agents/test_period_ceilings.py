"""What all sessions together may cost in a day: no replica passes it, and what may not begin waits and says for what."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa

from support.agent_scenario import Scenario
from support.runaway import Runaway, endless_tools, priced_chain, runaway, used
from tarsy.db.work.parking import wake_due
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.status import SessionStatus
from tarsy.wiring import Application

A_DAY = "  budgets: [{per: day, usd: 1.2}]\n"
_INCIDENT = """
    INSERT INTO incidents (id, key, route, title, severity, source, alert_type, opened_at, heard_at, firing, alerts, deliveries)
    VALUES (:id, 'k', 'r', 'Down', 'critical', 's', 't', now(), now(), 1, 1, 1)
"""
REASON = "It waits because of the ceiling of $1.20 a day"


def scenario(directory: Path, more: str = A_DAY) -> Scenario:
    return runaway(Runaway(endless_tools), directory, priced_chain(), more)


async def submit(running: Application, made: Scenario, **changes: Any) -> str:
    session = replace(made.session(), id=str(uuid4()), **changes)
    await running.services.sessions.insert(session)
    return session.id


async def work_off(running: Application) -> None:
    assert running.pool
    await running.pool.work_off(INVESTIGATION)


async def sql(running: Application, statement: str, values: Mapping[str, Any] | None = None) -> None:
    async with running.engine.begin() as connection:
        await connection.execute(sa.text(statement), values or {})


async def test_a_session_that_may_not_begin_waits_for_the_next_day(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path)
    async with made.continued(database_url) as running:
        ids = await submit(running, made), await submit(running, made)
        await work_off(running)

        # Submitted at the same moment: either may be claimed first.
        both = [await running.services.sessions.get(session_id) for session_id in ids]
        ended, waiting = sorted(both, key=lambda session: session.status is SessionStatus.WAITING)
        second = waiting.id
        assert ended.status is SessionStatus.COMPLETED
        assert ended.analysis_partial_reason == "It was ended by the ceiling of $1.20 a day."
        assert waiting.status is SessionStatus.WAITING
        assert (await parked_reason(running)).startswith(REASON)
        assert (await used(running, second)).model_calls == 0

        # The next day.
        await sql(running, "UPDATE usage_days SET day = day - 1")
        await sql(running, "UPDATE reservations SET created_at = created_at - interval '1 day'")
        await sql(running, "UPDATE work SET wake_at = now() WHERE state = 'parked'")
        await wake_due(running.engine, INVESTIGATION)
        await work_off(running)
        assert (await running.services.sessions.get(second)).status is SessionStatus.COMPLETED


async def parked_reason(running: Application) -> str:
    async with running.engine.connect() as connection:
        return (await connection.execute(sa.text("SELECT parked_reason FROM work WHERE state = 'parked'"))).scalar_one()


async def test_three_replicas_together_stay_under_the_ceiling_of_a_day(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path)
    async with three_replicas(made, database_url) as replicas:
        sessions = [await submit(replicas[0], made) for _ in range(6)]
        async with anyio.create_task_group() as tasks:
            for replica in replicas:
                tasks.start_soon(work_off, replica)
        spent = sum([(await used(replicas[0], one)).usd for one in sessions], Decimal(0))
        states = {(await replicas[0].services.sessions.get(one)).status for one in sessions}
    assert Decimal("0.6") < spent <= Decimal("1.2")
    assert states == {SessionStatus.COMPLETED, SessionStatus.WAITING}


@asynccontextmanager
async def three_replicas(made: Scenario, database_url: str) -> AsyncGenerator[list[Application]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(made.continued(database_url)) for _ in range(3)]


async def test_a_ceiling_of_one_chain_is_nothing_to_the_others(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: month, usd: 0, chain: other}]\n")
    made = replace(made, chain=made.chain.model_copy(update={"budget": replace(made.chain.budget, model_calls=3)}))
    async with made.continued(database_url) as running:
        session = await submit(running, made)
        await work_off(running)
        assert (await running.services.sessions.get(session)).status is SessionStatus.COMPLETED


async def test_what_is_critical_is_investigated_all_the_same(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: day, usd: 0}]\n")
    made = replace(made, chain=made.chain.model_copy(update={"budget": replace(made.chain.budget, model_calls=3)}))
    async with made.continued(database_url) as running:
        incident = str(uuid4())
        await sql(running, _INCIDENT, {"id": incident})
        session = await submit(running, made, incident_id=incident)
        await work_off(running)
        assert (await running.services.sessions.get(session)).status is SessionStatus.COMPLETED
