"""Reads back what runs have stored, in the shape in which the next run is told of it."""

from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.retry import retrying
from tarsy.db.rows import execution_of, stage_of, timeline_of
from tarsy.db.session_rows import chat_message_of
from tarsy.db.tables import agent_executions, chat_user_messages, mcp_interactions, stages, timeline_events
from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.tool import ToolOutcome


class SessionHistory:
    """Stages, executions, timelines and questions of a session."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        async def attempt() -> Sequence[StageRecord]:
            async with self._engine.connect() as connection:
                return await _stages(connection, session_id, {})

        return await retrying(attempt)

    async def told(self, session_id: str) -> Sequence[StageRecord]:
        async def attempt() -> Sequence[StageRecord]:
            async with self._engine.connect() as connection:
                query = sa.select(timeline_events).where(timeline_events.c.session_id == session_id)
                events: dict[str, list[TimelineEvent]] = defaultdict(list)
                for row in (await connection.execute(query.order_by(timeline_events.c.sequence_number))).mappings():
                    events[row["execution_id"]].append(timeline_of(row))
                return await _stages(connection, session_id, events)

        return await retrying(attempt)

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        query = sa.select(chat_user_messages).where(chat_user_messages.c.session_id == session_id)

        async def attempt() -> list[ChatUserMessage]:
            async with self._engine.connect() as connection:
                rows = await connection.execute(query.order_by(chat_user_messages.c.created_at))
                return [chat_message_of(row) for row in rows.mappings()]

        return await retrying(attempt)


class StoredResults:
    """Whole tool results, by the call that they answer."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        query = sa.select(mcp_interactions.c.result, mcp_interactions.c.is_error).where(
            mcp_interactions.c.execution_id == execution_id, mcp_interactions.c.call_id == call_id
        )

        async def attempt() -> ToolOutcome | None:
            async with self._engine.connect() as connection:
                row = (await connection.execute(query.limit(1))).first()
            return ToolOutcome(row.result["content"], row.is_error) if row else None

        return await retrying(attempt)


async def _stages(connection: AsyncConnection, session_id: str, events: dict[str, list[TimelineEvent]]) -> list[StageRecord]:
    of_session = sa.select(agent_executions).where(agent_executions.c.session_id == session_id)
    executions: dict[str, list[AgentExecution]] = defaultdict(list)
    for row in (await connection.execute(of_session.order_by(agent_executions.c.agent_index))).mappings():
        executions[row["stage_id"]].append(execution_of(row))
    ordered = sa.select(stages).where(stages.c.session_id == session_id).order_by(stages.c.stage_index)
    found = [stage_of(row) for row in (await connection.execute(ordered)).mappings()]
    return [
        StageRecord(stage, tuple(ExecutionRecord(execution, tuple(events.get(execution.id, ()))) for execution in executions[stage.id]))
        for stage in found
    ]
