"""What was measured is told once, however much it was and whenever it is asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.metrics.export import Metric

from tarsy.telemetry.metrics import MOST_VALUES
from tarsy.telemetry.traces.histograms import MOST_TAKEN, Histogram, Key

CHAT: Key = (("operation", "chat"),)
TOOL: Key = (("operation", "tool"),)


def histogram() -> Histogram:
    return Histogram("seconds", "s", "How long.", (1, 2))


def points(read: Metric | None) -> dict[Any, Any]:
    return {tuple((point.attributes or {}).items()): point for point in read.data.data_points} if read else {}


@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from((CHAT, TOOL))), max_size=20))
def test_values_are_counted_in_their_buckets_by_their_attributes(values: list[tuple[float, Key]]) -> None:
    told = histogram()
    for value, key in values:
        told.record(value, key)
    found = points(told.read(0, 1, delta=False))
    assert set(found) == {key for _, key in values}
    for key, point in found.items():
        own = [value for value, of in values if of == key]
        assert point.bucket_counts == (sum(x <= 1 for x in own), sum(1 < x <= 2 for x in own), sum(x > 2 for x in own))
        assert (point.count, point.min, point.max) == (len(own), min(own), max(own))
        assert point.sum == pytest.approx(sum(own))


@pytest.mark.parametrize(("delta", "later"), [(True, 1), (False, MOST_TAKEN + 2)])
def test_more_than_is_taken_down_at_a_time_is_told_whole(delta: bool, later: int) -> None:  # noqa: FBT001 - a parameter of the test
    told = histogram()
    for _ in range(MOST_TAKEN + 1):
        told.record(1, CHAT)
    assert points(told.read(0, 1, delta=delta))[CHAT].count == MOST_TAKEN + 1
    told.record(1, CHAT)
    assert points(told.read(1, 2, delta=delta))[CHAT].count == later


def test_attributes_that_would_be_too_many_are_counted_together() -> None:
    told = histogram()
    for number in range(MOST_VALUES + 3):
        told.record(1, (("tool", str(number)),))
    found = points(told.read(0, 1, delta=False))
    assert len(found) == MOST_VALUES + 1
    assert found[("otel.metric.overflow", "true"),].count == 3
