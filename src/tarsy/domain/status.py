"""The life cycles of sessions, stages, executions and timeline events, and which moves they allow."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class SessionStatus(StrEnum):
    """Where an alert session stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    # Parked: it goes on when what it waits for has happened.
    WAITING = "waiting"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return not SESSION_MOVES[self]


_SESSION_ENDS = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.TIMED_OUT, SessionStatus.CANCELLED)

SESSION_MOVES: Mapping[SessionStatus, frozenset[SessionStatus]] = {
    SessionStatus.PENDING: frozenset({SessionStatus.IN_PROGRESS, SessionStatus.WAITING, SessionStatus.CANCELLED}),
    SessionStatus.IN_PROGRESS: frozenset(
        {
            *_SESSION_ENDS,
            SessionStatus.CANCELLING,
            SessionStatus.WAITING,
            # Back to the queue: orphan recovery and the end of a shutdown's grace time, nothing else.
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
        return not RUN_MOVES[self]


_RUN_ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED)

RUN_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.ACTIVE, *_RUN_ENDS}),
    RunStatus.ACTIVE: frozenset(_RUN_ENDS),
    **dict.fromkeys(_RUN_ENDS, frozenset[RunStatus]()),
}


# A question or a scoring moves like a run, and goes back to the queue when its worker lets go of it.
FOLLOWUP_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {**RUN_MOVES, RunStatus.ACTIVE: frozenset({RunStatus.PENDING, *_RUN_ENDS})}


class TimelineStatus(StrEnum):
    """Where a timeline event stands; `interrupted` is what a crash leaves behind."""

    STREAMING = "streaming"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


Status = TypeVar("Status", bound=StrEnum)


def sources_of(target: Status, moves: Mapping[Status, frozenset[Status]]) -> tuple[Status, ...]:
    """Every status from which `moves` lead to `target`: the compare side of compare-and-set."""
    return tuple(source for source, targets in moves.items() if target in targets)


def session_status_of(run: RunStatus) -> SessionStatus:
    """The session status that a finished stage's status stands for."""
    return SessionStatus(run.value)
