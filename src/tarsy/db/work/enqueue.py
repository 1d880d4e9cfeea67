"""Adding work to the queue."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.notifications import WORK, notify
from tarsy.db.tables import Timestamp, work
from tarsy.domain.claim import WorkKind
from tarsy.domain.work import PRIORITY_HEAD_START, WorkState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWork:
    """Work to be done. Higher `priority` goes first.

    It is not claimed before `not_before`, or, without that, before the `delay` is over, by the clock of the database.
    """

    kind: WorkKind
    subject_id: str
    session_id: str | None
    chain_id: str | None
    created_at: datetime
    priority: int = 0
    not_before: datetime | None = None
    delay: timedelta | None = None


_INSERT = sa.insert(work).values(
    not_before=sa.func.coalesce(sa.bindparam("earliest", type_=Timestamp), sa.func.now() + sa.bindparam("delay", type_=sa.Interval))
)


async def enqueue(connection: AsyncConnection, *new: NewWork) -> None:
    """Make work ready, and wake a worker for each kind of it when the transaction commits."""
    rows = [
        {
            "id": str(uuid4()),
            "kind": one.kind,
            "subject_id": one.subject_id,
            "session_id": one.session_id,
            "chain_id": one.chain_id,
            "state": WorkState.READY.value,
            "priority": one.priority,
            "rank": one.created_at - one.priority * PRIORITY_HEAD_START,
            "earliest": one.not_before,
            "delay": one.delay,
            "created_at": one.created_at,
        }
        for one in new
    ]
    await connection.execute(_INSERT, rows)
    for kind in dict.fromkeys(one.kind for one in new):
        await notify(connection, WORK, kind)
