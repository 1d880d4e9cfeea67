"""The subjects of work (sessions, questions, scores): which of their statuses go with which state of the work, and how moves are announced.

A kind of work without an entry here has no subject that people see.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.incident.briefing import with_current_alerts
from tarsy.db.rows import Row, read, session_of
from tarsy.db.run.records import read_records, read_timelines
from tarsy.db.run.status import QUESTIONS, SCORES, SESSIONS, StatusTransitions, end_followup, end_session
from tarsy.db.tables import SESSION_COLUMNS, alert_sessions, timeline_events
from tarsy.domain import live_events
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, WorkKind
from tarsy.domain.conclusion import best_analysis, citation_counts
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus, session_status_of
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.work import ChatWork, End, ScoreWork


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject(ABC):
    """The subject of one kind of work. Every writer locks its row after the row of its work."""

    kind: WorkKind
    statuses: StatusTransitions
    ready: StrEnum
    claimed: StrEnum
    parked: StrEnum
    # What people see while the worker is being stopped, if it is a status of its own.
    cancelling: StrEnum | None = None
    # The stages that are its run.
    stage_types: frozenset[StageType]
    # What a claim sets besides the status: assignments in SQL, in which the subject's row is `s`.
    also_set: tuple[str, ...] = ()

    @property
    def columns(self) -> Sequence[sa.Column[Any]]:
        """The columns that a claim returns."""
        return list(self.statuses.table.c)

    @abstractmethod
    async def prepare(self, connection: AsyncConnection, row: Row) -> object:
        """Return the value that the handler gets. At the first claim, the session of an incident is updated with the alerts that have joined it."""

    def is_new(self, row: Row) -> bool:
        """Return whether this claim is the first one, and nothing of the run is stored; False if that is not known."""
        del row
        return False

    @abstractmethod
    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        """Return the events that announce a move that is no end."""

    @abstractmethod
    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        """End the subject of a row of work, and return the events that announce it."""


class SessionSubject(Subject):
    @property
    def columns(self) -> Sequence[sa.Column[Any]]:
        return SESSION_COLUMNS

    async def prepare(self, connection: AsyncConnection, row: Row) -> AlertSession:
        session = session_of(row)
        return await with_current_alerts(connection, session) if session.incident_id is not None and self.is_new(row) else session

    def is_new(self, row: Row) -> bool:
        # A fork begins with the steps of another session.
        return row["started_at"] == row["now"] and row["fork"] is None

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        return live_events.session_status(
            row["id"], SessionStatus(row["status"]), alert_type=row["alert_type"], at=at, waiting_reason=reason
        )

    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        session_id: str = row["subject_id"]
        # Other entries of the timelines, which may be large, are not needed here.
        conclusions = await read_timelines(connection, session_id, timeline_events.c.event_type == TimelineEventType.FINAL_ANALYSIS.value)
        records = await read_records(connection, session_id, conclusions)
        analysis = best_analysis(records)
        close = SessionClose(
            status=session_status_of(ends.status),
            completed_at=row["now"],
            final_analysis=analysis,
            analysis_is_partial=analysis is not None,
            analysis_partial_reason=None if analysis is None else f"The session ended before all its stages were done: {ends.reason}",
            citations=citation_counts(records),
            error_message=ends.reason,
        )
        ended = (await connection.execute(end_session(session_id, close))).one_or_none()
        return live_events.session_completed(session_id, close, alert_type=ended.alert_type) if ended else ()


class _FollowUp(Subject):
    async def end(self, connection: AsyncConnection, row: Row, ends: End) -> Sequence[LiveEvent]:
        close = WorkClose(status=ends.status, completed_at=row["now"], error_message=ends.reason)
        ended = await connection.execute(end_followup(self.statuses, row["subject_id"], close))
        return live_events.work_completed(row["session_id"], self.kind, row["subject_id"], close) if ended.rowcount else ()


class QuestionSubject(_FollowUp):
    async def prepare(self, connection: AsyncConnection, row: Row) -> ChatWork:
        return ChatWork(await _session(connection, row["session_id"]), read(ChatUserMessage, row))

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        del at, reason  # people see every parked question as pending
        return (live_events.chat_message(read(ChatUserMessage, row)),)


class ScoreSubject(_FollowUp):
    async def prepare(self, connection: AsyncConnection, row: Row) -> ScoreWork:
        return ScoreWork(await _session(connection, row["session_id"]), read(SessionScore, row))

    def moved(self, row: Row, at: datetime, reason: str | None) -> Sequence[LiveEvent]:
        del row, at, reason  # a scoring is only announced when it has ended
        return ()


async def _session(connection: AsyncConnection, session_id: str) -> AlertSession:
    query = sa.select(*SESSION_COLUMNS).where(alert_sessions.c.id == session_id)
    return session_of((await connection.execute(query)).mappings().one())


_SUBJECTS = (
    SessionSubject(
        kind=INVESTIGATION,
        statuses=SESSIONS,
        ready=SessionStatus.PENDING,
        claimed=SessionStatus.IN_PROGRESS,
        parked=SessionStatus.WAITING,
        cancelling=SessionStatus.CANCELLING,
        stage_types=frozenset(
            {StageType.INVESTIGATION, StageType.SYNTHESIS, StageType.EXEC_SUMMARY, StageType.ACTION, StageType.CHALLENGE}
        ),
        also_set=("started_at = coalesce(s.started_at, now())",),
    ),
    # People see a parked follow-up as pending.
    QuestionSubject(
        kind=CHAT_ANSWER,
        statuses=QUESTIONS,
        ready=RunStatus.PENDING,
        claimed=RunStatus.ACTIVE,
        parked=RunStatus.PENDING,
        stage_types=frozenset({StageType.CHAT}),
    ),
    ScoreSubject(
        kind=SCORING,
        statuses=SCORES,
        ready=RunStatus.PENDING,
        claimed=RunStatus.ACTIVE,
        parked=RunStatus.PENDING,
        stage_types=frozenset({StageType.SCORING}),
    ),
)
SUBJECTS: Mapping[WorkKind, Subject] = {subject.kind: subject for subject in _SUBJECTS}
