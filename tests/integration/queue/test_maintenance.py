"""What a pool does beside the work itself: it keeps its claims alive, and takes no work from a pool whose heartbeat could not be stored."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.queue_ground import GIVE_UP_SECONDS, Ground
from support.queue_scenario import Scenario
from tarsy.config.schema.system import QueueConfig
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.domain.claim import INVESTIGATION, WorkKind
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, Recovered
from tarsy.kit.clock import FixedClock
from tarsy.queue import pool as pools
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.executor import SessionExecutor
from tarsy.session.run_scope import Cancellations, RunScope

CONFIG = QueueConfig(
    worker_count=1,
    max_concurrent_sessions=1,
    poll_interval=0.1,
    poll_interval_jitter=0.0,
    heartbeat_interval=0.5,
    orphan_detection_interval=0.05,
    graceful_shutdown_timeout=0.001,
)


class Endless:
    """Work that goes on until it is stopped."""

    rules = SessionExecutor.rules

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def run(self, claimed: Claimed[Any], scope: RunScope) -> None:
        del claimed, scope
        self.begun.set()
        await anyio.sleep_forever()

    async def end_early(self, claimed: Claimed[Any], status: RunStatus) -> None:
        raise AssertionError(claimed, status)


class Watched(Recovery):
    """Lets the test do something while no round is under way."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(Publisher(engine))
        self.between_rounds = anyio.Lock()

    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> list[Recovered]:
        async with self.between_rounds:
            return await super().run(silent_seconds=silent_seconds, limits=limits)


@asynccontextmanager
async def working(engine: AsyncEngine, clock: FixedClock, recovery: Recovery) -> AsyncGenerator[Callable[[], None]]:
    """A pool that has something in hand; yields a function that reloads its configuration."""
    handler = Endless()
    runner = Runner(
        queue=WorkQueue(Publisher(engine), pod_id="test"),
        cancellations=Cancellations(),
        is_transient=is_transient,
    )
    pool = WorkerPool(CONFIG, runner, recovery, [handler], clock=clock)
    with anyio.fail_after(GIVE_UP_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.run)
            await handler.begun.wait()
            yield lambda: pool.reconfigure(CONFIG, runner, [handler])
            pool.stop_now()


async def test_after_an_hour_without_heartbeats_live_work_stays_where_it_is(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await ground.submit(made)
    clock, recovery = FixedClock(), Watched(engine)
    async with working(engine, clock, recovery):
        clock.at += timedelta(hours=1)
        async with recovery.between_rounds:
            await ground.let_an_hour_pass()
        await ground.until("SELECT heartbeat_at > now() - interval '1 minute' FROM work")
        assert await ground.fetch("SELECT state, recoveries FROM work") == [{"state": "claimed", "recoveries": 0}]


async def test_a_reload_after_an_outage_takes_no_work_from_processes_that_had_no_time_for_a_heartbeat(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await ground.submit(made)
    clock, recovery = FixedClock(), Watched(engine)
    async with working(engine, clock, recovery) as reload:
        other = await ground.submit(made)
        clock.at += timedelta(hours=1)
        async with recovery.between_rounds:
            claimed = "UPDATE work SET state = 'claimed', claim_token = gen_random_uuid(), claimed_at = now() WHERE subject_id = $1"
            await ground.fetch(claimed, other)
            await ground.let_an_hour_pass()
            reload()
        for _ in range(3):
            await ground.until("SELECT bool_or(heartbeat_at > $1) FROM work", datetime.now(UTC))
        assert await ground.fetch("SELECT state, recoveries FROM work WHERE subject_id = $1", other) == [
            {"state": "claimed", "recoveries": 0}
        ]


async def test_a_heartbeat_that_gets_no_answer_is_given_up_and_the_next_one_is_stored(
    engine: AsyncEngine, ground: Ground, made: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ANSWER_SECONDS", 0.5)
    await ground.submit(made)
    lost = "SELECT count(*) = $1 FROM pg_stat_activity WHERE query LIKE '%SET heartbeat_at = now() FROM free%' AND wait_event_type = 'Lock' AND datname = current_database()"
    async with working(engine, FixedClock(), Recovery(Publisher(engine))):
        async with engine.begin() as silent:
            await silent.execute(sa.text("LOCK TABLE work IN ACCESS EXCLUSIVE MODE"))
            # The attempt before waits on, though nobody waits for it.
            await ground.until(lost, 2)
        await ground.fetch("UPDATE work SET heartbeat_at = now() - interval '30 seconds'")
        await ground.until("SELECT heartbeat_at > now() - interval '10 seconds' FROM work")


async def test_however_many_workers_wait_to_claim_one_connection_is_enough_for_them(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    """The others are needed for the work that is under way, and for its heartbeat."""
    queue = WorkQueue(Publisher(engine), pod_id="test")
    await ground.submit(made)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    async with engine.begin() as slow, anyio.create_task_group() as tasks:
        await slow.execute(sa.text("SELECT pg_advisory_xact_lock(7421901)"))
        for _ in range(20):
            tasks.start_soon(partial(queue.claim, SessionExecutor.rules, counted=[INVESTIGATION], max_concurrent_sessions=1))
        await ground.until(f"SELECT ({waiting}) > 0")
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert await queue.heartbeat([]) == {}
            assert (await SessionRepository(Publisher(engine)).detail(await ground.submit(made))).position.queue_position is not None
        assert (await ground.fetch(waiting))[0]["count"] == 1
        await slow.rollback()


async def test_other_numbers_of_workers_hold_at_once_and_what_is_in_hand_goes_on(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    first, second = Endless(), Endless()
    runner = Runner(
        queue=WorkQueue(Publisher(engine), pod_id="test"),
        cancellations=Cancellations(),
        is_transient=is_transient,
    )
    # It would not look again for an hour.
    slow = CONFIG.model_copy(update={"poll_interval": 3600.0, "worker_count": 3})
    pool = WorkerPool(slow, runner, Recovery(Publisher(engine)), [first], clock=FixedClock())
    await ground.submit(made)
    with anyio.fail_after(GIVE_UP_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.run)
            await first.begun.wait()
            busy = next(worker for worker in pool.workers if worker.claim)
            await ground.submit(made)
            pool.reconfigure(slow.model_copy(update={"worker_count": 1}), runner, [second])
            while len([worker for worker in pool.workers if worker.lane is busy.lane]) > 1:
                await anyio.lowlevel.checkpoint()
            assert busy.claim
            assert busy in pool.workers
            assert not second.begun.is_set()
            pool.reconfigure(slow.model_copy(update={"worker_count": 2, "max_concurrent_sessions": 2}), runner, [second])
            await second.begun.wait()
            assert busy.claim
            pool.stop_now()
