"""The problem that a caller gets for an exception."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

import anyio
import asyncpg
import pytest
import stamina
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tarsy.api.problems import ProblemKind, problem_response
from tarsy.db import retry
from tarsy.db.batcher import Batcher
from tarsy.db.connection import open_engine
from tarsy.db.retry import retrying


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (asyncpg.CannotConnectNowError("the database system is starting up"), ProblemKind.DATABASE_AWAY),
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), ProblemKind.DATABASE_AWAY),
        (asyncpg.UndefinedColumnError("no such column"), ProblemKind.INTERNAL),
    ],
)
def test_a_database_that_will_be_back_is_worth_another_try_and_a_bug_is_not(cause: Exception, kind: ProblemKind) -> None:
    answer = problem_response(DBAPIError("SELECT 1", {}, cause))
    assert answer.problem.type.endswith(kind.value)
    assert ("Retry-After" in answer.headers) == (kind is ProblemKind.DATABASE_AWAY)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(retry, "ATTEMPT_SECONDS", 0.01)
    with stamina.set_testing(True, attempts=2):
        yield


async def refuse() -> None:
    async with open_engine("postgresql://127.0.0.1:1/nowhere") as engine, engine.connect() as connection:
        await connection.execute(text("SELECT 1"))


async def stay_silent() -> None:
    await retrying(anyio.sleep_forever)


async def stay_silent_to_a_batch() -> None:
    async def handle(_: Sequence[str]) -> list[str]:
        await anyio.sleep_forever()
        return []

    await Batcher(handle, max_batch=2, seconds=0.01).submit("an alert")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("query", [refuse, stay_silent, stay_silent_to_a_batch])
async def test_a_database_that_does_not_answer_is_called_unreachable(query: Callable[[], Awaitable[None]]) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is the question
        await query()
    answer = problem_response(raised.value)
    assert (answer.problem.status, answer.problem.detail) == (503, "The database is unreachable. Try again in a moment.")


@pytest.mark.parametrize("error", [ConnectionRefusedError("slack.com:443"), TimeoutError(), PermissionError("pins.json")])
def test_what_other_connections_and_files_do_is_not_blamed_on_the_database(error: Exception) -> None:
    answer = problem_response(error)
    assert (answer.problem.status, "atabase" in answer.problem.detail) == (500, False)
