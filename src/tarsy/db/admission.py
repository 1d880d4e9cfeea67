"""Alerts on their way in: whatever arrives while another transaction is under way is stored together in the next one.

Every submission announces itself on the channel that all processes share, so that only one transaction at a time can commit it. Under
a storm of alerts one transaction each would make every sender wait for every other one's disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction, note_each
from tarsy.db.driver import Connection, Statement, transaction
from tarsy.db.errors import QueueFullError
from tarsy.db.outbox import publish_for
from tarsy.db.rows import columns
from tarsy.db.tables import alert_sessions
from tarsy.db.turns import Turns
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.domain import announce
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

# Submissions take turns while the queue has a limit; any number that no other code locks will do.
_INTAKE_LOCK = Statement(f"SELECT pg_advisory_xact_lock({0x7A25_0001})")
# Stops at the limit, and walks an index that holds nothing but what waits.
_WAITING = Statement(
    f"""
    SELECT count(*) AS number
    FROM (SELECT FROM work WHERE kind = '{INVESTIGATION}' AND state = '{WorkState.READY}' LIMIT :limit) waiting
    """  # noqa: S608 - our own words
)
# A megabyte each at most, and seldom more than a few kilobytes.
MAX_TOGETHER = 64
# Longer than any healthy commit; a client that waits for it is told that the database is away.
STORE_SECONDS = 30.0
# Longer than the indexing of the longest alerts takes, all of them in one statement; what takes longer is ended by the server, and the
# others of its batch are stored without it.
STATEMENT_SECONDS = 5
_TIME_LIMIT = Statement(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
_JSON = ("chain_snapshot", "mcp_selection", "fork")


@dataclass(frozen=True, slots=True)
class _Submission:
    session: NewSession
    max_queue_size: int | None


class Admission:
    """Stores submissions as pending sessions and wakes the workers."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._turns = Turns(self._store, together=MAX_TOGETHER, seconds=STORE_SECONDS)

    async def admit(self, session: NewSession, *, max_queue_size: int | None) -> None:
        """Store one submission.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        if not await self._turns.take(_Submission(session, max_queue_size)):
            raise QueueFullError(max_queue_size or 0)

    async def _store(self, submissions: Sequence[_Submission]) -> Sequence[bool]:
        """Store as many as there is room for, the first first; says of each whether it was."""
        # One configuration, one limit.
        limit, wanted = submissions[0].max_queue_size, len(submissions)
        async with transaction(self._engine) as connection:
            await _TIME_LIMIT.rows(connection)
            room = wanted if limit is None else max(0, await room_for(connection, limit, wanted))
            if room:
                await _insert(connection, [submission.session for submission in submissions[:room]])
        return [place < room for place in range(wanted)]


async def room_for(connection: Connection, limit: int, wanted: int) -> int:
    """How many of `wanted` may come in. Holds the only key to the queue until the transaction ends."""
    await _INTAKE_LOCK.rows(connection)
    (waiting,) = await _WAITING.rows(connection, {"limit": limit})
    return min(limit - waiting["number"], wanted)


async def insert_sessions(connection: Connection, sessions: Sequence[NewSession]) -> None:
    """Store new sessions, all in one statement."""
    rows = [session_row(session) for session in sessions]
    values = {name: [row[name] for row in rows] for name in rows[0]}
    for name in _JSON:
        values[name] = [None if value is None else orjson.dumps(value).decode() for value in values[name]]
    await _insert_statement(tuple(values)).rows(connection, values)


@cache
def _insert_statement(names: tuple[str, ...]) -> Statement:
    kinds = {name: alert_sessions.c[name].type.compile(postgresql.dialect()) for name in names}
    values = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in kinds.items())
    return Statement(f"INSERT INTO alert_sessions ({', '.join(names)}) SELECT * FROM unnest({values})")  # noqa: S608 - names from our own tables


async def _insert(connection: Connection, sessions: Sequence[NewSession]) -> None:
    await insert_sessions(connection, sessions)
    await note_each(connection, AuditAction.ALERT_SUBMITTED, [(session.author, session.id) for session in sessions])
    await make_ready(connection, sessions)


async def make_ready(connection: Connection, sessions: Sequence[NewSession]) -> None:
    """Put stored sessions into the queue, and tell of them."""
    await enqueue(connection, *(_investigation(session) for session in sessions))
    # Last: the shared channel is every session's, and kept until the commit.
    pending = SessionStatus.PENDING
    news = [(one.id, announce.session_status(one.id, pending, alert_type=one.alert_type, at=one.created_at)) for one in sessions]
    own = [(session_id, drafts[0]) for session_id, drafts in news]
    await publish_for(connection, [*own, *((session_id, drafts[1]) for session_id, drafts in news)])


def session_row(session: NewSession) -> dict[str, Any]:
    return {**columns(session), "status": SessionStatus.PENDING.value}


def _investigation(session: NewSession) -> NewWork:
    return NewWork(
        kind=INVESTIGATION, subject_id=session.id, session_id=session.id, chain_id=session.chain_id, created_at=session.created_at
    )
