"""The state of an installation: its figures, and what an operator should attend to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tarsy.domain.alert import Severity
from tarsy.domain.period_budget import PeriodState
from tarsy.domain.status import SessionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProcess:
    """A process of the installation, as it presents itself."""

    id: str
    role: str
    workers: int
    version: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLevel:
    """The investigations of one priority that are ready and wait for a worker."""

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
    # Those that have not ended; a status that no session has counts 0.
    sessions: Mapping[SessionStatus, int]
    # Those that are not resolved, likewise.
    incidents: Mapping[Severity, int]
    queue: tuple[QueueLevel, ...]
    # Of the processes that gave a sign of life lately.
    roles: tuple[RoleCount, ...]
    # How far each budget of a day or month is used.
    budgets: tuple[PeriodState, ...] = ()

    @property
    def workers(self) -> int:
        return sum(role.workers for role in self.roles)


# A queue that is shorter is no queue, whatever its tendency.
LONG_QUEUE = 10
# A vendor's hiccup is over by then.
REPEATED_FAILURES = 3
# Twice the usual interval of clean-ups: one may have been missed by a restart.
LATE_CLEAN_UP = timedelta(hours=36)
# The same for backups, which are usually made every night.
LATE_BACKUP = timedelta(hours=36)


class DiagnosisKind(StrEnum):
    WORKERS = "workers"
    QUEUE = "queue"
    MODEL = "model"
    MAINTENANCE = "upkeep"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """How a model has answered lately."""

    provider: str
    model: str
    calls: int
    failed: int
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSnapshot:
    now: datetime
    # Processes of the installation that gave a sign of life, and the workers they have.
    processes: int
    workers: int
    # Sessions that wait for a worker, and what came and what ended in the last half hour.
    waiting: int
    submitted_lately: int
    ended_lately: int
    models: tuple[ModelRecord, ...]
    first_process_at: datetime | None
    cleaned_up_at: datetime | None
    # When a backup was last told of; None: none ever was.
    backed_up_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    kind: DiagnosisKind
    message: str
    cure: str


def diagnose(signs: HealthSnapshot) -> tuple[Diagnosis, ...]:
    found = (_workers(signs), _queue(signs), *(_model(record) for record in signs.models), _upkeep(signs), _backup(signs))
    return tuple(one for one in found if one)


def _workers(signs: HealthSnapshot) -> Diagnosis | None:
    # An installation that is not running lacks no workers, unless an alert waits.
    if signs.workers or not (signs.processes or signs.waiting):
        return None
    waits = f"; {signs.waiting} sessions wait" if signs.waiting else ""
    return Diagnosis(
        DiagnosisKind.WORKERS, f"No process has workers: nothing is investigated{waits}.", "start one: tarsy serve --role worker"
    )


def _queue(signs: HealthSnapshot) -> Diagnosis | None:
    if signs.waiting < LONG_QUEUE or signs.submitted_lately <= signs.ended_lately:
        return None
    pace = f"{signs.submitted_lately} sessions came and {signs.ended_lately} ended within half an hour"
    cure = "raise queue.max_concurrent_sessions, add a process, or let routes record what need not be investigated"
    return Diagnosis(DiagnosisKind.QUEUE, f"The queue grows: {signs.waiting} sessions wait; {pace}.", cure)


def _model(record: ModelRecord) -> Diagnosis | None:
    if record.failed < REPEATED_FAILURES or 2 * record.failed <= record.calls:
        return None
    why = f", last with {record.last_error}" if record.last_error else ""
    text = f"{record.provider} ({record.model}) failed {record.failed} of its last {record.calls} calls{why}."
    return Diagnosis(DiagnosisKind.MODEL, text, "check its key, quota and address (tarsy doctor --call), or name fallback_providers")


def _upkeep(signs: HealthSnapshot) -> Diagnosis | None:
    """Nothing is late in an installation that has not been there for so long."""
    since = signs.cleaned_up_at or signs.first_process_at
    if since is None or not signs.processes or signs.now - since <= LATE_CLEAN_UP:
        return None
    hours = round((signs.now - since).total_seconds() / 3600)
    return Diagnosis(
        DiagnosisKind.MAINTENANCE, f"Old data was last cleared away {hours} hours ago.", "look for retention.failed in the logs"
    )


def _backup(signs: HealthSnapshot) -> Diagnosis | None:
    """An installation whose backups are never told of has them elsewhere, or does without."""
    if signs.backed_up_at is None or signs.now - signs.backed_up_at <= LATE_BACKUP:
        return None
    hours = round((signs.now - signs.backed_up_at).total_seconds() / 3600)
    return Diagnosis(
        DiagnosisKind.MAINTENANCE, f"The last backup was made {hours} hours ago.", "see why, and tell of the next one: tarsy db backed-up"
    )
