"""How long text is gathered before it is sent to other processes."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.events.relay import LONGEST_PAUSE_SECONDS, SHORTEST_PAUSE_SECONDS, pause_after


def test_text_waits_at_most_ten_milliseconds_while_the_database_is_quick() -> None:
    assert pause_after(0.001) <= 0.01


def test_slow_sends_gather_more_text_each() -> None:
    assert pause_after(0.002) < pause_after(0.005) < pause_after(0.01)


@given(st.floats(min_value=0, max_value=60))
def test_a_pause_is_never_felt_and_never_nothing(took: float) -> None:
    assert SHORTEST_PAUSE_SECONDS <= pause_after(took) <= LONGEST_PAUSE_SECONDS
