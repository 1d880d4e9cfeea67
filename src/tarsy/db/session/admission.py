"""Storing new sessions: those that arrive while others are being stored go together into the next transaction.

Every new session is announced on the shared channel of live events, whose row stays locked until the commit (`db/outbox.py`): only one
transaction at a time can store a session. With a transaction for each alert of a storm, every sender would wait for the disk of every other one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, add_audit_entries, request_origin
from tarsy.db.batcher import Batcher
from tarsy.db.errors import QueueFullError
from tarsy.db.outbox import Publisher
from tarsy.db.rows import columns
from tarsy.db.tables import alert_sessions
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.domain import live_events
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

# A megabyte each at most, and seldom more than a few kilobytes.
MAX_BATCH = 64
# While PostgreSQL stores one batch, this process parses and masks the alerts of the next.
CONCURRENT_BATCHES = 2
# Fewer sessions are not worth a transaction of their own beside one that is running.
MIN_BATCH = 8
# Longer than any healthy commit; a client that waits for it gets the error that the database is away.
STORE_SECONDS = 30.0
# Longer than the indexing of the longest alerts takes, all of them in one statement; a statement that takes longer is ended by the server,
# and the sessions of its batch are stored one by one.
STATEMENT_SECONDS = 5

# Submissions take turns while the queue has a limit; any number that no other code locks will do.
_QUEUE_LOCK = sa.text(f"SELECT pg_advisory_xact_lock({0x7A25_0001})")
# Stops at the limit, and reads an index that holds only work that waits.
_WAITING = sa.text(
    f"""
    SELECT count(*) FROM (SELECT FROM work WHERE kind = '{INVESTIGATION}' AND state = '{WorkState.READY}' LIMIT :limit) waiting
    """
)


@dataclass(frozen=True, slots=True)
class NewInvestigation:
    """A session to be stored and claimed in the order of its priority, after the delay."""

    session: NewSession
    priority: int = 0
    delay: timedelta | None = None
    # The address of the client that submitted it.
    origin: str | None = None


class Admission:
    """Admits sessions to a queue in which at most `max_queue_size` wait: stores submissions as pending sessions and wakes the workers.

    `on_submitted` is called with each session that was stored.
    """

    def __init__(
        self,
        publisher: Publisher,
        *,
        max_queue_size: int | None = None,
        on_submitted: Callable[[NewSession], None] = lambda _session: None,
    ) -> None:
        self._publisher = publisher
        self._max_queue_size = max_queue_size
        self._on_submitted = on_submitted
        self._batcher = Batcher(
            self._store, max_batch=MAX_BATCH, seconds=STORE_SECONDS, concurrency=CONCURRENT_BATCHES, min_batch=MIN_BATCH
        )

    async def admit(self, session: NewSession) -> None:
        """Store one submission.

        Raises:
            QueueFullError: the queue is full.
        """
        if not await self._batcher.submit(NewInvestigation(session, origin=request_origin.get())):
            raise QueueFullError(self._max_queue_size or 0)

    async def lock_room(self, connection: AsyncConnection, wanted: int) -> int:
        """Return how many of `wanted` sessions the queue takes. If it has a limit, other submissions wait until the transaction ends."""
        if self._max_queue_size is None or not wanted:
            return wanted
        await connection.execute(_QUEUE_LOCK)
        waiting = (await connection.execute(_WAITING, {"limit": self._max_queue_size})).scalar_one()
        return max(0, min(self._max_queue_size - waiting, wanted))

    async def require_room(self, connection: AsyncConnection) -> None:
        """Check that the queue takes one more session.

        Raises:
            QueueFullError: it does not.
        """
        if not await self.lock_room(connection, 1):
            raise QueueFullError(self._max_queue_size or 0)

    def report_submitted(self, admitted: Sequence[NewInvestigation]) -> None:
        """Report the sessions that a transaction has stored. Callers of `store_investigations` call it after their commit."""
        for new in admitted:
            self._on_submitted(new.session)

    async def _store(self, submissions: Sequence[NewInvestigation]) -> Sequence[bool]:
        """Store as many sessions as there is room for, the first first; return for each whether it was stored."""
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            await connection.execute(sa.text(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'"))
            room = await self.lock_room(connection, len(submissions))
            await transaction.publish_for(await store_investigations(connection, submissions[:room]))
        self.report_submitted(submissions[:room])
        return [place < room for place in range(len(submissions))]


async def store_investigations(connection: AsyncConnection, new: Sequence[NewInvestigation]) -> list[tuple[str, LiveEvent]]:
    """Store sessions and put them into the queue; return the events that announce them, to be published last."""
    if not new:
        return []
    await insert_sessions(connection, [one.session for one in new])
    submitted = [(one.session.author, one.session.id, one.origin) for one in new]
    await add_audit_entries(connection, AuditAction.ALERT_SUBMITTED, submitted)
    return await enqueue_investigations(connection, new)


async def insert_sessions(connection: AsyncConnection, sessions: Sequence[NewSession]) -> None:
    # By their ids, so that of two transactions with the same idempotency keys neither waits for the other.
    rows = [{**columns(session), "status": SessionStatus.PENDING.value} for session in sorted(sessions, key=lambda one: one.id)]
    await connection.execute(sa.insert(alert_sessions), rows)


async def enqueue_investigations(connection: AsyncConnection, new: Sequence[NewInvestigation]) -> list[tuple[str, LiveEvent]]:
    """Put stored sessions into the queue; return the events that announce them, for the channels of each before the shared one."""
    work = [
        NewWork(
            kind=INVESTIGATION,
            subject_id=one.session.id,
            session_id=one.session.id,
            chain_id=one.session.chain_id,
            created_at=one.session.created_at,
            priority=one.priority,
            delay=one.delay,
        )
        for one in new
    ]
    await enqueue(connection, *work)
    events = [
        (session.id, live_events.session_status(session.id, SessionStatus.PENDING, alert_type=session.alert_type, at=session.created_at))
        for session in (one.session for one in new)
    ]
    return [*((session_id, own) for session_id, (own, _) in events), *((session_id, shared) for session_id, (_, shared) in events)]
