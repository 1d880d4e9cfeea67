"""Problems that are reported to an operator."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tarsy.domain.diagnosis import DiagnosisKind, HealthSnapshot, ModelRecord, diagnose

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WELL = HealthSnapshot(
    now=NOW,
    processes=2,
    workers=16,
    waiting=3,
    submitted_lately=5,
    ended_lately=4,
    models=(ModelRecord(provider="p", model="m", calls=10, failed=2, last_error="timeout"),),
    first_process_at=NOW - timedelta(days=9),
    cleaned_up_at=NOW - timedelta(hours=12),
)


def ailments(**signs: object) -> list[DiagnosisKind]:
    return [one.kind for one in diagnose(replace(WELL, **signs))]  # pyright: ignore[reportArgumentType] - names are those of the fields


def test_nothing_is_reported_of_an_installation_that_is_well() -> None:
    assert ailments() == []


def test_an_installation_without_workers_is_reported_but_not_one_that_is_not_running() -> None:
    assert ailments(workers=0) == [DiagnosisKind.WORKERS]
    assert ailments(workers=0, processes=0, waiting=1) == [DiagnosisKind.WORKERS]
    assert ailments(workers=0, processes=0, waiting=0) == []


def test_a_long_queue_that_becomes_longer_is_reported() -> None:
    assert ailments(waiting=10) == [DiagnosisKind.QUEUE]
    assert ailments(waiting=10, ended_lately=5) == []


def test_a_model_that_fails_repeatedly_is_reported_with_its_last_error() -> None:
    failing = ModelRecord(provider="p", model="m", calls=4, failed=3, last_error="rate_limited")
    (reported,) = diagnose(replace(WELL, models=(failing,)))
    assert reported.message == "p (m) failed 3 of its last 4 calls, last with rate_limited."
    assert ailments(models=(replace(failing, failed=2, calls=2),)) == []


def test_a_clean_up_that_is_late_is_reported_but_not_in_a_new_installation() -> None:
    assert ailments(cleaned_up_at=NOW - timedelta(hours=37)) == [DiagnosisKind.MAINTENANCE]
    assert ailments(cleaned_up_at=None) == [DiagnosisKind.MAINTENANCE]
    assert ailments(cleaned_up_at=None, first_process_at=NOW - timedelta(hours=1)) == []


def test_a_backup_that_is_late_is_reported_where_one_was_ever_reported() -> None:
    (reported,) = diagnose(replace(WELL, backed_up_at=NOW - timedelta(hours=50)))
    assert (reported.kind, reported.message) == (DiagnosisKind.MAINTENANCE, "The last backup was made 50 hours ago.")
    assert ailments(backed_up_at=NOW - timedelta(hours=30)) == []
