"""What waits to be counted is counted once, and by the time of a scrape."""

import pytest
from prometheus_client import generate_latest

from support.scraped import value
from tarsy.telemetry.backlog import MOST_WAITING, SHARED_DIRECTORY, Backlog
from tarsy.telemetry.metrics import Metrics


def test_what_waits_is_counted_when_it_is_much_and_in_its_order() -> None:
    backlog, counted = Backlog(), list[int]()
    for number in range(MOST_WAITING - 1):
        backlog.add(counted.append, number)
    assert counted == []
    backlog.add(counted.append, MOST_WAITING - 1)
    assert counted == list(range(MOST_WAITING))


def test_a_scrape_shows_what_waited_and_counts_it_once() -> None:
    metrics = Metrics()
    metrics.backlog.add(metrics.work.step.observe, 0.5)
    assert [value(generate_latest(metrics.registry), "tarsy_step_seconds_count") for _ in range(2)] == [1, 1]


def test_nothing_waits_where_another_process_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_DIRECTORY, "shared")
    counted = list[int]()
    Backlog().add(counted.append, 1)
    assert counted == [1]
