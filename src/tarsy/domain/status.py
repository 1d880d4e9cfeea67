"""The statuses of sessions, stages, executions and timeline events, and the transitions between them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class SessionStatus(StrEnum):
    """Where an alert session stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    # Parked until the event or time it waits for.
    WAITING = "waiting"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return not SESSION_TRANSITIONS[self]


_SESSION_ENDS = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.TIMED_OUT, SessionStatus.CANCELLED)

SESSION_TRANSITIONS: Mapping[SessionStatus, frozenset[SessionStatus]] = {
    SessionStatus.PENDING: frozenset({SessionStatus.IN_PROGRESS, SessionStatus.WAITING, SessionStatus.CANCELLED}),
    SessionStatus.IN_PROGRESS: frozenset(
        {
            *_SESSION_ENDS,
            SessionStatus.CANCELLING,
            SessionStatus.WAITING,
            # Requeued, only by orphan recovery and at the end of a shutdown's grace time.
            SessionStatus.PENDING,
        }
    ),
    SessionStatus.WAITING: frozenset({SessionStatus.PENDING, SessionStatus.CANCELLED, SessionStatus.TIMED_OUT}),
    SessionStatus.CANCELLING: frozenset({SessionStatus.CANCELLED}),
    **dict.fromkeys(_SESSION_ENDS, frozenset[SessionStatus]()),
}


class RunStatus(StrEnum):
    """Where a stage or an agent execution stands."""

    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return not RUN_TRANSITIONS[self]


_RUN_ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED)

RUN_TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.ACTIVE, *_RUN_ENDS}),
    RunStatus.ACTIVE: frozenset(_RUN_ENDS),
    **dict.fromkeys(_RUN_ENDS, frozenset[RunStatus]()),
}


# A chat question or a scoring moves like a run, and back to the queue when its worker releases it.
FOLLOWUP_TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    **RUN_TRANSITIONS,
    RunStatus.ACTIVE: frozenset({RunStatus.PENDING, *_RUN_ENDS}),
}


class TimelineStatus(StrEnum):
    """Where a timeline event stands; `interrupted` is what a crash leaves behind."""

    STREAMING = "streaming"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


Status = TypeVar("Status", bound=StrEnum)


def sources_of(target: Status, transitions: Mapping[Status, frozenset[Status]]) -> tuple[Status, ...]:
    """Return every status from which `transitions` lead to `target`: the compare side of compare-and-set."""
    return tuple(source for source, targets in transitions.items() if target in targets)


def session_status_of(run: RunStatus) -> SessionStatus:
    """Return the session status with the same name as the final status of a stage."""
    return SessionStatus(run.value)
