"""Work: what a worker can claim, the rules of each kind, and what happens when a worker releases it."""

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

# What one step of priority is worth. Older work of low priority overtakes younger work of high priority, and so never starves.
PRIORITY_HEAD_START = timedelta(minutes=10)
# Further back than any work that waits was ever asked for: what was woken goes first, among itself by priority and age.
WOKEN_HEAD_START = timedelta(days=36_500)


class WorkState(StrEnum):
    READY = "ready"
    CLAIMED = "claimed"
    # Waits for an event or a time: no claim, no worker.
    PARKED = "parked"
    DONE = "done"


class Lane(StrEnum):
    """Which workers take it. An answer should not wait behind five investigations."""

    INVESTIGATIONS = "investigations"
    FOLLOW_UPS = "follow-ups"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often work that breaks is tried, and how long it waits in between: twice as long each time."""

    max_attempts: int = 1
    first_delay: float = 1.0
    max_delay: float = 3600.0

    def delay_after(self, failures: int) -> float | None:
        """Seconds until the next attempt; None when there is none."""
        if failures >= self.max_attempts:
            return None
        return min(self.first_delay * 2 ** (failures - 1), self.max_delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRules:
    """What a handler declares of its kind of work."""

    kind: WorkKind
    lane: Lane
    # How much of it runs at once over all processes; None: as much as there are workers.
    max_concurrent: int | None = None
    # Whether it takes one of the `max_concurrent_sessions`.
    counts_as_session: bool = False
    retry: RetryPolicy = RetryPolicy()
    # How often it may stop at the same place with its worker; None: as `queue.max_recoveries` says.
    max_recoveries: int | None = None
    # Kinds that must not begin at the same time for the same session, because both number their stage.
    begins_apart_from: frozenset[WorkKind] = frozenset()
    held_by_pause: bool = True
    # Seconds from its first claim to its end; None: as long as the chain of its session allows.
    time_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Claimed(Generic[Subject]):
    """What a worker has in hand. `seconds_left` is None where nothing limits it."""

    claim: Claim
    subject: Subject
    seconds_left: float | None = None
    # Attempts that broke before this one.
    failures: int = 0
    # No worker has had it before: there is nothing stored of its run.
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class ChatWork:
    session: AlertSession
    question: ChatUserMessage


@dataclass(frozen=True, slots=True)
class ScoreWork:
    session: AlertSession
    score: SessionScore


class RunEnd(StrEnum):
    """How a run that was not stopped ended."""

    # With its noun, by its own last step.
    WRITTEN = "written"
    # It has no noun: the row of work is all there is to end.
    FINISHED = "finished"


class HeartbeatResult(StrEnum):
    """What a heartbeat found."""

    ALIVE = "alive"
    CANCEL = "cancel"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Park:
    """What work waits for, in words for people, and when it is looked at again though nothing happened."""

    reason: str
    until: datetime | None = None
    # The pause that parks it (its chain, empty for all): the end of the pause wakes it.
    pause: str | None = None
    # The budget that did not let it begin: room in that wakes it.
    budget: BudgetWait | None = None


@dataclass(frozen=True, slots=True)
class Requeue:
    """Back to the queue: another worker goes on where this one was."""

    # Its worker fell silent; `stuck` when it had not come further than the one before.
    recovered: bool = False
    stuck: bool = False
    # What it waited for has happened.
    woken: bool = False


@dataclass(frozen=True, slots=True)
class RetryLater:
    """It broke, and is tried again after a pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """It ends here, by another hand than its worker's."""

    status: RunStatus
    reason: str


Release = Requeue | RetryLater | Park | End


def effective_release(release: Release, *, cancel_requested: bool, wake_requested: bool) -> Release:
    """What becomes of work whose worker lets go of it, given what was asked for meanwhile."""
    if cancel_requested:
        return release if isinstance(release, End) and release.status is RunStatus.CANCELLED else End(RunStatus.CANCELLED, "cancelled")
    if isinstance(release, Park) and wake_requested:
        return Requeue(woken=True)
    return release


def orphan_release(*, stuck_before: int, moved_on: bool, limit: int) -> Release:
    """What becomes of work whose worker fell silent.

    Only a worker that died in the same step as the one before counts: a session that moves on in between is not what kills them.
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
    """Work that was taken back from a worker that fell silent; `given_up` when it was taken back too often."""

    claim: Claim
    given_up: bool


@dataclass(frozen=True, slots=True)
class Pause:
    # None: everything.
    chain_id: str | None
    since: datetime
    actor: str
    reason: str
    # What ran was parked too.
    parks_running: bool

    @property
    def description(self) -> str:
        """Why something waits, in words for people."""
        return f"paused by {self.actor}{f': {self.reason}' if self.reason else ''}"
