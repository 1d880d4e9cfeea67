"""What a pool does beside the work itself: it keeps its claims alive, and takes nothing from those who could not be heard."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.queue_ground import GIVE_UP_SECONDS, Ground
from support.queue_scenario import Scenario
from tarsy.db.queue import WorkQueue
from tarsy.db.recovery import Recovery
from tarsy.db.sessions import SessionRepository
from tarsy.domain.claim import ClaimKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.work import Recovered, Work
from tarsy.kit.clock import FixedClock
from tarsy.queue import pool as pools
from tarsy.queue.pool import PoolSettings, WorkerPool
from tarsy.session.cancellation import Cancellations
from tarsy.session.dependencies import RunScope

SETTINGS = PoolSettings(
    worker_count=1,
    max_concurrent_sessions=1,
    poll_interval=0.1,
    poll_interval_jitter=0.0,
    heartbeat_interval=0.5,
    orphan_detection_interval=0.05,
    orphan_threshold=60.0,
    graceful_shutdown_timeout=0.0,
)


class Endless:
    """Work that goes on until it is stopped."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.taken: list[Work] = []

    async def execute(self, work: Work, scope: RunScope) -> None:
        self.taken.append(work)
        self.begun.set()
        async with scope.limited(GIVE_UP_SECONDS):
            await anyio.sleep_forever()


class Watched(Recovery):
    """Lets the test do something while no round is under way."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self.between_rounds = anyio.Lock()

    async def run(self, *, silent_seconds: float) -> tuple[list[Recovered], list[StoredLiveEvent]]:
        async with self.between_rounds:
            return await super().run(silent_seconds=silent_seconds)


@asynccontextmanager
async def working(engine: AsyncEngine, clock: FixedClock, recovery: Recovery) -> AsyncGenerator[None]:
    """A pool that has something in hand."""
    executor = Endless()
    pool = WorkerPool(
        SETTINGS,
        WorkQueue(engine, pod_id="test"),
        recovery,
        executor,
        cancellations=Cancellations(),
        deliver=lambda _events: None,
        clock=clock,
    )
    with anyio.fail_after(GIVE_UP_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.run)
            await executor.begun.wait()
            yield
            pool.stop_now()


async def test_after_an_hour_in_which_nobody_could_be_heard_live_work_stays_where_it_is(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await ground.submit(made)
    clock, recovery = FixedClock(), Watched(engine)
    async with working(engine, clock, recovery):
        clock.at += timedelta(hours=1)
        async with recovery.between_rounds:
            await ground.let_an_hour_pass()
        await ground.until("SELECT last_interaction_at > now() - interval '1 minute' FROM alert_sessions")
        assert await ground.fetch("SELECT status, recoveries FROM alert_sessions") == [{"status": "in_progress", "recoveries": 0}]


async def test_a_beat_that_gets_no_answer_is_given_up_and_the_next_one_is_heard(
    engine: AsyncEngine, ground: Ground, made: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ANSWER_SECONDS", 0.5)
    await ground.submit(made)
    lost = "SELECT count(*) = $1 FROM pg_stat_activity WHERE query LIKE '%locked%' AND wait_event_type = 'Lock' AND datname = current_database()"
    async with working(engine, FixedClock(), Recovery(engine)):
        async with engine.begin() as silent:
            await silent.execute(sa.text("SELECT FROM alert_sessions FOR UPDATE"))
            # The attempt before waits on, though nobody waits for it.
            await ground.until(lost, 2)
        await ground.fetch("UPDATE alert_sessions SET last_interaction_at = now() - interval '30 seconds'")
        await ground.until("SELECT last_interaction_at > now() - interval '10 seconds' FROM alert_sessions")


async def test_however_many_workers_wait_to_claim_one_connection_is_enough_for_them(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    """The others are needed for the work that is under way, and for its heartbeat."""
    queue = WorkQueue(engine, pod_id="test")
    await ground.submit(made)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    async with engine.begin() as slow, anyio.create_task_group() as tasks:
        await slow.execute(sa.text("SELECT pg_advisory_xact_lock(7421901)"))
        for _ in range(20):
            tasks.start_soon(partial(queue.claim, ClaimKind.SESSION, cap=1))
        await ground.until(f"SELECT ({waiting}) > 0")
        with anyio.fail_after(GIVE_UP_SECONDS):
            assert await queue.beat([]) == {}
            assert await SessionRepository(engine).queue_position(await ground.submit(made)) is not None
        assert (await ground.fetch(waiting))[0]["count"] == 1
        await slow.rollback()
