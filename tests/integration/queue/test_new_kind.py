"""A new kind of work is one file: this one. Nothing in the program knows its name."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import claim_next
from support.queue_ground import GIVE_UP_SECONDS, Ground
from tarsy.config.schema.system import QueueConfig
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.parking import CancelAnswer, cancel, wake
from tarsy.db.work.pauses import PauseRepository
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.domain.claim import WorkKind
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, End, Lane, Park, WorkRules
from tarsy.kit.clock import SystemClock
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.run_scope import Cancellations, RunScope

LETTER = WorkKind("letter")
CONFIG = QueueConfig(poll_interval=0.05, poll_interval_jitter=0.0, heartbeat_interval=0.1, graceful_shutdown_timeout=1.0)
DELIVERED = End(RunStatus.COMPLETED, "delivered")
Doing = Callable[[Claimed[None]], Awaitable[Park | End | None]]


class Letters:
    """The handler: what it does is the test's business."""

    rules = WorkRules(kind=LETTER, lane=Lane.FOLLOW_UPS, max_concurrent=1, max_recoveries=1)

    def __init__(self, doing: Doing) -> None:
        self.doing = doing
        self.ended_early: list[RunStatus] = []

    async def run(self, claimed: Claimed[None], scope: RunScope) -> Park | End | None:
        del scope
        return await self.doing(claimed)

    async def end_early(self, claimed: Claimed[None], status: RunStatus) -> End:
        del claimed
        self.ended_early.append(status)
        return DELIVERED


async def delivers(claimed: Claimed[None]) -> End:
    del claimed
    return DELIVERED


async def breaks(claimed: Claimed[None]) -> End:
    raise ValueError(claimed.claim.subject_id)


async def goes_on(claimed: Claimed[None]) -> End:
    del claimed
    await anyio.sleep_forever()
    return DELIVERED


async def waits(claimed: Claimed[None]) -> Park:
    del claimed
    return Park("waits for the postman")


async def write(engine: AsyncEngine, **more: Any) -> str:
    subject_id = str(uuid4())
    values: dict[str, Any] = {"created_at": datetime.now(UTC), **more}
    async with engine.begin() as connection:
        await enqueue(connection, NewWork(kind=LETTER, subject_id=subject_id, session_id=None, chain_id=None, **values))
    return subject_id


def runner_on(engine: AsyncEngine) -> Runner:
    queue = WorkQueue(Publisher(engine), pod_id="test")
    return Runner(queue=queue, cancellations=Cancellations(), is_transient=is_transient)


async def take(engine: AsyncEngine) -> Claimed[Any] | None:
    return await claim_next(engine, Letters.rules)


async def do(engine: AsyncEngine, doing: Doing) -> None:
    """Claim one, and do it to its end."""
    claimed = await take(engine)
    assert claimed
    with anyio.fail_after(GIVE_UP_SECONDS):
        await runner_on(engine).run_claimed(Letters(doing), claimed, RunScope())


async def state(ground: Ground, subject_id: str) -> dict[str, Any]:
    columns = "state, attempts, recoveries, parked_reason, claim_token"
    return (await ground.fetch(f"SELECT {columns} FROM work WHERE subject_id = $1", subject_id))[0]  # noqa: S608 - fixed names


@asynccontextmanager
async def working(engine: AsyncEngine, handler: Letters) -> AsyncGenerator[WorkerPool]:
    pool = WorkerPool(CONFIG, runner_on(engine), Recovery(Publisher(engine)), [handler], clock=SystemClock())
    with anyio.fail_after(GIVE_UP_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.run)
            yield pool
            pool.stop_now()


async def test_it_is_claimed_and_done_by_a_pool_that_has_its_handler(engine: AsyncEngine, ground: Ground) -> None:
    letters = [await write(engine) for _ in range(3)]
    async with working(engine, Letters(delivers)):
        await ground.until("SELECT count(*) = 3 FROM work WHERE state = 'done'")
    assert [(await state(ground, letter))["attempts"] for letter in letters] == [0, 0, 0]


