"""Waiting out a database that is away: what is tried again, until when, and what a cancellation may cut off."""

from collections.abc import Iterator

import anyio
import asyncpg
import pytest
import stamina

from tarsy.db.retry import retrying


@pytest.fixture
def without_pauses() -> Iterator[None]:
    """Patience of five attempts instead of ten minutes."""
    with stamina.set_testing(True, attempts=5):
        yield


class Flaky:
    """Fails as often as the test wants, then answers."""

    def __init__(self, error: Exception, failures: int) -> None:
        self.error = error
        self.failures = failures
        self.attempts = 0

    async def __call__(self) -> str:
        self.attempts += 1
        if self.attempts <= self.failures:
            raise self.error
        return "answer"


@pytest.mark.usefixtures("without_pauses")
async def test_a_database_that_comes_back_is_asked_again() -> None:
    flaky = Flaky(ConnectionRefusedError(), failures=3)

    assert await retrying(flaky) == "answer"
    assert flaky.attempts == 4


async def test_what_the_database_refuses_is_not_asked_again() -> None:
    flaky = Flaky(asyncpg.UniqueViolationError("there is one already"), failures=1)

    with pytest.raises(asyncpg.UniqueViolationError):
        await retrying(flaky)
    assert flaky.attempts == 1


@pytest.mark.usefixtures("without_pauses")
async def test_a_refusal_after_an_outage_ends_the_attempts() -> None:
    flaky = Flaky(ConnectionRefusedError(), failures=100)

    async def attempt() -> str:
        if flaky.attempts == 2:
            raise asyncpg.UniqueViolationError("there is one already")
        return await flaky()

    with pytest.raises(asyncpg.UniqueViolationError):
        await retrying(attempt)


@pytest.mark.usefixtures("without_pauses")
async def test_a_database_that_stays_away_is_given_up_with_its_last_error() -> None:
    flaky = Flaky(ConnectionRefusedError("still away"), failures=100)

    with pytest.raises(ConnectionRefusedError, match="still away"):
        await retrying(flaky)


async def test_a_cancellation_waits_for_a_whole_attempt_and_ends_the_pause_after_it() -> None:
    ended: list[str] = []

    async def attempt() -> str:
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        ended.append("attempt")
        raise ConnectionRefusedError

    with anyio.fail_after(30), anyio.CancelScope() as scope:
        await retrying(attempt, finish_attempt=True)

    assert scope.cancelled_caught
    assert ended == ["attempt"]


async def test_a_cancellation_cuts_off_an_attempt_that_need_not_be_whole() -> None:
    async def attempt() -> None:
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.fail_after(30), anyio.CancelScope() as scope:
        await retrying(attempt)

    assert scope.cancelled_caught
