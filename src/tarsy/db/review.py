"""Reviews of sessions, the triage of sessions and incidents, and the figures of reviews."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.rows import columns, read
from tarsy.db.tables import alert_sessions, comments, incidents, session_reviews, sql_list, triage
from tarsy.db.usage import WEEKS
from tarsy.domain.review import (
    Accuracy,
    Comment,
    ReviewFigures,
    SessionReview,
    Subject,
    SubjectKind,
    Triage,
    WeekOfReviews,
    WeekOfVerdictCounts,
)
from tarsy.domain.stage import StageType
from tarsy.domain.status import SessionStatus

_ACKNOWLEDGED = {SubjectKind.SESSION: AuditAction.SESSION_ACKNOWLEDGED, SubjectKind.INCIDENT: AuditAction.INCIDENT_ACKNOWLEDGED}
_ASSIGNED = {SubjectKind.SESSION: AuditAction.SESSION_ASSIGNED, SubjectKind.INCIDENT: AuditAction.INCIDENT_ASSIGNED}
_COMMENTED = {SubjectKind.SESSION: AuditAction.SESSION_COMMENTED, SubjectKind.INCIDENT: AuditAction.INCIDENT_COMMENTED}

_ENDED = f"""
    s.completed_at >= (date_trunc('week', CAST(:last AS timestamp)) - interval '{WEEKS - 1} weeks') AT TIME ZONE 'UTC'
    AND s.completed_at < (CAST(:last AS timestamp) + interval '1 day') AT TIME ZONE 'UTC'
    AND s.verdict_outcome IS NOT NULL AND s.deleted_at IS NULL AND s.fork IS NULL"""
_WEEK = "CAST(date_trunc('week', s.completed_at AT TIME ZONE 'UTC') AS date)"
_VERDICTS = sa.text(
    f"""
    SELECT CAST(monday AS date) AS first_day, coalesce(ended.verdicts, 0) AS verdicts
    FROM generate_series(
        date_trunc('week', CAST(:last AS timestamp)) - interval '{WEEKS - 1} weeks', CAST(:last AS timestamp), interval '1 week'
    ) AS monday
    LEFT JOIN (SELECT {_WEEK} AS first_day, count(*) AS verdicts FROM alert_sessions s WHERE {_ENDED} GROUP BY 1) ended
        ON ended.first_day = CAST(monday AS date)
    ORDER BY monday
    """
)
# The model is the one that wrote the analysis. In a group, all columns but its own are null.
_REVIEWED = sa.text(
    f"""
    SELECT {_WEEK} AS first_day, s.chain_id AS by_chain, used.model AS by_model, s.alert_type AS by_alert_type,
        s.verdict_confidence AS by_confidence,
        count(*) AS reviewed, count(*) FILTER (WHERE r.useful) AS useful, count(*) FILTER (WHERE r.accuracy = '{Accuracy.ACCURATE}') AS accurate,
        count(*) FILTER (WHERE r.accuracy = '{Accuracy.PARTLY}') AS partly, count(*) FILTER (WHERE r.accuracy = '{Accuracy.WRONG}') AS wrong
    FROM session_reviews r JOIN alert_sessions s ON s.id = r.session_id
    CROSS JOIN LATERAL (
        SELECT e.llm_provider || ' / ' || e.model_name AS model FROM agent_executions e JOIN stages t ON t.id = e.stage_id
        WHERE e.session_id = s.id AND e.parent_execution_id IS NULL
            AND t.stage_type IN ({sql_list(kind for kind in StageType if kind.concludes)})
        ORDER BY t.stage_index DESC, e.agent_index LIMIT 1
    ) used
    WHERE {_ENDED}
    GROUP BY GROUPING SETS ((1), (1, s.chain_id), (1, used.model), (1, s.alert_type), (1, s.verdict_confidence))
    ORDER BY 1, 2, 3, 4, 5
    """
)
_GROUPS = ("by_chain", "by_model", "by_alert_type", "by_confidence")


class ReviewRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def review(
        self,
        session_id: str,
        *,
        reviewer: str,
        useful: bool,
        accuracy: Accuracy | None = None,
        actual_cause: str | None = None,
        action_taken: str | None = None,
    ) -> SessionReview:
        """Store the review of a session, or change it; what is None stays as it is.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        query = sa.select(alert_sessions.c.status).where(alert_sessions.c.id == session_id, alert_sessions.c.deleted_at.is_(None))
        given = {"useful": useful, "accuracy": accuracy, "actual_cause": actual_cause, "action_taken": action_taken}
        changed = {name: value for name, value in given.items() if value is not None}
        signed = {"reviewer": reviewer, "reviewed_at": datetime.now(UTC)}
        row = insert(session_reviews).values(session_id=session_id, **changed, **signed)
        stored = row.on_conflict_do_update(index_elements=["session_id"], set_={**changed, **signed}).returning(session_reviews)
        async with self._engine.begin() as connection:
            status = await connection.scalar(query.with_for_update(read=True))
            if status is None:
                raise NotFoundError("session", session_id)
            if not SessionStatus(status).is_final:
                raise ConflictError(f"Session {session_id} is {status}: review it after it has ended.")
            review = read(SessionReview, (await connection.execute(stored)).mappings().one())
            await add_audit_entry(connection, actor=reviewer, action=AuditAction.SESSION_REVIEWED, session_id=session_id, details=changed)
        return review

    async def of_session(self, session_id: str) -> SessionReview | None:
        query = sa.select(session_reviews).where(session_reviews.c.session_id == session_id)
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return read(SessionReview, row) if row else None

    async def triage_of(self, subject: Subject) -> Triage:
        column = f"{subject.kind}_id"
        taken = sa.select(triage).where(triage.c[column] == subject.id)
        written = sa.select(comments).where(comments.c[column] == subject.id).order_by(comments.c.created_at, comments.c.id)
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(taken)).mappings().one_or_none()
            found = tuple(read(Comment, one) for one in (await connection.execute(written)).mappings())
        return read(Triage, row or {}, comments=found)

    async def change_triage(self, subject: Subject, *, actor: str, acknowledged: bool | None = None, assignee: str | None = None) -> None:
        """Acknowledge a session or an incident, or assign it to a person; what is None stays as it is. The assignee "" is nobody.

        Raises:
            NotFoundError: there is no such session or incident.
        """
        changed: dict[str, Any] = {}
        if acknowledged is not None:
            changed |= {"acknowledged_by": actor if acknowledged else None, "acknowledged_at": datetime.now(UTC) if acknowledged else None}
        if assignee is not None:
            changed["assignee"] = assignee or None
        if not changed:
            return
        column = f"{subject.kind}_id"
        row = insert(triage).values({column: subject.id, **changed})
        async with self._engine.begin() as connection:
            await _require(connection, subject)
            await connection.execute(row.on_conflict_do_update(index_elements=[column], set_=changed))
            if acknowledged is not None:
                await _audit(connection, subject, actor, _ACKNOWLEDGED, {"acknowledged": acknowledged})
            if assignee is not None:
                await _audit(connection, subject, actor, _ASSIGNED, {"assignee": assignee})

    async def comment(self, subject: Subject, text: str, *, author: str) -> Comment:
        """Add a comment.

        Raises:
            NotFoundError: there is no such session or incident.
        """
        comment = Comment(id=str(uuid4()), author=author, text=text, created_at=datetime.now(UTC))
        async with self._engine.begin() as connection:
            await _require(connection, subject)
            await connection.execute(sa.insert(comments).values({**columns(comment), f"{subject.kind}_id": subject.id}))
            await _audit(connection, subject, author, _COMMENTED, {"comment_id": comment.id})
        return comment

    async def figures(self, last: date) -> ReviewFigures:
        """Return the reviews of sessions that ended with a verdict in the weeks up to the last day. Forks are not counted."""
        async with autocommit(self._engine).connect() as connection:
            weeks = (await connection.execute(_VERDICTS, {"last": last})).mappings().all()
            rows = (await connection.execute(_REVIEWED, {"last": last})).mappings().all()
        total = tuple(read(WeekOfReviews, row, name="") for row in rows if all(row[group] is None for group in _GROUPS))
        grouped = {group: tuple(read(WeekOfReviews, row, name=row[group]) for row in rows if row[group] is not None) for group in _GROUPS}
        return ReviewFigures(weeks=tuple(read(WeekOfVerdictCounts, row) for row in weeks), total=total, **grouped)


async def _require(connection: AsyncConnection, subject: Subject) -> None:
    """Check that a session or incident exists, and lock it against deletion."""
    table = incidents if subject.kind is SubjectKind.INCIDENT else alert_sessions
    query = sa.select(table.c.id).where(table.c.id == subject.id).with_for_update(read=True, key_share=True)
    if subject.kind is SubjectKind.SESSION:
        query = query.where(alert_sessions.c.deleted_at.is_(None))
    if (await connection.execute(query)).first() is None:
        raise NotFoundError(subject.kind, subject.id)


async def _audit(
    connection: AsyncConnection, subject: Subject, actor: str, actions: Mapping[SubjectKind, AuditAction], details: Mapping[str, Any]
) -> None:
    is_session = subject.kind is SubjectKind.SESSION
    await add_audit_entry(
        connection,
        actor=actor,
        action=actions[subject.kind],
        session_id=subject.id if is_session else None,
        details=details if is_session else {"incident_id": subject.id, **details},
    )
