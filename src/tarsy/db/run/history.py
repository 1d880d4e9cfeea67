"""The stored run of a session, as the next stage or question reads it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import snapshot
from tarsy.db.retry import retrying
from tarsy.db.rows import read
from tarsy.db.session.followups import ChatRepository
from tarsy.db.tables import agent_executions, stages, timeline_events
from tarsy.domain.execution import AgentExecution
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import Stage
from tarsy.domain.timeline import TimelineEvent


class SessionHistory:
    """Stages, executions, timelines and questions of a session. Reading waits for a database that is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = snapshot(engine)

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """Return the stages of a session with their executions, without timelines."""

        async def attempt() -> Sequence[StageRecord]:
            async with self._engine.connect() as connection:
                return await read_records(connection, session_id, {})

        return await retrying(attempt)

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        """Return the stages of a session with their executions and the timelines of these."""
        query = _of_session(timeline_events, session_id, timeline_events.c.sequence_number, timeline_events.c.id)

        async def attempt() -> Sequence[StageRecord]:
            events: dict[str, list[TimelineEvent]] = defaultdict(list)
            async with self._engine.connect() as connection:
                for row in (await connection.execute(query)).mappings():
                    events[row["execution_id"]].append(read(TimelineEvent, row))
                return await read_records(connection, session_id, events)

        return await retrying(attempt)

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Return the questions about a session, oldest first."""
        return await retrying(lambda: ChatRepository(self._engine).list(session_id))


def _of_session(table: sa.Table, session_id: str, *order: sa.Column[object]) -> sa.Select[tuple[object]]:
    return sa.select(table).where(table.c.session_id == session_id).order_by(*order)


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
