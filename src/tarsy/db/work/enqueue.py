"""Adding work to the queue."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.notifications import WORK, notify
from tarsy.db.tables import work
from tarsy.domain.claim import WorkKind
from tarsy.domain.work import PRIORITY_HEAD_START, WorkState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWork:
    """Work to be done. Higher `priority` goes first; it is not claimed before `not_before`."""

    kind: WorkKind
    subject_id: str
    session_id: str | None
    chain_id: str | None
    created_at: datetime
    priority: int = 0
    not_before: datetime | None = None


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
            "not_before": one.not_before,
            "created_at": one.created_at,
        }
        for one in new
    ]
    await connection.execute(sa.insert(work), rows)
    for kind in dict.fromkeys(one.kind for one in new):
        await notify(connection, WORK, kind)
