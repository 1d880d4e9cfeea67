"""Alert sessions: stored, found, cancelled, deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import asyncpg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db import notifications
from tarsy.db.audit import AuditAction, add_audit_entries, add_audit_entry, request_origin
from tarsy.db.connection import autocommit, driver_error, snapshot
from tarsy.db.cursor import Cursor
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Publisher
from tarsy.db.rows import session_of
from tarsy.db.run.actions import read_actions
from tarsy.db.run.trace import SessionRun, read_run
from tarsy.db.session.admission import Admission
from tarsy.db.session.listing import CANCELLED_BY, SessionFilter, SessionPage, count_by_status, read_page
from tarsy.db.session.sorting import NEWEST_FIRST, SessionOrder
from tarsy.db.tables import (
    SESSION_COLUMNS,
    agent_executions,
    alert_sessions,
    chat_user_messages,
    event_channels,
    events,
    session_scores,
    work,
)
from tarsy.db.work.parking import CancelAnswer, cancel, wake
from tarsy.db.work.queue_position import QueuePosition, QueueState, queue_positions, queue_state
from tarsy.domain.action import Action
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import session_channel
from tarsy.domain.session import AlertSession, NewSession
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.work import WorkState

# A page of the list.
CANCELLED_AT_ONCE = 200
_LIVE = alert_sessions.c.deleted_at.is_(None)


@dataclass(frozen=True, slots=True)
class StoredDetail:
    """A session with its whole run and its position in the queue."""

    session: AlertSession
    run: SessionRun
    position: QueuePosition
    # The person who cancelled it.
    cancelled_by: str | None
    actions: tuple[Action, ...] = ()


class SessionRepository:
    def __init__(self, publisher: Publisher, admission: Admission | None = None) -> None:
        self._publisher = publisher
        self._engine = publisher.engine
        self._autocommit = autocommit(self._engine)
        self._admission = admission or Admission(publisher)

    async def insert(self, session: NewSession) -> None:
        """Store a submission as a pending session and wake a worker.

        Raises:
            QueueFullError: the queue is full.
        """
        try:
            await self._admission.admit(session)
        except DBAPIError as error:
            # Ids are random, except for requests with an idempotency key: this one was sent twice, and the other was faster.
            if not isinstance(driver_error(error), asyncpg.UniqueViolationError) or await self.submitted(session.id) is None:
                raise

    async def submitted(self, session_id: str) -> tuple[str, str, SessionStatus] | None:
        """Return the type and the text of a session's alert, and its status, hidden or not; None if there is no such session."""
        table = alert_sessions.c
        query = sa.select(table.alert_type, table.alert_data, table.status).where(table.id == session_id)
        async with self._autocommit.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
        return (row.alert_type, row.alert_data, SessionStatus(row.status)) if row else None

    async def any(self) -> bool:
        """Return whether there is any session, hidden or not."""
        async with self._autocommit.connect() as connection:
            return (await connection.execute(sa.select(alert_sessions.c.id).limit(1))).first() is not None

    async def get(self, session_id: str) -> AlertSession:
        """Return one session.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        query = sa.select(*SESSION_COLUMNS).where(alert_sessions.c.id == session_id, _LIVE)
        async with self._autocommit.connect() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise NotFoundError("session", session_id)
        return session_of(row)

    async def detail(self, session_id: str) -> StoredDetail:
        """Return one session with its whole run, all read at the same moment.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        session = alert_sessions.alias("s")
        columns = (session.c[column.name] for column in SESSION_COLUMNS)
        query = sa.select(*columns, sa.text(f"{CANCELLED_BY} AS cancelled_by"))
        async with snapshot(self._engine).connect() as connection:
            found = await connection.execute(query.where(session.c.id == session_id, session.c.deleted_at.is_(None)))
            row = found.mappings().first()
            if row is None:
                raise NotFoundError("session", session_id)
            run = await read_run(connection, session_id)
            positions = await queue_positions(connection, [session_id])
            acts = any(stage.stage_type is StageType.ACTION for stage in run.stages)
            actions = await read_actions(connection, session_id) if acts else ()
        return StoredDetail(session_of(row), run, positions.get(session_id, QueuePosition()), row["cancelled_by"], actions)

    async def actions(self, session_id: str) -> tuple[Action, ...]:
        """Return what the session changed, or would have, in the order of its calls."""
        async with snapshot(self._engine).connect() as connection:
            return await read_actions(connection, session_id)

    async def require(self, session_id: str) -> None:
        """Check that a session exists, without reading it.

        Raises:
            NotFoundError: it does not, or it was deleted.
        """
        if not await self.exists(session_id):
            raise NotFoundError("session", session_id)

    async def exists(self, session_id: str) -> bool:
        query = sa.select(alert_sessions.c.id).where(alert_sessions.c.id == session_id, _LIVE)
        async with self._autocommit.connect() as connection:
            return (await connection.execute(query)).first() is not None

    async def list(
        self,
        where: SessionFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        order: SessionOrder = NEWEST_FIRST,
        offset: int = 0,
    ) -> SessionPage:
        """Return one page of sessions, newest first unless `order` is given. The next one is found by its cursor, or by an offset.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        after = Cursor.decode(cursor) if cursor else None
        async with self._engine.connect() as connection:
            return await read_page(connection, where or SessionFilter(), limit=limit, after=after, order=order, offset=offset)

    async def counts(self, where: SessionFilter | None = None) -> Mapping[SessionStatus, int]:
        """Return how many sessions match, by status."""
        async with self._engine.connect() as connection:
            return await count_by_status(connection, where or SessionFilter())

    async def queue_state(self) -> QueueState:
        async with self._autocommit.connect() as connection:
            return await queue_state(connection)

    async def request_cancel(self, session_id: str, *, actor: str) -> CancelAnswer:
        """Stop a session, at once if it waits, otherwise by notifying its worker. Asking twice changes nothing.

        Raises:
            NotFoundError: there is no such session.
        """
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            before = await _status(connection, session_id)
            answer = await cancel(transaction, INVESTIGATION, session_id, reason=f"Cancelled by {actor}.")
            if answer is not CancelAnswer.ALREADY_ENDED and before is not SessionStatus.CANCELLING:
                await add_audit_entry(connection, actor=actor, action=AuditAction.SESSION_CANCELLED, session_id=session_id)
        return answer

    async def cancel_matching(self, where: SessionFilter, *, actor: str) -> int:
        """Stop every session that matches and has not ended, and return how many.

        Those that have waited longest, which are begun first, are stopped last: so none of the others begins meanwhile.
        """
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
        """Stop one agent, also one that waits, and leave the others of its stage alone.

        Raises:
            NotFoundError: the session has no such execution.
        """
        table = agent_executions.c
        of_session = (table.id == execution_id) & (table.session_id == session_id)
        open_ones = [status.value for status in RunStatus if not status.is_final]
        waiting = sa.select(work.c.kind, work.c.subject_id).where(work.c.session_id == session_id, work.c.state != WorkState.DONE.value)
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            await _status(connection, session_id)
            status = await connection.scalar(sa.select(table.status).where(of_session))
            if status is None:
                raise NotFoundError("execution", execution_id)
            if status in open_ones:
                # What its agent waits for may take hours: a worker ends it now. The work is locked before the agent, as workers do.
                for kind, subject_id in (await connection.execute(waiting)).all():
                    await wake(transaction, kind, subject_id)
            flag = sa.update(agent_executions).where(of_session, table.status.in_(open_ones)).values(cancel_requested=True)
            is_open = bool((await connection.execute(flag)).rowcount)
            if is_open:
                details = {"execution_id": execution_id}
                await add_audit_entry(
                    connection, actor=actor, action=AuditAction.EXECUTION_CANCELLED, session_id=session_id, details=details
                )
                await notifications.notify(connection, notifications.CANCEL, execution_id)
        return CancelAnswer.CANCELLING if is_open else CancelAnswer.ALREADY_ENDED

    async def soft_delete(self, session_id: str, *, actor: str) -> None:
        """Hide a finished session; its data stay until they are purged.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        async with self._engine.begin() as connection:
            await _require_ended(connection, session_id)
            hide = sa.update(alert_sessions).where(alert_sessions.c.id == session_id).values(deleted_at=datetime.now(UTC))
            await connection.execute(hide)
            await add_audit_entry(connection, actor=actor, action=AuditAction.SESSION_DELETED, session_id=session_id)

    async def soft_delete_many(self, session_ids: Sequence[str], *, actor: str) -> int:
        """Hide those of these sessions that have ended, and return how many."""
        table = alert_sessions.c
        ended = table.status.in_([status.value for status in SessionStatus if status.is_final])
        hide = sa.update(alert_sessions).where(table.id.in_(session_ids), _LIVE, ended).values(deleted_at=datetime.now(UTC))
        async with self._engine.begin() as connection:
            hidden, origin = (await connection.execute(hide.returning(table.id))).scalars().all(), request_origin.get()
            if hidden:
                await add_audit_entries(connection, AuditAction.SESSION_DELETED, [(actor, session_id, origin) for session_id in hidden])
        return len(hidden)

    async def purge(self, session_id: str, *, actor: str) -> None:
        """Erase a finished session, hidden or not, and everything stored about it except the audit log.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: it has not ended.
        """
        async with self._engine.begin() as connection:
            await _require_ended(connection, session_id, hidden_too=True)
            await add_audit_entry(connection, actor=actor, action=AuditAction.SESSION_PURGED, session_id=session_id)
            # In the order in which a worker that still writes locks them, so that there is no deadlock.
            for table in (work, chat_user_messages, session_scores):
                await connection.execute(sa.delete(table).where(table.c.session_id == session_id))
            await connection.execute(sa.delete(alert_sessions).where(alert_sessions.c.id == session_id))
            await connection.execute(sa.delete(events).where(events.c.session_id == session_id))
            await connection.execute(sa.delete(event_channels).where(event_channels.c.name == session_channel(session_id)))


async def _status(connection: AsyncConnection, session_id: str, *, hidden_too: bool = False) -> SessionStatus:
    query = sa.select(alert_sessions.c.status).where(alert_sessions.c.id == session_id, *(() if hidden_too else (_LIVE,)))
    status = await connection.scalar(query)
    if status is None:
        raise NotFoundError("session", session_id)
    return SessionStatus(status)


async def _require_ended(connection: AsyncConnection, session_id: str, *, hidden_too: bool = False) -> None:
    status = await _status(connection, session_id, hidden_too=hidden_too)
    if not status.is_final:
        raise ConflictError(f"Session {session_id} is {status}: cancel it first, then delete it.")
