"""The nouns that work is about: which of their statuses go with which state of the work, and what is told of their moves.

A kind of work without an entry here has no noun that people see.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.driver import RawConnection, Row, Statement, columns_of
from tarsy.db.incident.briefing import briefed
from tarsy.db.rows import chat_message_of, score_of, session_of, storable
from tarsy.db.run.status import QUESTIONS, SCORES, SESSIONS, StatusDoor, stored_analysis
from tarsy.db.tables import alert_sessions
from tarsy.domain import live_events
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, WorkKind
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus, session_status_of
from tarsy.domain.step import WorkClose
from tarsy.domain.work import ChatWork, End, ScoreWork


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject(ABC):
    """One kind's noun. Its row is locked after the row of its work, by every writer."""

    kind: WorkKind
    door: StatusDoor
    ready: StrEnum
    claimed: StrEnum
    parked: StrEnum
    # What people see while a worker is told to stop, if it is a status of its own.
    cancelling: StrEnum | None = None
    # The stages that are its run.
    stage_types: frozenset[StageType]
    # What else a claim sets.
    at_claim: str = ""

    @abstractmethod
    async def read(self, connection: RawConnection, row: Row) -> object:
        """What the handler is given."""

    def begins(self, row: Row) -> bool:
        """Whether this claim is its first; where it is not known, it is not."""
        del row
        return False

    @abstractmethod
    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        """What is told of a move that is no end."""

    @abstractmethod
    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        """Write and tell the end of the noun that the row of work names."""


class SessionSubject(Subject):
    async def read(self, connection: RawConnection, row: Row) -> AlertSession:
        session = session_of(row)
        return await briefed(connection, session) if session.incident_id is not None and self.begins(row) else session

    def begins(self, row: Row) -> bool:
        # A fork begins with the steps of another session.
        return row["started_at"] == row["now"] and row["fork"] is None

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        return live_events.session_status(
            str(row["id"]), SessionStatus(row["status"]), alert_type=row["alert_type"], at=at, waiting_reason=reason
        )

    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        analysis = await stored_analysis(connection, row["subject_id"])
        close = SessionClose(
            status=session_status_of(ends.status),
            completed_at=row["now"],
            final_analysis=analysis,
            analysis_is_partial=analysis is not None,
            analysis_partial_reason=None
            if analysis is None
            else storable(f"The session ended before all its stages were done: {ends.reason}"),
            error_message=storable(ends.reason),
        )
        ended = self.door.move(
            close.status,
            completed_at=close.completed_at,
            final_analysis=analysis,
            analysis_is_partial=close.analysis_is_partial,
            analysis_partial_reason=close.analysis_partial_reason,
            error_message=close.error_message,
        ).where(alert_sessions.c.id == row["subject_id"])
        alert_type = (await connection.execute(ended.returning(alert_sessions.c.alert_type))).scalar_one_or_none()
        return live_events.session_completed(row["subject_id"], close, alert_type=alert_type) if alert_type is not None else ()


class _FollowUp(Subject):
    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        close = WorkClose(status=ends.status, completed_at=row["now"], error_message=storable(ends.reason))
        ended = self.door.move(close.status, completed_at=close.completed_at, error_message=close.error_message)
        found = await connection.execute(ended.where(self.door.table.c.id == row["subject_id"]))
        return (live_events.work_completed(row["session_id"], self.kind, row["subject_id"], close),) if found.rowcount else ()


class QuestionSubject(_FollowUp):
    async def read(self, connection: RawConnection, row: Row) -> ChatWork:
        return ChatWork(await _session(connection, row["session_id"]), chat_message_of(row))

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        del at, reason  # a question that waits looks the same whatever it waits for
        return (live_events.chat_message(chat_message_of(row)),)


class ScoreSubject(_FollowUp):
    async def read(self, connection: RawConnection, row: Row) -> ScoreWork:
        return ScoreWork(await _session(connection, row["session_id"]), score_of(row))

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        del row, at, reason  # a scoring is told of when it has ended
        return ()


# What only the database searches.
UNREAD = frozenset({"search", "verdict_search"})
_SESSION = Statement(f"SELECT {columns_of(alert_sessions, 's', without=UNREAD)} FROM alert_sessions s WHERE s.id = :id")  # noqa: S608 - our own words


async def _session(connection: RawConnection, session_id: str) -> AlertSession:
    (row,) = await _SESSION.rows(connection, {"id": session_id})
    return session_of(row)


_SUBJECTS = (
    SessionSubject(
        kind=INVESTIGATION,
        door=SESSIONS,
        ready=SessionStatus.PENDING,
        claimed=SessionStatus.IN_PROGRESS,
        parked=SessionStatus.WAITING,
        cancelling=SessionStatus.CANCELLING,
        stage_types=frozenset(
            {StageType.INVESTIGATION, StageType.SYNTHESIS, StageType.EXEC_SUMMARY, StageType.ACTION, StageType.CHALLENGE}
        ),
        at_claim=", started_at = coalesce(n.started_at, now())",
    ),
    # A follow-up that is parked looks like one that waits for its turn.
    QuestionSubject(
        kind=CHAT_ANSWER,
        door=QUESTIONS,
        ready=RunStatus.PENDING,
        claimed=RunStatus.ACTIVE,
        parked=RunStatus.PENDING,
        stage_types=frozenset({StageType.CHAT}),
    ),
    ScoreSubject(
        kind=SCORING,
        door=SCORES,
        ready=RunStatus.PENDING,
        claimed=RunStatus.ACTIVE,
        parked=RunStatus.PENDING,
        stage_types=frozenset({StageType.SCORING}),
    ),
)
SUBJECTS: Mapping[WorkKind, Subject] = {subject.kind: subject for subject in _SUBJECTS}
