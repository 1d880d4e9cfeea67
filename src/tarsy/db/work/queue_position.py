"""The positions of sessions in the queue, and the state of the queue, as people see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.processes import ALIVE
from tarsy.db.tables import alert_sessions, sql_list, work
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, alert_title
from tarsy.domain.approval import ApprovalState
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.llm import ErrorCode
from tarsy.domain.work import WOKEN_HEAD_START, Pause, WorkState


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The state of a session's work; the defaults are those of a session that has ended."""

    # 1 for the next to be claimed; None when it is not ready.
    queue_position: int | None = None
    # How often another worker had to continue where one was lost.
    recoveries: int = 0
    # Why it is parked, or not claimed though it is ready.
    waiting_reason: str | None = None
    # When it is tried again though nothing happened.
    waiting_until: datetime | None = None
    # Whether no model answers it for now: it is parked for that, or its last call failed and is made again.
    waiting_for_model: bool = False
    # The process whose worker has claimed it, and that worker's last heartbeat; None while no worker has.
    pod_id: str | None = None
    last_interaction_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NextSession:
    """A session that is about to be begun."""

    session_id: str
    title: str


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue as the database sees it."""

    pending: int
    running: int
    waiting: int
    oldest_pending_at: datetime | None
    # The number of sessions that each process works on.
    running_by_pod: dict[str, int]
    # The first in line, in the order in which they are claimed.
    next_sessions: tuple[NextSession, ...]


# A worker without heartbeats for so long, in a process without heartbeats either, has most probably stopped, though it is not yet certain
# (`queue.orphan_threshold`). Where workers are configured to send them less often, the heartbeats of the process count.
_SILENCE_SECONDS = 30.0
PROCESS_STOPPED = "Waiting to be taken over: the process that worked on it has stopped."
# Work that was woken, known by its rank, was put back into the queue by no worker.
# The ready sessions are numbered once for all sessions that are asked for, if any of these is ready.
_POSITIONS = sa.text(
    f"""
    SELECT CAST(w.subject_id AS text) AS id, place.number, w.recoveries, w.wake_at, w.parked_reason, w.state, w.claimed_by, w.heartbeat_at,
        CASE w.state
            WHEN '{WorkState.READY}' THEN w.handed_back_at IS NOT NULL AND w.rank > w.created_at - interval '{WOKEN_HEAD_START.days // 2} days'
            WHEN '{WorkState.CLAIMED}' THEN w.heartbeat_at < now() - :silence * interval '1 second'
                AND NOT EXISTS (SELECT FROM processes p WHERE p.id = w.claimed_by AND p.seen_at > now() - CAST(:alive AS interval))
            ELSE false
        END AS was_left,
        CASE w.state
            WHEN '{WorkState.PARKED}' THEN w.parked_by_pause IS NULL AND w.parked_by_budget IS NULL AND NOT EXISTS (
                SELECT FROM approvals a WHERE a.session_id = w.subject_id AND a.state = '{ApprovalState.PENDING}'
            )
            WHEN '{WorkState.CLAIMED}' THEN coalesce((
                SELECT l.error_code IN ({sql_list([code for code in ErrorCode if code.is_outage])}) FROM llm_interactions l
                WHERE l.session_id = w.subject_id ORDER BY l.started_at DESC LIMIT 1
            ), false)
            ELSE false
        END AS waiting_for_model,
        pause.chain_id AS pause, pause.since, pause.actor, pause.reason, pause.parks_running
    FROM work w
    LEFT JOIN (
        SELECT id, row_number() OVER (ORDER BY rank, id) AS number FROM work
        WHERE kind = :kind AND state = '{WorkState.READY}' AND EXISTS (
            SELECT FROM work o WHERE o.kind = :kind AND o.subject_id = ANY(CAST(:ids AS uuid[])) AND o.state = '{WorkState.READY}'
        )
    ) place ON place.id = w.id
    LEFT JOIN LATERAL (
        SELECT p.* FROM pauses p WHERE p.chain_id IN ('', w.chain_id) ORDER BY p.chain_id LIMIT 1
    ) pause ON true
    WHERE w.kind = :kind AND w.subject_id = ANY(CAST(:ids AS uuid[]))
    """
)
_OF_KIND = work.c.kind == INVESTIGATION
_READY = (
    sa.select(sa.func.count().label("pending"), sa.func.min(work.c.created_at).label("oldest"))
    # The state is written out, here and below, so that the partial indexes are used.
    .where(_OF_KIND, work.c.state == sa.literal_column(f"'{WorkState.READY}'"))
)
_CLAIMED = (
    sa.select(sa.func.coalesce(work.c.claimed_by, "").label("pod"), sa.func.count().label("sessions"))
    .where(_OF_KIND, work.c.state == sa.literal_column(f"'{WorkState.CLAIMED}'"))
    .group_by(sa.text("1"))
)
# As many as are read at a glance.
_SHOWN_NEXT = 3
_NEXT = (
    sa.select(
        alert_sessions.c.id, alert_sessions.c.alert_type, sa.func.left(alert_sessions.c.alert_data, TITLE_SEARCH_CHARACTERS).label("head")
    )
    .join(work, work.c.subject_id == alert_sessions.c.id)
    .where(_OF_KIND, work.c.state == sa.literal_column(f"'{WorkState.READY}'"))
    .order_by(work.c.rank, work.c.id)
    .limit(_SHOWN_NEXT)
)
_PARKED = sa.select(sa.func.count()).where(_OF_KIND, work.c.state == sa.literal_column(f"'{WorkState.PARKED}'"))


async def queue_positions(connection: AsyncConnection, session_ids: Sequence[str]) -> dict[str, QueuePosition]:
    """Return the position of each of these sessions that has work."""
    if not session_ids:
        return {}
    positions: dict[str, QueuePosition] = {}
    parameters = {"ids": session_ids, "kind": INVESTIGATION, "silence": _SILENCE_SECONDS, "alive": ALIVE}
    for row in await connection.execute(_POSITIONS, parameters):
        if row.state == WorkState.READY and row.pause is not None:
            reason = Pause(row.pause or None, row.since, row.actor, row.reason, row.parks_running).description
        else:
            reason = row.parked_reason or (PROCESS_STOPPED if row.was_left else None)
        positions[row.id] = QueuePosition(
            row.number, row.recoveries, reason, row.wake_at, row.waiting_for_model, row.claimed_by, row.heartbeat_at
        )
    return positions


async def queue_state(connection: AsyncConnection) -> QueueState:
    ready = (await connection.execute(_READY)).one()
    parked = (await connection.execute(_PARKED)).scalar_one()
    pods = {row.pod: row.sessions for row in await connection.execute(_CLAIMED)}
    first = tuple(NextSession(row.id, alert_title(row.head, row.alert_type)) for row in await connection.execute(_NEXT))
    return QueueState(ready.pending, sum(pods.values()), parked, ready.oldest, pods, first)
