"""One task per turn of the event loop, in the order in which they came."""

import asyncio

import anyio

from tarsy.kit.turnstile import Turnstile


async def test_those_that_come_together_go_through_one_per_turn() -> None:
    turnstile, turns, passed = Turnstile(), [0], list[tuple[int, int]]()
    loop = asyncio.get_running_loop()

    def count() -> None:
        turns[0] += 1
        if len(passed) < 5:
            loop.call_soon(count)

    async def go_through(number: int) -> None:
        await turnstile.pass_through()
        passed.append((number, turns[0]))

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(go_through, number)
        loop.call_soon(count)
    assert [number for number, _ in passed] == list(range(5))
    assert len({turn for _, turn in passed}) == 5


async def test_one_alone_does_not_wait() -> None:
    going = Turnstile().pass_through()
    try:
        going.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited for a turn of the event loop")


async def test_one_that_goes_away_is_not_waited_for() -> None:
    turnstile, passed = Turnstile(), list[str]()

    async def go_through(name: str) -> None:
        await turnstile.pass_through()
        passed.append(name)

    tasks = [asyncio.create_task(go_through(name)) for name in ("first", "second", "third")]
    # After all three have come, and before the second may go.
    asyncio.get_running_loop().call_soon(tasks[1].cancel)
    await asyncio.wait(tasks, timeout=10)
    assert passed == ["first", "third"]
