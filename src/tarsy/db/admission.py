"""Alerts on their way in: whatever arrives while another transaction is under way is stored together in the next one.

Every submission announces itself on the channel that all processes share, so that only one transaction at a time can commit it. Under
a storm of alerts one transaction each would make every sender wait for every other one's disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, note_each
from tarsy.db.errors import QueueFullError
from tarsy.db.outbox import publish_for
from tarsy.db.retry import is_transient, took_too_long
from tarsy.db.tables import alert_sessions, work
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.domain import announce
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

# Submissions take turns while the queue has a limit; any number that no other code locks will do.
_INTAKE_LOCK = sa.select(sa.func.pg_advisory_xact_lock(0x7A25_0001))
# A megabyte each at most, and seldom more than a few kilobytes.
MAX_TOGETHER = 64
# Longer than any healthy commit; a client that waits for it is told that the database is away.
STORE_SECONDS = 30.0
# Longer than the indexing of the longest alerts takes, all of them in one statement; what takes longer is ended by the server, and the
# others of its batch are stored without it.
STATEMENT_SECONDS = 5
_TIME_LIMIT = sa.text(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")


@dataclass(slots=True, eq=False)
class _Submission:
    """A submission whose sender waits for an answer."""

    session: NewSession
    max_queue_size: int | None
    admitted: bool = False
    error: Exception | None = None


class Admission:
    """Stores submissions as pending sessions and wakes the workers."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._waiting: list[_Submission] = []
        self._turn = anyio.Lock()

    async def admit(self, session: NewSession, *, max_queue_size: int | None) -> None:
        """Store one submission.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        submission = _Submission(session, max_queue_size)
        self._waiting.append(submission)
        # The submission that has the turn acts for all that have come so far, and must not be stopped when its own sender gives up waiting.
        with anyio.CancelScope(shield=True):
            async with self._turn:
                if not submission.admitted and submission.error is None:
                    await self._admit_all()
        if submission.error:
            raise submission.error

    async def _admit_all(self) -> None:
        limit = self._waiting[0].max_queue_size
        together = [submission for submission in self._waiting if submission.max_queue_size == limit][:MAX_TOGETHER]
        error = await self._try_to_store(together, limit)
        if error is not None and is_transient(error) and not took_too_long(error):
            for submission in together:
                submission.error = error
        elif error is not None:
            # One of them is to blame; the others shall not suffer for it.
            for submission in together:
                submission.error = await self._try_to_store([submission], limit) or submission.error
        self._waiting = [submission for submission in self._waiting if submission not in together]

    async def _try_to_store(self, submissions: Sequence[_Submission], limit: int | None) -> Exception | None:
        try:
            await self._store(submissions, limit)
        except Exception as error:  # noqa: BLE001 - raised again in those whom it concerns
            return error
        return None

    async def _store(self, submissions: Sequence[_Submission], limit: int | None) -> None:
        with anyio.fail_after(STORE_SECONDS):
            async with self._engine.begin() as connection:
                await connection.execute(_TIME_LIMIT)
                room = len(submissions) if limit is None else await room_for(connection, limit, len(submissions))
                if room:
                    await _insert(connection, [submission.session for submission in submissions[:room]])
        for submission in submissions[:room]:
            submission.admitted = True
        for submission in submissions[room:]:
            submission.error = QueueFullError(limit or 0)


async def room_for(connection: AsyncConnection, limit: int, wanted: int) -> int:
    """How many of `wanted` may come in. Holds the only key to the queue until the transaction ends.

    The count stops at the limit and walks an index that holds nothing but what waits.
    """
    await connection.execute(_INTAKE_LOCK)
    ready = (work.c.kind == INVESTIGATION) & (work.c.state == sa.literal_column(f"'{WorkState.READY}'"))
    waiting = sa.select(work.c.id).where(ready).limit(limit).subquery()
    count = (await connection.execute(sa.select(sa.func.count()).select_from(waiting))).scalar_one()
    return min(limit - count, wanted)


async def _insert(connection: AsyncConnection, sessions: Sequence[NewSession]) -> None:
    await connection.execute(sa.insert(alert_sessions), [session_row(session) for session in sessions])
    await note_each(connection, AuditAction.ALERT_SUBMITTED, [(session.author, session.id) for session in sessions])
    await enqueue(connection, *(_investigation(session) for session in sessions))
    # Last: the shared channel is every session's, and kept until the commit.
    pending = SessionStatus.PENDING
    news = [(one.id, announce.session_status(one.id, pending, alert_type=one.alert_type, at=one.created_at)) for one in sessions]
    own = [(session_id, drafts[0]) for session_id, drafts in news]
    await publish_for(connection, [*own, *((session_id, drafts[1]) for session_id, drafts in news)])


def session_row(session: NewSession) -> dict[str, Any]:
    return {
        "id": session.id,
        "incident_id": session.incident_id,
        "alert_data": session.alert_data,
        "alert_type": session.alert_type,
        "chain_id": session.chain_id,
        "chain_snapshot": session.chain_snapshot,
        "author": session.author,
        "nonce": session.nonce,
        "runbook_url": session.runbook_url,
        "runbook": session.runbook,
        "mcp_selection": session.mcp_selection,
        "created_at": session.created_at,
        "status": SessionStatus.PENDING.value,
    }


def _investigation(session: NewSession) -> NewWork:
    return NewWork(
        kind=INVESTIGATION, subject_id=session.id, session_id=session.id, chain_id=session.chain_id, created_at=session.created_at
    )
