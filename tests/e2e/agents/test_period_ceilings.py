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
from support.claims import take
from support.intake_world import RESOLVED, alert, intake_world
from support.runaway import RATES, Runaway, endless_tools, priced_chain, runaway, used
from tarsy.db.outbox import Publisher
from tarsy.db.work.parking import wake_due
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.wiring.application import Application

A_DAY = "  budgets: [{per: day, usd: 1.2}]\n"
_INCIDENT = """
    INSERT INTO incidents (id, key, route, title, severity, source, alert_type, opened_at, heard_at, firing, alerts, deliveries)
    VALUES (:id, 'k', 'r', 'Down', 'critical', 's', 't', now(), now(), 1, 1, 1)
"""
GIVE_UP_SECONDS = 60
REASON = "It waits because of the ceiling of $1.20 a day"


def scenario(directory: Path, more: str = A_DAY) -> Scenario:
    return runaway(Runaway(endless_tools), directory, priced_chain(), more)


async def submit(running: Application, made: Scenario, **changes: Any) -> str:
    session = replace(made.session(), id=str(uuid4()), **changes)
    await running.services.repositories.sessions.insert(session)
    return session.id


async def run_waiting(running: Application) -> None:
    assert running.pool
    await running.pool.run_waiting(INVESTIGATION)


async def sql(running: Application, statement: str, values: Mapping[str, Any] | None = None) -> None:
    async with running.engine.begin() as connection:
        await connection.execute(sa.text(statement), values or {})


async def test_a_session_that_may_not_begin_waits_for_the_next_day_and_a_question_is_refused(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path)
    async with made.continued(database_url) as running:
        ids = await submit(running, made), await submit(running, made)
        await run_waiting(running)

        # Submitted at the same moment: either may be claimed first.
        both = [await running.services.repositories.sessions.get(session_id) for session_id in ids]
        ended, waiting = sorted(both, key=lambda session: session.status is SessionStatus.WAITING)
        second = waiting.id
        assert ended.status is SessionStatus.COMPLETED
        assert ended.analysis_partial_reason == "It was ended by the ceiling of $1.20 a day."
        assert waiting.status is SessionStatus.WAITING
        assert (await parked_reason(running)).startswith(REASON)
        assert (await used(running, second)).model_calls == 0

        await running.services.repositories.chats.ask(ended.id, "Why?", author="tester")
        assert running.pool
        await running.pool.run_waiting(CHAT_ANSWER)
        (question,) = await running.services.repositories.chats.list(ended.id)
        assert (question.status, question.error_message) == (RunStatus.FAILED, "It was not begun because of the ceiling of $1.20 a day.")

        # The next day.
        await sql(running, "UPDATE usage_days SET day = day - 1")
        await sql(running, "UPDATE reservations SET created_at = created_at - interval '1 day'")
        await sql(running, "UPDATE work SET wake_at = now() WHERE state = 'parked'")
        await wake_due(Publisher(running.engine), INVESTIGATION)
        await run_waiting(running)
        assert (await running.services.repositories.sessions.get(second)).status is SessionStatus.COMPLETED


async def parked_reason(running: Application) -> str:
    async with running.engine.connect() as connection:
        return (await connection.execute(sa.text("SELECT parked_reason FROM work WHERE state = 'parked'"))).scalar_one()


async def test_three_replicas_together_stay_under_the_ceiling_of_a_day(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path)
    async with three_replicas(made, database_url) as replicas:
        sessions = [await submit(replicas[0], made) for _ in range(6)]
        async with anyio.create_task_group() as tasks:
            for replica in replicas:
                tasks.start_soon(run_waiting, replica)
        spent = sum([(await used(replicas[0], one)).usd for one in sessions], Decimal(0))
        states = {(await replicas[0].services.repositories.sessions.get(one)).status for one in sessions}
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
        await run_waiting(running)
        assert (await running.services.repositories.sessions.get(session)).status is SessionStatus.COMPLETED


