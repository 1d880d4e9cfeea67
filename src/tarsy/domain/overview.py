"""The whole installation in a few numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

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
