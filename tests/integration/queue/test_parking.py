"""Sessions that wait: no worker, no time that counts, and no decision lost in between."""

import random
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import claimed, release_claim, take
from support.queue_ground import GIVE_UP_SECONDS, Ground
from support.queue_scenario import Scenario
from support.timeline_entries import streaming
from tarsy.config.schema.system import QueueConfig
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.repository import SessionRepository
from tarsy.db.tables import work
from tarsy.db.work.parking import CancelAnswer, wake
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.db.work.release import lock_work, release
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step
from tarsy.domain.work import Claimed, Park
from tarsy.kit.clock import SystemClock
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.executor import SessionExecutor
from tarsy.session.run_scope import Cancellations, RunScope

DECISIONS = "CREATE TABLE decisions (session_id uuid PRIMARY KEY)"
PARKING = Park("waits for a decision")


class Deciding:
    """Sessions that end when somebody has decided, and wait until then."""

    rules = SessionExecutor.rules

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.looked, self.go_on = anyio.Event(), anyio.Event()
        self.go_on.set()
        self.parkings = 0

    async def run(self, claimed: Claimed[AlertSession], scope: RunScope) -> Park | None:
        del scope
        async with self._engine.connect() as connection:
            query = sa.text("SELECT 1 FROM decisions WHERE session_id = :id")
            decided = (await connection.execute(query, {"id": claimed.subject.id})).first()
        self.looked.set()
        await self.go_on.wait()
        if decided is None:
            self.parkings += 1
            return PARKING
        close = SessionClose(status=SessionStatus.COMPLETED, completed_at=datetime.now(UTC), final_analysis="decided")
        await PostgresJournal(self._engine, lambda _events: None).commit(Step(claim=claimed.claim, session_close=close))
        return None

    async def end_early(self, claimed: Claimed[AlertSession], status: RunStatus) -> None:
        raise AssertionError(claimed, status)


async def decide(engine: AsyncEngine, session_id: str) -> None:
    async with Publisher(engine).transaction() as transaction:
        await transaction.connection.execute(sa.text("INSERT INTO decisions VALUES (:id)"), {"id": session_id})
        await wake(transaction, INVESTIGATION, session_id)


def runner_on(engine: AsyncEngine) -> Runner:
    queue = WorkQueue(Publisher(engine), pod_id="test")
    return Runner(queue=queue, cancellations=Cancellations(), is_transient=is_transient)


async def state(ground: Ground, session_id: str) -> tuple[str, str]:
    query = "SELECT s.status, w.state FROM alert_sessions s JOIN work w ON w.subject_id = s.id WHERE s.id = $1"
    row = (await ground.fetch(query, session_id))[0]
    return row["status"], row["state"]


async def run_next(engine: AsyncEngine, handler: Deciding) -> None:
    taken = await take(engine)
    assert taken
    with anyio.fail_after(GIVE_UP_SECONDS):
        await runner_on(engine).run_claimed(handler, taken, RunScope())


async def test_a_decision_that_comes_between_the_look_and_the_parking_is_not_lost(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await ground.fetch(DECISIONS)
    session_id, handler = await ground.submit(made), Deciding(engine)
    handler.go_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_next, engine, handler)
        await handler.looked.wait()
        await decide(engine, session_id)
        handler.go_on.set()
    assert handler.parkings == 1
    assert await state(ground, session_id) == ("pending", "ready"), "it looks again instead of waiting"
    await run_next(engine, handler)
    assert await state(ground, session_id) == ("completed", "done")


