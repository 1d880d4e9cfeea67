"""Scores of finished sessions: asked for, and read. Who judges is the queue's business."""

from dataclasses import asdict, fields
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.driver import Connection, Statement
from tarsy.db.followups import one_at_a_time, require_follow_up
from tarsy.db.session_rows import score_of
from tarsy.db.tables import session_scores
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.domain.claim import SCORING
from tarsy.domain.followup import SessionScore
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import Clock, SystemClock

_COLUMNS = [field.name for field in fields(SessionScore)]
_INSERT = Statement(f"INSERT INTO session_scores ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})")  # noqa: S608 - our own words


async def request_score(connection: Connection, score: SessionScore, *, chain_id: str) -> None:
    """Store a judgement that is to be made, and the work that it is."""
    await _INSERT.rows(connection, asdict(score))
    wanted = NewWork(kind=SCORING, subject_id=score.id, session_id=score.session_id, chain_id=chain_id, created_at=score.created_at)
    await enqueue(connection, wanted)


class ScoreRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()

    async def request(self, session_id: str, *, requested_by: str) -> SessionScore:
        """Ask for a judgement and wake a worker.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: the session still runs, its chain has no scoring, or a judgement is under way.
        """
        score = SessionScore(
            id=str(uuid4()),
            session_id=session_id,
            status=RunStatus.PENDING,
            requested_by=requested_by,
            created_at=self._clock.now(),
        )
        with one_at_a_time("uq_session_scores_open", "This session is being scored already."):
            async with self._engine.begin() as connection:
                chain_id = await require_follow_up(connection, session_id, "scoring")
                await request_score(connection, score, chain_id=chain_id)
                await note(connection, actor=requested_by, action=AuditAction.SCORE_REQUESTED, session_id=session_id)
        return score

    async def latest(self, session_id: str) -> SessionScore | None:
        """The newest score of a session, finished or not."""
        query = sa.select(session_scores).where(session_scores.c.session_id == session_id)
        newest = query.order_by(session_scores.c.created_at.desc(), session_scores.c.id.desc()).limit(1)
        async with self._engine.connect() as connection:
            row = (await connection.execute(newest)).mappings().one_or_none()
        return score_of(row) if row else None