async def test_work_whose_handler_a_reload_has_removed_runs_on_through_a_pause(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    async with working(engine, Letters(goes_on)) as pool:
        await ground.until("SELECT state = 'claimed' FROM work")
        pool.reconfigure(CONFIG, runner_on(engine), [])
        await PauseRepository(Publisher(engine)).pause(None, actor="alice", reason="", now=True)
        # At least one heartbeat has been answered since.
        await ground.until("SELECT heartbeat_at > since + interval '0.3 seconds' FROM work, pauses")
        assert (await state(ground, letter))["state"] == "claimed"


async def test_no_more_of_it_runs_at_once_than_its_rules_allow(engine: AsyncEngine) -> None:
    for _ in range(2):
        await write(engine)
    assert await take(engine)
    assert await take(engine) is None


async def test_what_breaks_is_ended_at_once(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    await do(engine, breaks)
    after = await state(ground, letter)
    assert (after["state"], after["claim_token"]) == ("done", None)


async def test_what_its_worker_dropped_is_taken_back_as_often_as_its_rules_allow(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    for expected in ("ready", "done"):
        assert await take(engine)
        await ground.let_an_hour_pass()
        recovered = await Recovery(Publisher(engine)).run(silent_seconds=60, limits={LETTER: 1})
        assert [one.claim.subject_id for one in recovered] == [letter]
        assert (await state(ground, letter))["state"] == expected


async def test_a_process_that_does_not_know_the_kind_leaves_it_alone(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    assert await take(engine)
    await ground.let_an_hour_pass()
    assert await Recovery(Publisher(engine)).run(silent_seconds=60, limits={WorkKind("other"): 3}) == []
    assert (await state(ground, letter))["state"] == "claimed"


async def test_it_is_cancelled_at_once_while_it_waits_and_by_its_handler_while_it_runs(engine: AsyncEngine, ground: Ground) -> None:
    waiting = await write(engine)
    async with Publisher(engine).transaction() as transaction:
        assert await cancel(transaction, LETTER, waiting, reason="not needed") is CancelAnswer.CANCELLED
    assert (await state(ground, waiting))["state"] == "done"
    handler, running = Letters(goes_on), await write(engine)
    async with working(engine, handler):
        await ground.until("SELECT state = 'claimed' FROM work WHERE subject_id = $1", running)
        async with Publisher(engine).transaction() as transaction:
            assert await cancel(transaction, LETTER, running, reason="not needed") is CancelAnswer.CANCELLING
        await ground.until("SELECT state = 'done' FROM work WHERE subject_id = $1", running)
    assert handler.ended_early == [RunStatus.CANCELLED]


async def test_what_has_no_time_left_is_ended_by_its_handler(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    await ground.fetch("UPDATE work SET deadline = now() - interval '1 second'")
    claimed, handler = await take(engine), Letters(goes_on)
    assert claimed
    with anyio.fail_after(GIVE_UP_SECONDS):
        await runner_on(engine).run_claimed(handler, claimed, RunScope())
    assert handler.ended_early == [RunStatus.TIMED_OUT]
    assert (await state(ground, letter))["state"] == "done"


async def test_it_is_parked_without_a_worker_until_it_is_woken(engine: AsyncEngine, ground: Ground) -> None:
    letter = await write(engine)
    await do(engine, waits)
    parked = await state(ground, letter)
    assert (parked["state"], parked["parked_reason"], parked["claim_token"]) == ("parked", "waits for the postman", None)
    assert await take(engine) is None
    async with Publisher(engine).transaction() as transaction:
        await wake(transaction, LETTER, letter)
    await do(engine, delivers)
    ended = await state(ground, letter)
    assert (ended["state"], ended["recoveries"], ended["attempts"]) == ("done", 0, 0)


async def test_it_is_claimed_by_priority_but_what_is_old_goes_ahead_of_what_is_urgent(engine: AsyncEngine) -> None:
    now = datetime.now(UTC)
    usual = await write(engine, created_at=now)
    urgent = await write(engine, created_at=now, priority=3)
    old = await write(engine, created_at=now - timedelta(hours=1), priority=-1)
    later = await write(engine, created_at=now, priority=9, not_before=now + timedelta(hours=1))
    order: list[str] = []
    for _ in range(3):
        claimed = await take(engine)
        assert claimed
        order.append(claimed.claim.subject_id)
        await runner_on(engine).run_claimed(Letters(delivers), claimed, RunScope())
    assert order == [old, urgent, usual]
    assert await take(engine) is None, f"{later} is not to be begun for an hour"


@pytest.mark.parametrize("held", [True, False])
async def test_its_rules_say_whether_a_pause_holds_it(engine: AsyncEngine, ground: Ground, *, held: bool) -> None:
    await ground.fetch("INSERT INTO pauses (chain_id, actor) VALUES ('', 'somebody')")
    await write(engine)
    rules = WorkRules(kind=LETTER, lane=Lane.FOLLOW_UPS, held_by_pause=held)
    assert (await claim_next(engine, rules) is None) == held
