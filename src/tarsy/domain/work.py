"""Work: the rows that workers claim, the rules of each kind, and what happens when a worker releases a row."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.period_budget import BudgetWait
from tarsy.domain.session import AlertSession
from tarsy.domain.status import RunStatus

Subject = TypeVar("Subject")

# One step of priority counts as this much age, so that old work of low priority is not starved by new work of high priority.
PRIORITY_HEAD_START = timedelta(minutes=10)
# More than the age of any work: work that was woken runs first, ordered by priority and age.
WOKEN_HEAD_START = timedelta(days=36_500)


class WorkState(StrEnum):
    READY = "ready"
    CLAIMED = "claimed"
    # Waits for an event or a time, without a claim.
    PARKED = "parked"
    DONE = "done"


class Lane(StrEnum):
    """The workers that run it: chat answers and notifications should not wait behind investigations."""

    INVESTIGATIONS = "investigations"
    FOLLOW_UPS = "follow-ups"
    NOTIFICATIONS = "notifications"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often failed work is tried, and the seconds between attempts, which double each time."""

    max_attempts: int = 1
    first_delay: float = 1.0
    max_delay: float = 3600.0

    def delay_after(self, failures: int) -> float | None:
        """Return the seconds until the next attempt; None if there is none."""
        if failures >= self.max_attempts:
            return None
        return min(self.first_delay * 2 ** (failures - 1), self.max_delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRules:
    """The rules that a handler declares for its kind of work."""

    kind: WorkKind
    lane: Lane
    # The most that run at once in all processes; None: as many as there are workers.
    max_concurrent: int | None = None
    # Whether it counts against `max_concurrent_sessions`.
    counts_as_session: bool = False
    # How many workers may die in the same step; None: `queue.max_recoveries`.
    max_recoveries: int | None = None
    # Kinds that must not begin at the same time for the same session, because both number their stage.
    begins_apart_from: frozenset[WorkKind] = frozenset()
    held_by_pause: bool = True


@dataclass(frozen=True, slots=True)
class Claimed(Generic[Subject]):
    """Claimed work with its subject: the session, chat question or score. `seconds_left`: None without a limit."""

    claim: Claim
    subject: Subject
    seconds_left: float | None = None
    # Failed attempts before this one.
    failures: int = 0
    # Claimed for the first time: nothing of its run is stored.
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class ChatWork:
    session: AlertSession
    question: ChatUserMessage


@dataclass(frozen=True, slots=True)
class ScoreWork:
    session: AlertSession
    score: SessionScore


class HeartbeatResult(StrEnum):
    """What a worker learns from sending a heartbeat."""

    ALIVE = "alive"
    CANCEL = "cancel"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Park:
    """Park the work: `reason` is for people, and after `seconds` it is woken if nothing else wakes it.

    A duration, because the database's clock decides.
    """

    reason: str
    seconds: float | None = None
    # The paused chain, empty for all: the work is woken when the pause ends.
    pause: str | None = None
    # The budget without room for it: the work is woken when there is room.
    budget: BudgetWait | None = None


@dataclass(frozen=True, slots=True)
class Requeue:
    """Put the work back into the queue, for another worker to resume."""

    # Its worker stopped sending heartbeats; `stuck`: without progress since the last recovery.
    recovered: bool = False
    stuck: bool = False
    # The event or time it waited for has come.
    woken: bool = False


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Retry the work after a delay."""

    seconds: float
    # Whether it has failed; a delay that was asked for is no failure.
    is_failure: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """End the work without a last step of its worker."""

    status: RunStatus
    reason: str


Release = Requeue | RetryLater | Park | End


def effective_release(release: Release, *, cancel_requested: bool, wake_requested: bool) -> Release:
    """Return the release to perform: a request to cancel or to wake the work that arrived meanwhile takes precedence."""
    if cancel_requested:
        return release if isinstance(release, End) and release.status is RunStatus.CANCELLED else End(RunStatus.CANCELLED, "cancelled")
    if isinstance(release, Park) and wake_requested:
        return Requeue(woken=True)
    return release


def orphan_release(*, stuck_before: int, moved_on: bool, limit: int) -> Release:
    """Decide what happens to work whose worker stopped sending heartbeats.

    Only workers that died in the same step count: work that makes progress in between is not what kills them.
    """
    if moved_on:
        return Requeue(recovered=True)
    if stuck_before >= limit:
        return End(RunStatus.FAILED, poison_reason(limit))
    return Requeue(recovered=True, stuck=True)


def poison_reason(limit: int) -> str:
    return (
        f"given up after {limit} recoveries: each time, the worker that ran it died or fell silent in the same step. "
        "The session itself is the likely cause (memory, a tool that hangs the process)."
    )


@dataclass(frozen=True, slots=True)
class Recovered:
    """Work that was recovered from a worker without heartbeats; `given_up`: it was recovered too often, and ended."""

    claim: Claim
    given_up: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """A person's request to claim no more work of a chain, or of any chain."""

    # None: all chains.
    chain_id: str | None
    since: datetime
    actor: str
    reason: str
    # Running sessions were parked too.
    parks_running: bool

    @property
    def description(self) -> str:
        """Describe for people why work waits."""
        return f"paused by {self.actor}{f': {self.reason}' if self.reason else ''}"
