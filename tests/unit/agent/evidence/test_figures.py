"""Figures are compared by value: units, rounding, counts and times of day with their zones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.evidence.figures import any_agrees, counts, figures


def agrees(claimed: str, seen: str) -> bool:
    (figure,) = figures(claimed)
    return any_agrees(figure, (*figures(seen), *counts(seen)))


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("90 s", "1m30s"),
        ("2.5 minutes", "2m30s"),
        ("50 minutes", "AGE 50m"),
        ("0.05 cores", "cpu: 50m"),
        ("128 MiB", "memory: 128Mi"),
        ("128 MiB", "134217728 bytes"),
        ("1 GB", "1000000000 bytes"),
        ("13 %", "0.1321"),
        ("13 percent", "ratio 0.1321"),
        ("1,200 seconds", "took 1200s"),
        ("29 ms", "duration_ms=29"),
        ("262 MiB", "resident_mib=262"),
        ("0.31 s", 'latency_seconds{job="cart"}  min=0.1 max=0.312 last=0.2'),
        ("10:12 CET", "2026-03-10T09:12:00Z"),
        ("11:12:41 CEST", "2026-06-10T09:12:41.118Z"),
        ("09:12 UTC", "2026-03-10T10:12:00+01:00"),
        ("09:12", "at 09:12:59Z"),
        ("10:12 CET:", "2026-03-10T09:12:00Z"),
        ("09:12 on 2026-03-10", "2026-03-10T09:12:00Z"),
        ("800 MiB", "maxmemory 800mb"),
        ("10:12 am CET", "2026-03-10T09:12:00Z"),
        ("3:47:30 AM EST", "2026-03-10T08:47:30Z"),
        ("up to 2.6 s", "duration_ms=2730"),
        ("8:50:58 p.m. UTC", "2026-03-10T20:50:58Z"),
        ("3 GiB", "-Xms512m -Xmx3g -XX:+UseG1GC"),
        ("12:05 am", "2026-03-10T00:05:00Z"),
        ("is -94.2 s off", 'node_timex_offset_seconds{node="a"}  -94.2'),
        ("35 min 48 s", "duration 35m48s"),
        ("94 s", 'node_timex_offset_seconds{node="a"}  -94.1'),
        ("800 MiB", 'memory_used_bytes{pod="redis-0"}  min=1 max=2 last=838860800'),
        ("45 %", 'node_cpu_idle:ratio5m{node="a"}  min=0.21 max=0.45 last=0.45'),
    ],
)
def test_the_same_value_agrees_in_every_spelling(claimed: str, seen: str) -> None:
    assert agrees(claimed, seen)


@pytest.mark.parametrize(
    ("claimed", "seen"),
    [
        ("30 s", "deadline exceeded after 30ms"),
        ("41.2 TiB", "logs 41.2Gi"),
        ("512 GiB", "limit 512Mi"),
        ("14 %", "0.1321"),
        ("13.3 %", "0.1321"),
        ("09:12 CET", "2026-03-10T09:12:00Z"),
        ("2026-03-09T09:12:00Z", "2026-03-10T09:12:00Z"),
        ("80 ms", "duration_ms=29"),
        ("09:12 on 2026-03-08", "2026-03-10T09:12:00Z"),
        ("8:50:58 pm UTC", "2026-03-10T08:50:58Z"),
        ("2 GiB", "-Xms512m -Xmx3g -XX:+UseG1GC"),
        ("up to 2.36 s", "duration_ms=2630"),
        ("is -60.5 s off", 'node_timex_offset_seconds{node="a"}  -94.2'),
        ("14 h", 'memory_used_bytes{pod="redis-0"}  min=1 max=2 last=838860800'),
        ("310 s", 'latency_ms{job="cart"}  min=100 max=310 last=200'),
    ],
)
def test_another_value_does_not_agree(claimed: str, seen: str) -> None:
    assert not agrees(claimed, seen)


@given(st.integers(1, 10**6), st.sampled_from([("kB", 1), ("MB", 2), ("GB", 3)]))
def test_mb_is_a_million_bytes_or_a_mebibyte_and_nothing_else(number: int, unit: tuple[str, int]) -> None:
    name, power = unit
    assert agrees(f"{number}{name}", f"{number * 1000**power} bytes")
    assert agrees(f"{number}{name}", f"{number * 1024**power} bytes")
    assert not agrees(f"{number}{name}", f"{2 * number * 1000**power} bytes")


@given(st.integers(1, 10**6), st.sampled_from([("Ki", 1024), ("Mi", 1024**2), ("Gi", 1024**3), ("M", 1000**2)]))
def test_an_amount_agrees_with_its_bytes_and_with_no_other_amount(number: int, unit: tuple[str, int]) -> None:
    name, size = unit
    assert agrees(f"{number}{name}", f"{number * size} bytes")
    assert not agrees(f"{number}{name}", f"{(number + 1) * size} bytes")


@given(st.floats(0.001, 0.999), st.integers(0, 3))
def test_a_share_that_is_rounded_agrees(share: float, digits: int) -> None:
    assert agrees(f"{share * 100:.{digits}f} %", f"{share:.9f}")


@given(st.integers(0, 86_399), st.integers(-11, 12))
def test_a_time_agrees_in_every_zone_and_only_with_its_own(second: int, hours: int) -> None:
    def at(second: int) -> str:
        return f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"

    local = at((second + hours * 3600) % 86_400)
    assert agrees(f"{local}{hours:+03}:00", f"{at(second)}Z")
    assert not agrees(f"{local}{hours:+03}:00", f"{at((second + 60) % 86_400)}Z")


def test_versions_addresses_and_times_are_no_counts() -> None:
    assert [one.text for one in counts("v1.33.4 10.20.11.52:9000 3.0.0 at 09:12:00Z, 14 of 20, 1/1, (x131 over 21m)")] == [
        "1",
        "1",
        "14",
        "20",
        "131",
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('http_p95_seconds{service="cart"}  min=0.1 max=0.3', ["0.1", "0.3"]),
        # A recording rule: the unit is in its last part but one.
        ("job:latency_seconds:rate5m  12", []),
        ("job:latency:seconds5m  12", ["12"]),
        # `:b` would be bytes, but no name is before it.
        (":b_min=0.1 3.5", ["b_min=0.1", "3.5"]),
        # The first metric of a line has its values.
        ("wait_ms 5 run_seconds 6\nrun_seconds 7", ["5", "6", "7"]),
        (f"{'a' * 102}_seconds 5", []),
        (f"b:{'a' * 98}_seconds 5", ["5"]),
    ],
)
def test_the_values_after_a_metric_have_its_unit(text: str, values: list[str]) -> None:
    assert [one.text for one in figures(text)] == values


@pytest.mark.growth
@pytest.mark.timeout(30)
def test_a_long_chain_of_words_is_read_in_linear_time() -> None:
    """A second's work; read again for each of its parts, it takes more than a minute."""
    assert list(figures("a:" * 500_000)) == []
