"""Times of a simulated world."""

from datetime import UTC, datetime, timedelta

import pytest

from tarsy.demo.kubectl import age, timestamp
from tarsy.demo.world import moment

NOW = datetime(2026, 3, 10, 9, 26, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-41d", "2026-01-28T09:26:00Z"),
        ("-1h30m", "2026-03-10T07:56:00Z"),
        ("-0s", "2026-03-10T09:26:00Z"),
        ("09:12", "2026-03-10T09:12:00Z"),
        ("09:12:41", "2026-03-10T09:12:41Z"),
        ("2026-03-04T09:30:48Z", "2026-03-04T09:30:48Z"),
    ],
)
def test_a_moment_is_relative_on_the_day_or_absolute(text: str, expected: str) -> None:
    assert timestamp(moment(text, NOW)) == expected


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        moment("yesterday", NOW)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (253, "4m13s"),
        (600, "10m"),
        (10_799, "179m"),
        (15_720, "4h22m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (273_600, "3d4h"),
        (691_200, "8d"),
    ],
)
def test_an_age_is_written_as_kubectl_writes_it(seconds: int, expected: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == expected
