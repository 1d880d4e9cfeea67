"""The state of an installation: its figures, and the problems an operator should solve."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tarsy.domain.alert import Severity
from tarsy.domain.period_budget import PeriodState
from tarsy.domain.status import SessionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProcess:
    """A process of the installation that sends heartbeats."""

    id: str
    role: str
    workers: int
    version: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLevel:
    """The investigations of one priority that wait for a worker."""

    priority: int
    depth: int
    oldest_age_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCount:
    role: str
    processes: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    # Sessions that have not ended, 0 for a status that none has.
    sessions: Mapping[SessionStatus, int]
    # Open incidents, 0 for a severity that none has.
    incidents: Mapping[Severity, int]
    queue: tuple[QueueLevel, ...]
    # Processes with a recent heartbeat.
    roles: tuple[RoleCount, ...]
    # The budgets of a day or month.
    budgets: tuple[PeriodState, ...] = ()

    @property
    def workers(self) -> int:
        return sum(role.workers for role in self.roles)


# A shorter queue is no problem, even if it grows.
LONG_QUEUE = 10
# A vendor's brief outage is over by then.
REPEATED_FAILURES = 3
# Three times the usual interval of clean-ups: a restart may have delayed one.
MAX_CLEAN_UP_AGE = timedelta(hours=36)
# Backups are usually made every night.
MAX_BACKUP_AGE = timedelta(hours=36)


class DiagnosisKind(StrEnum):
    WORKERS = "workers"
    QUEUE = "queue"
    MODEL = "model"
    MAINTENANCE = "upkeep"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """The most recent calls of a model."""

    provider: str
    model: str
    calls: int
    failed: int
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSnapshot:
    """The figures that `diagnose` judges, read from the database at one moment."""

    now: datetime
    # Processes with a recent heartbeat, and their workers.
    processes: int
    workers: int
    # Sessions that wait for a worker; sessions that were submitted and that ended in the last half hour.
    waiting: int
    submitted_lately: int
    ended_lately: int
    models: tuple[ModelRecord, ...]
    first_process_at: datetime | None
    cleaned_up_at: datetime | None
    # When `tarsy db backed-up` was last run; None: never.
    backed_up_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    kind: DiagnosisKind
    message: str
    remedy: str


def diagnose(health: HealthSnapshot) -> tuple[Diagnosis, ...]:
    """Return the problems that the figures show, each with what to do about it."""
    found: list[Diagnosis] = []
    # An installation that is stopped lacks no workers, unless an alert waits.
    if not health.workers and (health.processes or health.waiting):
        waits = f"; {health.waiting} sessions wait" if health.waiting else ""
        text = f"No process has workers: nothing is investigated{waits}."
        found.append(Diagnosis(DiagnosisKind.WORKERS, text, "start one: tarsy serve --role worker"))
    if health.waiting >= LONG_QUEUE and health.submitted_lately > health.ended_lately:
        pace = f"{health.submitted_lately} sessions were submitted and {health.ended_lately} ended in the last half hour"
        remedy = "raise queue.max_concurrent_sessions, add a process, or let routes record what need not be investigated"
        found.append(Diagnosis(DiagnosisKind.QUEUE, f"The queue grows: {health.waiting} sessions wait; {pace}.", remedy))
    for record in health.models:
        if record.failed >= REPEATED_FAILURES and 2 * record.failed > record.calls:
            why = f", last with {record.last_error}" if record.last_error else ""
            text = f"{record.provider} ({record.model}) failed {record.failed} of its last {record.calls} calls{why}."
            remedy = "check its key, quota and address (tarsy doctor --call), or name fallback_providers"
            found.append(Diagnosis(DiagnosisKind.MODEL, text, remedy))
    # A new installation has not been cleaned up yet: its age counts instead.
    cleaned_up_at = health.cleaned_up_at or health.first_process_at
    if cleaned_up_at and health.processes and health.now - cleaned_up_at > MAX_CLEAN_UP_AGE:
        text = f"Old data was last erased {_hours(health.now - cleaned_up_at)} hours ago."
        found.append(Diagnosis(DiagnosisKind.MAINTENANCE, text, "look for retention.failed in the logs"))
    # Where no backup was ever reported, the operator may back up by other means, or not at all.
    if health.backed_up_at and health.now - health.backed_up_at > MAX_BACKUP_AGE:
        text = f"The last backup was made {_hours(health.now - health.backed_up_at)} hours ago."
        found.append(Diagnosis(DiagnosisKind.MAINTENANCE, text, "find out why, and record the next one: tarsy db backed-up"))
    return tuple(found)


def _hours(age: timedelta) -> int:
    return round(age.total_seconds() / 3600)
