"""Requests that come at the same time share a transaction; a second one begins beside it when enough wait for it."""

from collections.abc import Sequence

import anyio
import pytest

from tarsy.db.batcher import Batcher

MIN_BATCH = 3


class Handler:
    """Answers each request with itself, batch by batch, as each is let go on."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.gates: list[anyio.Event] = []

    async def handle(self, wanted: Sequence[int]) -> Sequence[int]:
        self.batches.append(wanted)
        gate = anyio.Event()
        self.gates.append(gate)
        await gate.wait()
        return wanted


async def test_a_second_batch_begins_beside_the_first_when_enough_wait() -> None:
    handler, answers = Handler(), list[int]()
    batcher = Batcher(handler.handle, max_batch=64, seconds=5.0, concurrency=2, min_batch=MIN_BATCH)

    async def ask(number: int) -> None:
        answers.append(await batcher.submit(number))

    async with anyio.create_task_group() as tasks:
        for number in range(1, MIN_BATCH + 1):
            tasks.start_soon(ask, number)
            await anyio.wait_all_tasks_blocked()
        # The first did not wait for others; those that came after it are not enough yet.
        assert handler.batches == [[1]]
        tasks.start_soon(ask, 4)
        tasks.start_soon(ask, 5)
        await anyio.wait_all_tasks_blocked()
        # Two are under way: the last waits for one of them.
        assert handler.batches == [[1], [2, 3, 4]]
        handler.gates[1].set()
        await anyio.wait_all_tasks_blocked()
        # One beside another that is under way is not enough.
        assert answers == [2, 3, 4]
        assert handler.batches == [[1], [2, 3, 4]]
        handler.gates[0].set()
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == [[1], [2, 3, 4], [5]]
        handler.gates[2].set()
    assert answers == [2, 3, 4, 1, 5]


async def test_who_gives_up_while_two_batches_are_under_way_leaves_both_turns() -> None:
    handler, answers = Handler(), list[int]()
    batcher = Batcher(handler.handle, max_batch=64, seconds=5.0, concurrency=2, min_batch=1)

    async def ask(number: int) -> None:
        answers.append(await batcher.submit(number))

    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as impatient:
            impatient.start_soon(ask, 1)
            impatient.start_soon(ask, 2)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask, 3)
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
            for gate in handler.gates:
                gate.set()
        await anyio.wait_all_tasks_blocked()
        assert handler.batches == [[1], [2], [3]]
        handler.gates[2].set()
    assert answers == [1, 2, 3]


async def test_a_request_that_fails_alone_is_handled_once_and_its_error_raised() -> None:
    handled: list[Sequence[int]] = []

    async def fail(wanted: Sequence[int]) -> Sequence[int]:
        handled.append(wanted)
        raise ValueError(wanted)

    with pytest.raises(ValueError, match="1"):
        await Batcher(fail, max_batch=64, seconds=5.0).submit(1)
    assert handled == [[1]]
