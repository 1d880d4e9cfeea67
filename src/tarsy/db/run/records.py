"""The stages of a session with their executions and timelines, read over a connection of the caller."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.rows import read
from tarsy.db.tables import agent_executions, stages, timeline_events
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import Stage
from tarsy.domain.timeline import TimelineEvent


async def read_timelines(
    connection: AsyncConnection, session_id: str, *conditions: sa.ColumnElement[bool]
) -> Mapping[str, Sequence[TimelineEvent]]:
    """Return the timeline events of a session by execution, in their order; with `conditions`, only those that meet them."""
    query = _of_session(timeline_events, session_id, timeline_events.c.sequence_number, timeline_events.c.id)
    events: dict[str, list[TimelineEvent]] = defaultdict(list)
    for row in (await connection.execute(query.where(*conditions))).mappings():
        events[row["execution_id"]].append(read(TimelineEvent, row))
    return events


async def read_records(connection: AsyncConnection, session_id: str, events: Mapping[str, Sequence[TimelineEvent]]) -> list[StageRecord]:
    """Return the stages of a session with their executions; `events` are the timelines by execution."""
    found = (await connection.execute(_of_session(stages, session_id, stages.c.stage_index))).mappings().all()
    executions = (await connection.execute(_of_session(agent_executions, session_id, agent_executions.c.agent_index))).mappings()
    # By the execution that dispatched them, or else by their stage.
    below: dict[str, list[AgentExecution]] = defaultdict(list)
    for row in executions:
        below[row["parent_execution_id"] or row["stage_id"]].append(read(AgentExecution, row))

    def records(above: str) -> tuple[ExecutionRecord, ...]:
        return tuple(ExecutionRecord(one, tuple(events.get(one.id, ())), records(one.id)) for one in below.get(above, ()))

    return [StageRecord(read(Stage, row), records(row["id"])) for row in found]


def _of_session(table: sa.Table, session_id: str, *order: sa.Column[object]) -> sa.Select[tuple[object]]:
    return sa.select(table).where(table.c.session_id == session_id).order_by(*order)
