"""Silence counts only if it could have been broken."""

from datetime import UTC, datetime, timedelta

from tarsy.queue.pool import OrphanGrace

START = datetime(2026, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def grace() -> OrphanGrace:
    return OrphanGrace(START, heartbeat_interval=10.0, orphan_threshold=60.0)


def test_who_starts_believes_the_silence_it_finds() -> None:
    assert grace().is_over(START)


def test_a_database_that_answers_is_believed() -> None:
    waiting = grace()
    for seconds in range(10, 300, 10):
        waiting.answered(after(seconds))
        assert waiting.is_over(after(seconds))


def test_an_answer_that_is_missed_now_and_then_changes_nothing() -> None:
    waiting = grace()
    waiting.answered(after(30))
    assert waiting.is_over(after(30))
    assert waiting.is_over(after(60))


def test_after_an_outage_every_process_gets_time_for_a_heartbeat() -> None:
    waiting = grace()
    assert not waiting.is_over(after(90))
    waiting.answered(after(90))
    assert not waiting.is_over(after(90))
    waiting.answered(after(100))
    assert not waiting.is_over(after(109))
    assert waiting.is_over(after(110))


def test_a_clock_that_is_set_back_costs_one_round_and_not_the_time_it_was_set_back() -> None:
    waiting = grace()
    waiting.answered(after(-3600))
    assert not waiting.is_over(after(-3590))
    waiting.answered(after(-3590))
    waiting.answered(after(-3580))
    assert waiting.is_over(after(-3580))
