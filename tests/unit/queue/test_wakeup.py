"""Which of the idle workers look for work, and when."""

import anyio

from tarsy.queue.wakeup import Wakeup

LONGER_THAN_IT_TAKES = 5


async def test_of_many_idle_workers_one_looks_without_being_rung_for() -> None:
    bell, asleep = Wakeup(), {0, 1, 2}
    woken = anyio.Event()

    async def worker(number: int) -> None:
        await bell.wait(0)
        asleep.remove(number)
        woken.set()

    with anyio.fail_after(LONGER_THAN_IT_TAKES):
        async with anyio.create_task_group() as workers:
            for number in range(3):
                workers.start_soon(worker, number)
            await woken.wait()
            # The next that has nothing to do is the lookout; those that sleep already stay asleep until they are rung for.
            await bell.wait(0)
            assert len(asleep) == 2

            bell.wake_one()
            await anyio.wait_all_tasks_blocked()
            assert len(asleep) == 1
            bell.wake_all()


async def test_a_notification_that_no_idle_worker_received_wakes_the_next() -> None:
    bell = Wakeup()
    bell.wake_one()

    with anyio.fail_after(LONGER_THAN_IT_TAKES):
        await bell.wait(60)