async def test_a_decision_that_comes_while_the_parking_is_being_written_is_not_lost(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await ground.fetch(DECISIONS)
    session_id = await ground.submit(made)
    claim = await claimed(engine)
    blocked = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with anyio.create_task_group() as tasks, Publisher(engine).transaction() as transaction:
        row = await lock_work(transaction.connection, work.c.id == claim.id)
        assert row
        await release(transaction, row, PARKING)
        tasks.start_soon(decide, engine, session_id)
        await ground.until(blocked)
    assert await state(ground, session_id) == ("pending", "ready")
    await run_next(engine, Deciding(engine))
    assert await state(ground, session_id) == ("completed", "done")


async def test_of_many_decisions_at_any_moment_none_is_lost(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await ground.fetch(DECISIONS)
    sessions = [await ground.submit(made) for _ in range(10)]
    handler, dice = Deciding(engine), random.Random(7)  # noqa: S311 - chooses moments
    config = QueueConfig(
        worker_count=4, max_concurrent_sessions=4, poll_interval=0.1, poll_interval_jitter=0.02, graceful_shutdown_timeout=5.0
    )
    pool = WorkerPool(config, runner_on(engine), Recovery(Publisher(engine)), [handler], clock=SystemClock())

    async def decides(session_id: str) -> None:
        await anyio.sleep(dice.uniform(0, 1.0))
        # One session at least is parked, however slowly the workers start.
        await handler.looked.wait()
        await decide(engine, session_id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.run)
        async with anyio.create_task_group() as deciders:
            for session_id in sessions:
                deciders.start_soon(decides, session_id)
        await ground.until("SELECT count(*) = 10 FROM work WHERE state = 'done'")
        pool.drain()
    assert {await state(ground, session_id) for session_id in sessions} == {("completed", "done")}
    assert handler.parkings > 0


async def begin(engine: AsyncEngine, claim: Claim) -> None:
    stage = Stage(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_name="look",
        stage_index=0,
        stage_type=StageType.INVESTIGATION,
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
    )
    journal = PostgresJournal(engine, lambda _events: None)
    await journal.commit(Step(claim=claim, stages=(stage,)))
    await journal.commit(Step(claim=claim, opened=(streaming(claim, stage.id),)))


async def test_a_parked_session_says_what_for_holds_no_worker_and_goes_on_where_it_was(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    session_id = await ground.submit(made)
    claim = await claimed(engine)
    await begin(engine, claim)
    reported = await release_claim(engine, claim, Park("all models are away", 3600))
    [row] = await ground.fetch("SELECT parked_at FROM work")
    until = row["parked_at"] + timedelta(hours=1)
    position = (await SessionRepository(Publisher(engine)).detail(session_id)).position
    assert await state(ground, session_id) == ("waiting", "parked")
    assert (position.waiting_reason, position.waiting_until, position.queue_position) == ("all models are away", until, None)
    assert {"session.status", "timeline_event.completed"} == {event.payload["type"] for event in reported}
    assert reported[-1].payload["waiting_reason"] == "all models are away"
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "active"}], "it is continued, not ended"
    state_of_queue = await SessionRepository(Publisher(engine)).queue_state()
    assert (state_of_queue.pending, state_of_queue.running, state_of_queue.waiting) == (0, 0, 1)
    assert await take(engine) is None


async def test_parked_time_does_not_count_and_what_is_woken_goes_ahead_of_all_others(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    before = await ground.submit(made, created_at=datetime(2020, 1, 1, tzinfo=UTC))
    parked = await ground.submit(made, created_at=datetime(2019, 1, 1, tzinfo=UTC))
    claim = await claimed(engine)
    assert claim.subject_id == parked
    await release_claim(engine, claim, PARKING)
    await ground.fetch("UPDATE work SET parked_at = now() - interval '3 hours', created_at = now() WHERE subject_id = $1", parked)
    async with Publisher(engine).transaction() as transaction:
        await wake(transaction, INVESTIGATION, parked)
    assert (await SessionRepository(Publisher(engine)).detail(before)).position.queue_position == 2
    assert (await SessionRepository(Publisher(engine)).detail(parked)).position.waiting_reason is None
    # Of many that are woken together, the last wait long for a worker.
    await ground.fetch("UPDATE work SET deadline = deadline - interval '4 hours', handed_back_at = handed_back_at - interval '4 hours'")
    again = await take(engine)
    assert again
    assert again.claim.subject_id == parked
    assert again.seconds_left is not None
    assert again.seconds_left > 3 * 3600
    assert (await SessionRepository(Publisher(engine)).detail(parked)).position.recoveries == 0


async def test_a_parked_session_is_looked_at_again_when_its_time_has_come(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    session_id = await ground.submit(made)
    await release_claim(engine, await claimed(engine), Park("an outage", 3600))
    assert await take(engine) is None
    await ground.fetch("UPDATE work SET wake_at = now()")
    again = await take(engine)
    assert again
    assert await state(ground, session_id) == ("in_progress", "claimed")


async def test_whoever_wakes_work_reports_that_also_if_there_is_no_room_to_claim_it(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    session_id = await ground.submit(made)
    await release_claim(engine, await claimed(engine), Park("waits a moment", 0))
    delivered: list[StoredLiveEvent] = []
    queue = WorkQueue(Publisher(engine, delivered.extend), pod_id="test")
    assert await queue.claim(SessionExecutor.rules, counted=[INVESTIGATION], max_concurrent_sessions=0) is None
    woken = [(event.channel, event.payload["status"]) for event in delivered]
    assert woken == [(f"session:{session_id}", "pending"), ("sessions", "pending")]


async def test_a_queue_that_never_runs_dry_still_wakes_what_is_due(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    first, second, third = [await ground.submit(made, created_at=datetime(2020, 1, day, tzinfo=UTC)) for day in (1, 2, 3)]
    parked = await claimed(engine)
    await release_claim(engine, parked, Park("waits a moment", 0))
    taken = [(await claimed(engine)).subject_id for _ in range(3)]
    assert (parked.subject_id, taken) == (first, [first, second, third])


async def test_cancelling_a_parked_session_ends_it_here_and_now(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    session_id = await ground.submit(made)
    claim = await claimed(engine)
    await begin(engine, claim)
    await release_claim(engine, claim, PARKING)
    assert await SessionRepository(Publisher(engine)).request_cancel(session_id, actor="somebody") is CancelAnswer.CANCELLED
    assert await state(ground, session_id) == ("cancelled", "done")
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "cancelled"}]


async def test_a_run_that_is_asked_to_park_stops_and_is_parked(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    session_id, scope = await ground.submit(made), RunScope()
    taken = await take(engine)
    assert taken

    class Busy(Deciding):
        async def run(self, claimed: Claimed[Any], scope: RunScope) -> Park | None:
            del claimed, scope
            self.looked.set()
            await anyio.sleep_forever()
            return None

    handler = Busy(engine)
    with anyio.fail_after(GIVE_UP_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(runner_on(engine).run_claimed, handler, taken, scope))
            await handler.looked.wait()
            scope.park(PARKING)
    assert await state(ground, session_id) == ("waiting", "parked")