async def test_what_is_critical_is_investigated_all_the_same(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: day, usd: 0}]\n")
    made = replace(made, chain=made.chain.model_copy(update={"budget": replace(made.chain.budget, model_calls=3)}))
    async with made.continued(database_url) as running:
        incident = str(uuid4())
        await sql(running, _INCIDENT, {"id": incident})
        session = await submit(running, made, incident_id=incident)
        await run_waiting(running)
        assert (await running.services.repositories.sessions.get(session)).status is SessionStatus.COMPLETED


async def test_a_raised_budget_wakes_what_waits_as_far_as_there_is_room_and_by_priority(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: day, usd: 0}]\n")
    async with made.continued(database_url) as running:
        low, high, middle = [await submit(running, made) for _ in range(3)]
        await sql(running, "UPDATE work SET priority = 9, rank = rank - interval '90 min' WHERE subject_id = :id", {"id": high})
        await sql(running, "UPDATE work SET priority = 5, rank = rank - interval '50 min' WHERE subject_id = :id", {"id": middle})
        await run_waiting(running)
        assert await waiting(running) == {low, high, middle}
        needs = await least_needed(running)

        await raise_to(running, tmp_path, 2 * needs)
        await until_waiting(running, {low})
        claimed = [await take(running.engine) for _ in range(3)]
    assert [one.subject.id if one else None for one in claimed] == [high, middle, None]


async def test_what_became_critical_while_it_waited_is_woken_by_a_raise_too_small_for_the_others(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: day, usd: 0}]\n")
    made = replace(made, chain=made.chain.model_copy(update={"budget": replace(made.chain.budget, model_calls=3)}))
    async with made.continued(database_url) as running:
        incident = str(uuid4())
        await sql(running, _INCIDENT, {"id": incident})
        await sql(running, "UPDATE incidents SET severity = 'warning'")
        critical, *others = [await submit(running, made, incident_id=incident), await submit(running, made), await submit(running, made)]
        await run_waiting(running)
        assert await waiting(running) == {critical, *others}
        await sql(running, "UPDATE incidents SET severity = 'critical'")

        await raise_to(running, tmp_path, await least_needed(running) / 2)
        await until_waiting(running, set(others))
        await run_waiting(running)
        assert (await running.services.repositories.sessions.get(critical)).status is SessionStatus.COMPLETED
        assert await waiting(running) == set(others)


async def raise_to(running: Application, directory: Path, usd: Decimal) -> None:
    (directory / "tarsy.yaml").write_text(f"{RATES}  budgets: [{{per: day, usd: {usd}}}]\n", encoding="utf-8")
    await running.reload()


async def waiting(running: Application) -> set[str]:
    """Sessions that a budget holds up."""
    async with running.engine.connect() as connection:
        return set((await connection.execute(sa.text("SELECT subject_id::text FROM work WHERE parked_by_budget = 'day'"))).scalars())


async def until_waiting(running: Application, expected: set[str]) -> None:
    found: set[str] | None = None
    with anyio.fail_after(GIVE_UP_SECONDS):
        while found != expected:
            found = await waiting(running)
            await anyio.sleep(0.1)


async def least_needed(running: Application) -> Decimal:
    async with running.engine.connect() as connection:
        return (await connection.execute(sa.text("SELECT min(budget_needs) FROM work"))).scalar_one()


async def test_what_a_budget_holds_up_is_cancelled_when_its_incident_is_over(database_url: str, tmp_path: Path) -> None:
    made = scenario(tmp_path, "  budgets: [{per: day, usd: 0}]\n")
    async with intake_world(database_url) as ground, made.continued(database_url) as running:
        taken = (await ground.take(alert("f1"))).main
        assert taken
        await sql(running, "UPDATE alert_sessions SET chain_snapshot = CAST(:chain AS jsonb)", {"chain": made.chain.model_dump_json()})
        await run_waiting(running)
        assert (await running.services.repositories.sessions.get(str(taken.session_id))).status is SessionStatus.WAITING
        await ground.take(alert("f1", RESOLVED))
        session = await running.services.repositories.sessions.get(str(taken.session_id))
    assert (session.status, session.error_message) == (
        SessionStatus.CANCELLED,
        "No alert of the incident fires any more: cancelled before it began.",
    )
