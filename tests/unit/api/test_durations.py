"""How long something took, from the times that were stored of it."""

from datetime import UTC, datetime, timedelta

from tarsy.api.schemas.view import milliseconds_between

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_clock_that_was_set_back_makes_nothing_shorter_than_nothing() -> None:
    assert milliseconds_between(BEGIN, BEGIN + timedelta(seconds=1.5)) == 1500
    assert milliseconds_between(BEGIN, BEGIN - timedelta(hours=1)) == 0
    assert milliseconds_between(BEGIN, None) is None
