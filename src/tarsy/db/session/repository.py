"""Alert sessions: stored, found, asked to stop, deleted. Who works on them is the queue's business."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import notifications
from tarsy.db.audit import AuditAction, note, note_each
from tarsy.db.cursor import Cursor
from tarsy.db.driver import RawConnection, Statement, borrowed, columns_of, transaction
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.retry import cause_of
from tarsy.db.rows import session_of
from tarsy.db.run.journal import Deliver
from tarsy.db.run.trace import RUN_COLUMNS, SessionRun, run_of
from tarsy.db.session.admission import Admission
from tarsy.db.session.listing import CANCELLED_BY, SessionFilter, SessionPage, count_by_status, read_page
from tarsy.db.session.sorting import NEWEST_FIRST, SessionOrder
from tarsy.db.tables import agent_executions, alert_sessions, chat_user_messages, event_channels, events, session_scores, work
from tarsy.db.work.parking import CancelAnswer, cancel
from tarsy.db.work.queue_position import STANDINGS, QueueState, Standing, queue_state, standing_of, standing_values, standings
from tarsy.db.work.subjects import UNREAD
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import session_channel
from tarsy.domain.session import AlertSession, NewSession
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.kit.clock import Clock, SystemClock

# A page of the list.
CANCELLED_AT_ONCE = 200
_LIVE = alert_sessions.c.deleted_at.is_(None)
_GET = Statement(
    f"SELECT {columns_of(alert_sessions, 's', without=UNREAD)} FROM alert_sessions s WHERE s.id = :id AND s.deleted_at IS NULL"  # noqa: S608 - our own words
)
# The session's columns come last: of two that have one name, the last is read. A session has one piece of work at the most, which PostgreSQL
# has to be told: by its guess of ten, the plan that it could keep looks so dear that it makes a new one for each request.
_DETAIL = Statement(
    f"""
    SELECT standing.*, {columns_of(alert_sessions, "s", without=UNREAD)}, {CANCELLED_BY} AS cancelled_by, {RUN_COLUMNS}
    FROM alert_sessions s LEFT JOIN ({STANDINGS} LIMIT 1) standing ON true
    WHERE s.id = :id AND s.deleted_at IS NULL
    """  # noqa: S608 - our own words
)
_EXISTS = Statement("SELECT FROM alert_sessions WHERE id = :id AND deleted_at IS NULL")
_ANY = Statement("SELECT FROM alert_sessions LIMIT 1")


@dataclass(frozen=True, slots=True)
class StoredDetail:
    """A session, all that it has run, and where it stands in the queue."""

    session: AlertSession
    run: SessionRun
    standing: Standing
    # The person who asked it to stop.
    cancelled_by: str | None


class SessionRepository:
    """`deliver` hands what was committed to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, clock: Clock | None = None, deliver: Deliver | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()
        self._deliver = deliver
        self._admission = Admission(engine)

    async def insert(self, session: NewSession, *, max_queue_size: int | None = None) -> None:
        """Store a submission as a pending session and wake a worker.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        try:
            await self._admission.admit(session, max_queue_size=max_queue_size)
        except DBAPIError as error:
            # Ids are made up, but for requests that can be sent again: this one was, and the other was faster.
            if not isinstance(cause_of(error), asyncpg.UniqueViolationError) or await self.submitted(session.id) is None:
                raise

    async def submitted(self, session_id: str) -> tuple[str, str] | None:
        """The type and the text of a session's alert, hidden or not; None if there is no such session."""
        table = alert_sessions.c
        query = sa.select(table.alert_type, table.alert_data).where(table.id == session_id)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
        return (row.alert_type, row.alert_data) if row else None

    async def any(self) -> bool:
        """Whether there has been a session, hidden or not."""
        async with borrowed(self._engine) as connection:
            return await _ANY.row(connection, {}) is not None

    async def get(self, session_id: str) -> AlertSession:
        """Read one session.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        async with borrowed(self._engine) as connection:
            row = await _GET.row(connection, {"id": session_id})
        if row is None:
            raise NotFoundError("session", session_id)
        return session_of(row)

    async def detail(self, session_id: str) -> StoredDetail:
        """Read one session with all that it has run.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        async with borrowed(self._engine) as connection:
            row = await _DETAIL.row(connection, {"id": session_id, **standing_values([session_id])})
        if row is None:
            raise NotFoundError("session", session_id)
        return StoredDetail(session_of(row), run_of(row), standing_of(row), row["cancelled_by"])

    async def require(self, session_id: str) -> None:
        """Check that a session exists, without reading it.

        Raises:
            NotFoundError: it does not, or it was deleted.
        """
        if not await self.exists(session_id):
            raise NotFoundError("session", session_id)

    async def exists(self, session_id: str) -> bool:
        async with borrowed(self._engine) as connection:
            return await _EXISTS.row(connection, {"id": session_id}) is not None

    async def list(
        self,
        where: SessionFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        order: SessionOrder = NEWEST_FIRST,
        offset: int = 0,
    ) -> SessionPage:
        """One page of sessions, newest first unless `order` says otherwise. The next one is found by its cursor, or by an offset.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        after = Cursor.decode(cursor) if cursor else None
        async with self._reading(where) as connection:
            return await read_page(connection, where or SessionFilter(), limit=limit, after=after, order=order, offset=offset)

    async def counts(self, where: SessionFilter | None = None) -> Mapping[SessionStatus, int]:
        """How many sessions fit, by status."""
        async with self._reading(where) as connection:
            return await count_by_status(connection, where or SessionFilter())

    def _reading(self, where: SessionFilter | None) -> AbstractAsyncContextManager[RawConnection]:
        return transaction(self._engine) if where and where.text else borrowed(self._engine)

    async def standing(self, session_id: str) -> Standing:
        """Where a session stands in the queue."""
        async with borrowed(self._engine) as connection:
            return (await standings(connection, [session_id])).get(session_id, Standing())

    async def queue_state(self) -> QueueState:
        async with self._engine.connect() as connection:
            return await queue_state(connection)

    async def request_cancel(self, session_id: str, *, actor: str) -> CancelAnswer:
        """Stop a session, now if it waits, otherwise by telling its worker. Asking twice changes nothing.

        Raises:
            NotFoundError: there is no such session.
        """
        async with self._engine.begin() as connection:
            before = await _row_of(connection, session_id)
            answer, told = await cancel(connection, INVESTIGATION, session_id, reason=f"Cancelled by {actor}.")
            if answer is not CancelAnswer.ALREADY_ENDED and before.status != SessionStatus.CANCELLING:
                await note(connection, actor=actor, action=AuditAction.SESSION_CANCELLED, session_id=session_id)
        if self._deliver:
            self._deliver(told)
        return answer

    async def cancel_matching(self, where: SessionFilter, *, actor: str) -> int:
        """Stop every session that fits and has not ended; says how many. Those that wait the longest go last, so that none begins meanwhile."""
        stopped, after = 0, None
        open_ones = tuple(status for status in where.statuses or SessionStatus if not status.is_final)
        while open_ones:
            page = await self.list(replace(where, statuses=open_ones), limit=CANCELLED_AT_ONCE, cursor=after)
            for session in page.sessions:
                stopped += await self.request_cancel(session.id, actor=actor) is not CancelAnswer.ALREADY_ENDED
            after = page.next_cursor
            if after is None:
                break
        return stopped

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
                await notifications.notify(connection, notifications.CANCEL, execution_id)
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

    async def soft_delete_many(self, session_ids: Sequence[str], *, actor: str) -> int:
        """Hide those of these sessions that have ended; says how many."""
        table = alert_sessions.c
        ended = table.status.in_([status.value for status in SessionStatus if status.is_final])
        hide = sa.update(alert_sessions).where(table.id.in_(session_ids), _LIVE, ended).values(deleted_at=self._clock.now())
        async with self._engine.begin() as connection:
            hidden = (await connection.execute(hide.returning(table.id))).scalars().all()
            if hidden:
                await note_each(connection, AuditAction.SESSION_DELETED, [(actor, session_id) for session_id in hidden])
        return len(hidden)

    async def purge(self, session_id: str, *, actor: str) -> None:
        """Erase a finished session and everything recorded of it, hidden or not; only the audit log remembers it.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        async with self._engine.begin() as connection:
            await _require_ended(connection, session_id, hidden_too=True)
            await note(connection, actor=actor, action=AuditAction.SESSION_PURGED, session_id=session_id)
            # In the order in which a worker that still writes locks them, so that neither waits for the other.
            for table in (work, chat_user_messages, session_scores):
                await connection.execute(sa.delete(table).where(table.c.session_id == session_id))
            await connection.execute(sa.delete(alert_sessions).where(alert_sessions.c.id == session_id))
            await connection.execute(sa.delete(events).where(events.c.session_id == session_id))
            await connection.execute(sa.delete(event_channels).where(event_channels.c.name == session_channel(session_id)))


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
