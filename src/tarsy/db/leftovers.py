"""What a run leaves open when it stops before its end: closed here, in the transaction that takes the work away from it."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.tables import agent_executions, stages, timeline_events
from tarsy.domain import announce
from tarsy.domain.claim import ClaimKind
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live import LiveEvent
from tarsy.domain.stage import StageClose
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineClose, TimelineEventType

# What a chat or a scoring left behind is told apart from the investigation by its stage.
_STAGE_TYPES = {
    ClaimKind.SESSION: ("investigation", "synthesis", "exec_summary", "action"),
    ClaimKind.CHAT: ("chat",),
    ClaimKind.SCORE: ("scoring",),
}
_UNFINISHED = ("pending", "active")


async def interrupt_events(connection: AsyncConnection, kind: ClaimKind, session_id: str, at: datetime) -> list[LiveEvent]:
    """Close what still streams, in the order in which it was opened."""
    still_open = (
        (timeline_events.c.session_id == session_id)
        # Written out, so that the index of open events serves.
        & (timeline_events.c.status == sa.literal_column("'streaming'"))
        & timeline_events.c.stage_id.in_(_stages_of(kind, session_id))
    )
    close = sa.update(timeline_events).where(still_open).values(status=TimelineStatus.INTERRUPTED.value, completed_at=at)
    rows = (await connection.execute(close.returning(timeline_events.c.id, timeline_events.c.content, timeline_events.c.position))).all()
    return [
        announce.timeline_completed(
            session_id, TimelineClose(event_id=row.id, status=TimelineStatus.INTERRUPTED, content=row.content, completed_at=at)
        )
        for row in sorted(rows, key=lambda row: row.position)
    ]


async def abandon_runs(
    connection: AsyncConnection, kind: ClaimKind, session_id: str, *, status: RunStatus, reason: str, at: datetime
) -> list[LiveEvent]:
    """Close the executions and stages that nobody will continue."""
    values = {"status": status.value, "completed_at": at, "error_message": reason}
    of_kind = agent_executions.c.stage_id.in_(_stages_of(kind, session_id)) & agent_executions.c.status.in_(_UNFINISHED)
    ended = await connection.execute(sa.update(agent_executions).where(of_kind).values(values).returning(agent_executions.c.id))
    open_stage = stages.c.id.in_(_stages_of(kind, session_id)) & stages.c.status.in_(_UNFINISHED)
    closed = await connection.execute(sa.update(stages).where(open_stage).values(values).returning(stages.c.id))
    change = [ExecutionChange(execution_id=id_, at=at, status=status, error_message=reason) for id_ in ended.scalars()]
    close = [StageClose(stage_id=id_, status=status, completed_at=at, error_message=reason) for id_ in closed.scalars()]
    return [
        *(announce.execution_status(session_id, one) for one in change),
        *(announce.stage_completed(session_id, one) for one in close),
    ]


def best_analysis(session_id: str) -> sa.Select[str]:
    """The newest conclusion that any agent of the session reached."""
    concluded = (
        (timeline_events.c.session_id == session_id)
        & (timeline_events.c.event_type == TimelineEventType.FINAL_ANALYSIS)
        & (timeline_events.c.status == TimelineStatus.COMPLETED)
    )
    return sa.select(timeline_events.c.content).where(concluded).order_by(timeline_events.c.position.desc()).limit(1)


def _stages_of(kind: ClaimKind, session_id: str) -> sa.Select[tuple[str]]:
    return sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type.in_(_STAGE_TYPES[kind]))
