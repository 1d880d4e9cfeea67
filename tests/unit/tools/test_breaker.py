"""A server that cannot be reached is left alone for a while."""

import pytest

from tarsy.tools.breaker import MAX_FAILURES, OPEN_SECONDS, Breaker
from tarsy.tools.failures import Unreachable


def away() -> Unreachable:
    return Unreachable("k8s", "Tool server 'k8s' is not available: no answer.")


def opened() -> Breaker:
    breaker = Breaker()
    for _ in range(MAX_FAILURES):
        breaker.check(0.0)
        breaker.failed(away(), 0.0)
    return breaker


def test_failures_in_a_row_end_the_attempts_for_a_while() -> None:
    with pytest.raises(Unreachable, match=r"no answer\. It could not be reached 3 times in a row and is tried again in 9 s"):
        opened().check(1.0)


def test_after_the_break_one_attempt_decides_for_all() -> None:
    breaker = opened()
    breaker.check(OPEN_SECONDS)
    with pytest.raises(Unreachable):
        breaker.check(OPEN_SECONDS + 1)
    breaker.succeeded()
    breaker.check(OPEN_SECONDS + 1)
    breaker.failed(away(), OPEN_SECONDS + 1)
    breaker.check(OPEN_SECONDS + 1)


def test_one_failure_that_many_executions_report_counts_once() -> None:
    breaker, error = Breaker(), away()
    for _ in range(MAX_FAILURES + 1):
        breaker.failed(error, 0.0)
    breaker.check(0.0)
