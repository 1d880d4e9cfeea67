"""Work on its way into the table."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db import signals
from tarsy.db.tables import work
from tarsy.domain.claim import WorkKind
from tarsy.domain.work import PRIORITY_HEAD_START, WorkState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWork:
    """Something to be done. Higher `priority` goes first; nothing is claimed before `not_before`."""

    kind: WorkKind
    subject_id: str
    session_id: str | None
    chain_id: str | None
    created_at: datetime
    priority: int = 0
    not_before: datetime | None = None


async def enqueue(connection: AsyncConnection, *wanted: NewWork) -> None:
    """Make work ready and wake a worker for each kind of it, when the transaction commits."""
    await connection.execute(sa.insert(work), [_row(one) for one in wanted])
    for kind in sorted({one.kind for one in wanted}):
        await signals.notify(connection, signals.WORK, kind)


def _row(wanted: NewWork) -> dict[str, object]:
    return {
        "id": str(uuid4()),
        "kind": wanted.kind,
        "subject_id": wanted.subject_id,
        "session_id": wanted.session_id,
        "chain_id": wanted.chain_id,
        "state": WorkState.READY.value,
        "priority": wanted.priority,
        "rank": wanted.created_at - wanted.priority * PRIORITY_HEAD_START,
        "not_before": wanted.not_before,
        "created_at": wanted.created_at,
    }
