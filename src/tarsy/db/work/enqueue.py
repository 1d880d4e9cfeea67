"""Work on its way into the table."""

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import orjson

from tarsy.db.driver import Connection, Statement
from tarsy.db.notifications import WORK
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


_COLUMNS = "id, kind, subject_id, session_id, chain_id, state, priority, rank, not_before, created_at"
# Makes the rows of `wanted` ready.
ENQUEUING = f"ready AS (INSERT INTO work ({_COLUMNS}) SELECT {_COLUMNS} FROM wanted)"  # noqa: S608 - our own words
_ENQUEUE = Statement(
    f"""
    WITH wanted AS (SELECT * FROM jsonb_populate_recordset(NULL::work, CAST(:rows AS jsonb))), {ENQUEUING}
    SELECT pg_notify(:notification, kind) FROM (SELECT DISTINCT kind FROM wanted) kinds
    """  # noqa: S608 - our own words
)


async def enqueue(connection: Connection, *wanted: NewWork) -> None:
    """Make work ready and wake a worker for each kind of it, when the transaction commits."""
    await _ENQUEUE.rows(connection, {"rows": orjson.dumps([_row(one) for one in wanted]).decode(), "notification": WORK})


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
