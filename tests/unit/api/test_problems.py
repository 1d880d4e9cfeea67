"""The problem that a caller gets for an exception."""

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError

from tarsy.api.problems import ProblemKind, problem_response


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
