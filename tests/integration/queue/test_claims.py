"""Claiming: the cap is exact, the oldest comes first, the queue's limit is exact, however many want to at once."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import release_claim, take
from support.followups import open_followup
from support.intake_world import alert, intake_world
from support.queue_ground import GIVE_UP_SECONDS, Ground
from support.queue_scenario import Scenario
from tarsy.db.errors import QueueFullError
from tarsy.db.outbox import Publisher
from tarsy.db.retry import retrying
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.admission import Admission
from tarsy.db.session.followups import ScoreRepository
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.queue import CLAIM_LOCK, UNREADABLE, WorkQueue
from tarsy.domain.claim import CHAT_ANSWER, SCORING, Claim, WorkKind
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step
from tarsy.domain.work import HeartbeatResult, Requeue


async def submitted(ground: Ground, made: Scenario, count: int) -> list[str]:
    """Sessions in the order in which they arrived."""
    first = made.session().created_at
    return [await ground.submit(made, created_at=first + timedelta(seconds=number)) for number in range(count)]


async def claim(engine: AsyncEngine, cap: int = 100) -> Claim | None:
    taken = await take(engine, cap=cap)
    return taken.claim if taken else None


async def test_twenty_claimers_at_once_fill_the_cap_exactly_and_with_the_oldest(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    ids = await submitted(ground, made, 12)
    claims: list[Claim | None] = []

    async def claimer() -> None:
        claims.append(await claim(engine, cap=7))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(claimer)
    assert sorted(claim.subject_id for claim in claims if claim) == sorted(ids[:7])
    assert len({claim.token for claim in claims if claim}) == 7


async def test_sessions_are_claimed_in_the_order_in_which_they_arrived(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    ids = await submitted(ground, made, 5)
    claims = [await claim(engine) for _ in range(6)]
    assert [claim.subject_id if claim else None for claim in claims] == [*ids, None]


async def test_a_session_is_new_to_the_first_worker_that_claims_it_and_to_no_other(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await ground.submit(made)
    first = await take(engine)
    assert first is not None
    assert first.is_new

    await release_claim(engine, first.claim, Requeue())
    again = await take(engine)
    assert again is not None
    assert not again.is_new


async def test_a_session_that_cannot_be_read_is_retried_and_fails_and_keeps_no_other_waiting(database_url: str, ground: Ground) -> None:
    async with intake_world(database_url) as world:
        first = await world.take(alert(problem="one"))
        assert first.main
        await ground.fetch("UPDATE alerts SET labels = '[]'")
        world.later(seconds=1)
        second = await world.take(alert("f2", problem="two"))
        assert second.main
        begun = await world.begin()
        assert begun.claim.subject_id == second.main.session_id
        for _ in range(UNREADABLE.max_attempts - 1):
            [row] = await world.rows("SELECT state, not_before > now() AS waits FROM work WHERE subject_id = :id", id=first.main.session_id)
            assert row == {"state": "ready", "waits": True}
            await ground.fetch("UPDATE work SET not_before = NULL")
            assert await take(world.engine) is None
        failed = await SessionRepository(Publisher(world.engine)).get(str(first.main.session_id))
        assert failed.status is SessionStatus.FAILED
        assert failed.error_message == "its stored data cannot be read: ValidationError: 1 validation error for Alert"


async def test_an_error_of_the_database_is_not_held_against_the_session_that_is_read(database_url: str, ground: Ground) -> None:
    async with intake_world(database_url) as world:
        await world.take(alert())
        await ground.fetch("ALTER TABLE alerts RENAME TO gone")
        with pytest.raises(ProgrammingError, match="alerts"):
            await take(world.engine)
        assert await world.rows("SELECT state, attempts FROM work") == [{"state": "ready", "attempts": 0}]


async def test_a_full_queue_takes_exactly_as_many_as_fit_from_a_crowd(engine: AsyncEngine, made: Scenario) -> None:
    repository = SessionRepository(Publisher(engine), Admission(Publisher(engine), max_queue_size=10))
    outcomes: list[bool] = []

    async def submit() -> None:
        try:
            await repository.insert(made.session())
        except QueueFullError:
            outcomes.append(False)
        else:
            outcomes.append(True)

    async with anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(submit)
    assert sorted(outcomes) == [False] * 20 + [True] * 10
    assert (await repository.queue_state()).pending == 10


async def test_a_heartbeat_returns_cancellation_and_loss(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await submitted(ground, made, 3)
    alive, unwanted, lost = [claimed for claimed in [await claim(engine) for _ in range(3)] if claimed]
    await SessionRepository(Publisher(engine)).request_cancel(unwanted.subject_id, actor="somebody")
    await ground.fetch("UPDATE work SET claim_token = gen_random_uuid() WHERE id = $1", lost.id)
    pulses = await WorkQueue(Publisher(engine), pod_id="test").heartbeat([alive, unwanted, lost])
    assert pulses == {alive.id: HeartbeatResult.ALIVE, unwanted.id: HeartbeatResult.CANCEL, lost.id: HeartbeatResult.LOST}


async def test_a_row_that_is_held_by_another_writer_keeps_no_heartbeat_waiting(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await submitted(ground, made, 2)
    held, other = [claimed for claimed in [await claim(engine) for _ in range(2)] if claimed]
    await SessionRepository(Publisher(engine)).request_cancel(held.subject_id, actor="somebody")
    await ground.let_an_hour_pass()
    async with engine.begin() as slow:
        await slow.execute(sa.text("SELECT FROM work WHERE id = :id FOR UPDATE"), {"id": held.id})
        await slow.execute(sa.text("SELECT FROM alert_sessions FOR UPDATE"))
        with anyio.fail_after(GIVE_UP_SECONDS):
            pulses = await WorkQueue(Publisher(engine), pod_id="test").heartbeat([held, other])
    assert pulses == {held.id: HeartbeatResult.CANCEL, other.id: HeartbeatResult.ALIVE}
    beaten = await ground.fetch("SELECT id::text AS id FROM work WHERE heartbeat_at > now() - interval '1 minute'")
    assert [row["id"] for row in beaten] == [other.id]


async def test_a_question_and_a_judgement_of_one_session_begin_one_after_the_other(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    """Each takes the next number for its stage: at the same time, both would take the same."""
    session_id = await open_followup(engine, ground, made, CHAT_ANSWER)
    await ScoreRepository(engine).request(session_id, requested_by="somebody")
    claims: list[Claim] = []

    async def claimer(kind: WorkKind) -> None:
        if taken := await take(engine, kind):
            claims.append(taken.claim)

    async with anyio.create_task_group() as tasks:
        for kind in (CHAT_ANSWER, SCORING) * 3:
            tasks.start_soon(claimer, kind)
    (first,) = claims
    stage = Stage(
        id=str(uuid4()),
        session_id=session_id,
        stage_name="first",
        stage_index=0,
        stage_type=StageType.CHAT if first.kind == CHAT_ANSWER else StageType.SCORING,
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
    )
    await PostgresJournal(engine, lambda _events: None).commit(Step(claim=first, stages=(stage,)))
    for kind in (CHAT_ANSWER, SCORING):
        await claimer(kind)
    assert {claim.kind for claim in claims} == {CHAT_ANSWER, SCORING}


@pytest.mark.parametrize("in_a_statement", [False, True], ids=["between statements", "in the middle of one"])
async def test_a_process_that_is_paused_while_it_claims_keeps_the_others_waiting_for_seconds_only(
    engine: AsyncEngine, ground: Ground, made: Scenario, *, in_a_statement: bool
) -> None:
    await ground.submit(made)
    async with engine.connect() as paused:
        await paused.execute(CLAIM_LOCK)
        if in_a_statement:
            driver: Any = (await paused.get_raw_connection()).driver_connection
            await driver.prepare("SELECT 1")
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert await retrying(partial(claim, engine))
        with pytest.raises(DBAPIError):
            await paused.execute(sa.text("SELECT 1"))


@pytest.mark.parametrize("kind", [CHAT_ANSWER, SCORING])
async def test_followups_are_claimed_once_each(engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind) -> None:
    await open_followup(engine, ground, made, kind)
    claims: list[object] = []

    async def claimer() -> None:
        claims.append(await take(engine, kind))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(claimer)
    assert sum(claim is not None for claim in claims) == 1
