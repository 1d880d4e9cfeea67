"""What a run leaves open when it stops before its end: closed here, in the transaction that takes the work away from it."""

from collections.abc import Collection
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.driver import Connection, Statement
from tarsy.db.status_moves import EXECUTIONS, STAGES
from tarsy.db.tables import agent_executions, stages, timeline_events
from tarsy.domain import live_events
from tarsy.domain.conclusion import StageConclusions, best_analysis
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineClose, TimelineEventType

# A run is told apart from the other runs of its session by the types of its stages.
StageTypes = Collection[StageType]


# The events of a run that still stream.
OPEN_EVENTS = f"""
    session_id = :session_id AND status = '{TimelineStatus.STREAMING}'
        AND stage_id IN (SELECT s.id FROM stages s WHERE s.session_id = :session_id AND s.stage_type = ANY(CAST(:types AS text[])))"""  # noqa: S608 - our own words
_INTERRUPT = Statement(
    f"""
    UPDATE timeline_events SET status = '{TimelineStatus.INTERRUPTED}', completed_at = :at
    WHERE {OPEN_EVENTS}
    RETURNING id::text AS id, content, position
    """  # noqa: S608 - our own words
)


async def interrupt_events(connection: Connection, session_id: str, types: StageTypes, at: datetime) -> list[LiveEvent]:
    """Close what still streams, in the order in which it was opened."""
    rows = await _INTERRUPT.rows(connection, {"session_id": session_id, "types": sorted(types), "at": at})
    return [
        live_events.timeline_completed(
            session_id, TimelineClose(event_id=row["id"], status=TimelineStatus.INTERRUPTED, content=row["content"], completed_at=at)
        )
        for row in sorted(rows, key=lambda row: row["position"])
    ]


async def abandon_runs(
    connection: AsyncConnection, session_id: str, types: StageTypes, *, status: RunStatus, reason: str, at: datetime
) -> list[LiveEvent]:
    """Close the executions and stages that no worker will continue."""
    of_run = _stages_of(session_id, types)
    executions = EXECUTIONS.move(status, completed_at=at, error_message=reason).where(agent_executions.c.stage_id.in_(of_run))
    ended = await connection.execute(executions.returning(agent_executions.c.id))
    open_stages = STAGES.move(status, completed_at=at, error_message=reason).where(stages.c.id.in_(of_run))
    closed = await connection.execute(open_stages.returning(stages.c.id))
    change = [ExecutionChange(execution_id=id_, at=at, status=status, error_message=reason) for id_ in ended.scalars()]
    close = [StageClose(stage_id=id_, status=status, completed_at=at, error_message=reason) for id_ in closed.scalars()]
    return [
        *(live_events.execution_status(session_id, one) for one in change),
        *(live_events.stage_completed(session_id, one) for one in close),
    ]


async def stored_analysis(connection: AsyncConnection, session_id: str) -> str | None:
    """The best analysis that the stored stages of a session hold."""
    concluded = (
        (timeline_events.c.session_id == session_id)
        & (timeline_events.c.event_type == TimelineEventType.FINAL_ANALYSIS)
        & (timeline_events.c.status == TimelineStatus.COMPLETED)
        & (agent_executions.c.status == RunStatus.COMPLETED)
        & agent_executions.c.parent_execution_id.is_(None)
    )
    told = (
        sa.select(stages.c.stage_index, stages.c.stage_type, agent_executions.c.agent_index, agent_executions.c.agent_name)
        .add_columns(timeline_events.c.content)
        .join(agent_executions, agent_executions.c.stage_id == stages.c.id)
        .join(timeline_events, timeline_events.c.execution_id == agent_executions.c.id)
        .where(concluded)
        .order_by(stages.c.stage_index, agent_executions.c.agent_index, timeline_events.c.sequence_number)
    )
    # An agent's last conclusion stands.
    last = {(row.stage_index, row.agent_index): row for row in await connection.execute(told)}
    by_stage = [list(rows) for _, rows in groupby(last.values(), key=lambda row: row.stage_index)]
    return best_analysis(
        [
            StageConclusions(StageType(rows[0].stage_type), tuple((row.agent_name, text) for row in rows if (text := row.content.strip())))
            for rows in by_stage
        ]
    )


def _stages_of(session_id: str, types: StageTypes) -> sa.Select[tuple[str]]:
    return sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type.in_(sorted(types)))
