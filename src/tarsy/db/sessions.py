"""Alert sessions: stored, found, asked to stop, deleted. Who works on them is the queue's business."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import signals
from tarsy.db.admission import Admission
from tarsy.db.audit import AuditAction, note
from tarsy.db.cursor import Cursor
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.leftovers import abandon_runs, best_analysis
from tarsy.db.outbox import publish
from tarsy.db.session_list import SessionFilter, SessionPage, queue_positions, read_page
from tarsy.db.session_rows import session_of
from tarsy.db.tables import agent_executions, alert_sessions, chat_user_messages, event_channels, session_scores
from tarsy.domain import announce
from tarsy.domain.claim import ClaimKind
from tarsy.domain.live import session_channel
from tarsy.domain.session import AlertSession, NewSession, SessionClose
from tarsy.domain.status import RunStatus, SessionStatus, sources_of
from tarsy.kit.clock import Clock, SystemClock

_LIVE = alert_sessions.c.deleted_at.is_(None)


class CancelAnswer(StrEnum):
    """What came of a wish to stop."""

    # It had not begun, and now never will.
    CANCELLED = "cancelled"
    # Its worker has been told.
    CANCELLING = "cancelling"
    # It had ended before.
    ALREADY_ENDED = "already_ended"


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue as the database sees it."""

    pending: int
    running: int
    oldest_pending_at: datetime | None
    # Process → sessions it works on.
    running_by_pod: dict[str, int]


class SessionRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()
        self._admission = Admission(engine)

    async def insert(self, session: NewSession, *, max_queue_size: int | None = None) -> None:
        """Store a submission as a pending session and wake a worker.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        await self._admission.admit(session, max_queue_size=max_queue_size)

    async def get(self, session_id: str) -> AlertSession:
        """Read one session.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        names = AlertSession.__dataclass_fields__
        query = sa.select(*(alert_sessions.c[name] for name in names)).where(alert_sessions.c.id == session_id, _LIVE)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        if row is None:
            raise NotFoundError("session", session_id)
        return session_of(row)

    async def require(self, session_id: str) -> None:
        """Check that a session exists, without reading it.

        Raises:
            NotFoundError: it does not, or it was deleted.
        """
        async with self._engine.connect() as connection:
            await _row_of(connection, session_id)

    async def exists(self, session_id: str) -> bool:
        try:
            await self.require(session_id)
        except NotFoundError:
            return False
        return True

    async def list(self, where: SessionFilter | None = None, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """One page of sessions, newest first.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        after = Cursor.decode(cursor) if cursor else None
        async with self._engine.connect() as connection:
            return await read_page(connection, where or SessionFilter(), limit=limit, after=after)

    async def queue_position(self, session_id: str) -> int | None:
        """1 for the session that is claimed next; None when it does not wait."""
        async with self._engine.connect() as connection:
            return (await queue_positions(connection, [session_id])).get(session_id)

    async def queue_state(self) -> QueueState:
        async with self._engine.connect() as connection:
            waiting = (await connection.execute(_WAITING)).one()
            pods = {row.pod: row.sessions for row in await connection.execute(_RUNNING)}
        return QueueState(waiting.pending, sum(pods.values()), waiting.oldest, pods)

    async def request_cancel(self, session_id: str, *, actor: str) -> CancelAnswer:
        """Stop a session, now if it waits, otherwise by telling its worker. Asking twice changes nothing.

        Raises:
            NotFoundError: there is no such session.
        """
        async with self._engine.begin() as connection:
            # A worker may claim the session between two attempts, but it cannot hand it back and claim it without end.
            for target in (SessionStatus.CANCELLED, SessionStatus.CANCELLING, SessionStatus.CANCELLED):
                if await self._move_to_cancel(connection, session_id, target, actor):
                    return CancelAnswer(target.value)
            row = await _row_of(connection, session_id)
            return CancelAnswer.CANCELLING if row.status == SessionStatus.CANCELLING else CancelAnswer.ALREADY_ENDED

    async def _move_to_cancel(self, connection: AsyncConnection, session_id: str, target: SessionStatus, actor: str) -> bool:
        # What runs is ended by its worker alone, which first closes what is open.
        ends = target is SessionStatus.CANCELLED
        sources = [SessionStatus.PENDING] if ends else sources_of(target)
        move = sa.update(alert_sessions).where(alert_sessions.c.id == session_id, _LIVE, alert_sessions.c.status.in_(sources))
        close = SessionClose(status=target, completed_at=self._clock.now(), error_message=f"Cancelled by {actor}.")
        values = _ending(session_id, close) if ends else {"status": target.value}
        returned = (alert_sessions.c.alert_type, alert_sessions.c.final_analysis)
        moved = (await connection.execute(move.values(values).returning(*returned))).one_or_none()
        if moved is None:
            return False
        await note(connection, actor=actor, action=AuditAction.SESSION_CANCELLED, session_id=session_id)
        if ends:
            kept = replace(close, final_analysis=moved.final_analysis, analysis_is_partial=moved.final_analysis is not None)
            await _close_waiting(connection, session_id, kept, moved.alert_type)
        else:
            news = announce.session_status(session_id, target, alert_type=moved.alert_type, at=close.completed_at)
            await publish(connection, news, session_id=session_id)
            await signals.notify(connection, signals.CANCEL, session_id)
        return True

    async def request_execution_cancel(self, session_id: str, execution_id: str, *, actor: str) -> CancelAnswer:
        """Stop one agent and leave the others of its stage alone.

        Raises:
            NotFoundError: the session has no such execution.
        """
        table = agent_executions.c
        of_session = (table.id == execution_id) & (table.session_id == session_id)
        open_ones = [status.value for status in RunStatus if not status.is_final]
        async with self._engine.begin() as connection:
            await _row_of(connection, session_id)
            flag = sa.update(agent_executions).where(of_session, table.status.in_(open_ones)).values(cancel_requested=True)
            if (await connection.execute(flag)).rowcount:
                details = {"execution_id": execution_id}
                await note(connection, actor=actor, action=AuditAction.EXECUTION_CANCELLED, session_id=session_id, details=details)
                await signals.notify(connection, signals.CANCEL, execution_id)
                return CancelAnswer.CANCELLING
            if (await connection.execute(sa.select(table.id).where(of_session))).one_or_none() is None:
                raise NotFoundError("execution", execution_id)
        return CancelAnswer.ALREADY_ENDED

    async def soft_delete(self, session_id: str, *, actor: str) -> None:
        """Hide a finished session; its data stay until they are purged.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        async with self._engine.begin() as connection:
            await _require_ended(connection, session_id)
            hide = sa.update(alert_sessions).where(alert_sessions.c.id == session_id).values(deleted_at=self._clock.now())
            await connection.execute(hide)
            await note(connection, actor=actor, action=AuditAction.SESSION_DELETED, session_id=session_id)

    async def purge(self, session_id: str, *, actor: str) -> None:
        """Erase a finished session and everything recorded of it, hidden or not; only the audit log remembers it.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        async with self._engine.begin() as connection:
            await _require_ended(connection, session_id, hidden_too=True)
            await note(connection, actor=actor, action=AuditAction.SESSION_PURGED, session_id=session_id)
            # In the order in which whoever still works on them locks them, so that neither waits for the other.
            for follow_ups in (chat_user_messages, session_scores):
                await connection.execute(sa.delete(follow_ups).where(follow_ups.c.session_id == session_id))
            await connection.execute(sa.delete(alert_sessions).where(alert_sessions.c.id == session_id))
            await connection.execute(sa.delete(event_channels).where(event_channels.c.name == session_channel(session_id)))


_WAITING = sa.select(sa.func.count().label("pending"), sa.func.min(alert_sessions.c.created_at).label("oldest")).where(
    alert_sessions.c.status == sa.literal_column("'pending'"), _LIVE
)
_RUNNING = (
    sa.select(sa.func.coalesce(alert_sessions.c.pod_id, "").label("pod"), sa.func.count().label("sessions"))
    .where(sa.text("status IN ('in_progress', 'cancelling')"))
    .group_by(sa.text("1"))
)


def _ending(session_id: str, close: SessionClose) -> dict[str, Any]:
    """How a session ends that waits: with the best analysis there is, should it have been worked on before."""
    analysis = best_analysis(session_id)
    return {
        "status": close.status.value,
        "completed_at": close.completed_at,
        "error_message": close.error_message,
        "final_analysis": analysis.scalar_subquery(),
        "analysis_is_partial": analysis.exists(),
    }


async def _close_waiting(connection: AsyncConnection, session_id: str, close: SessionClose, alert_type: str) -> None:
    """Close what an earlier worker left open for the next one, and tell of the end."""
    drafts = await abandon_runs(
        connection,
        ClaimKind.SESSION,
        session_id,
        status=RunStatus.CANCELLED,
        reason=close.error_message or "",
        at=close.completed_at,
    )
    drafts += announce.session_completed(session_id, close, alert_type=alert_type)
    await publish(connection, drafts, session_id=session_id)


async def _row_of(connection: AsyncConnection, session_id: str, *, hidden_too: bool = False) -> sa.Row[Any]:
    query = sa.select(alert_sessions.c.status).where(alert_sessions.c.id == session_id, *(() if hidden_too else (_LIVE,)))
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFoundError("session", session_id)
    return row


async def _require_ended(connection: AsyncConnection, session_id: str, *, hidden_too: bool = False) -> None:
    row = await _row_of(connection, session_id, hidden_too=hidden_too)
    if not SessionStatus(row.status).is_final:
        raise ConflictError(f"Session {session_id} is {row.status}: cancel it first, then delete it.")
