"""Reads back what runs have stored, in the shape in which the next run is told of it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Row, Statement, borrowed, columns_of
from tarsy.db.retry import retrying
from tarsy.db.rows import chat_message_of, execution_of, stage_of, timeline_of
from tarsy.db.tables import agent_executions, chat_user_messages, stages, timeline_events
from tarsy.domain.evidence import AnsweredCall, Evidence, call_number
from tarsy.domain.execution import AgentExecution
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.tool import ToolName, ToolOutcome


def _of_session(table: sa.Table, order: str) -> Statement:
    return Statement(f"SELECT {columns_of(table, 't')} FROM {table.name} t WHERE t.session_id = :id ORDER BY {order}")  # noqa: S608 - our own words


def _as_json(table: sa.Table, order: str) -> str:
    return f"(SELECT jsonb_agg(to_jsonb(t) ORDER BY {order}) FROM {table.name} t WHERE t.session_id = :id) AS {table.name}"  # noqa: S608 - our own words


# Rows without long texts, which are few: together they cost one round trip.
_RUNS = f"SELECT {_as_json(stages, 't.stage_index')}, {_as_json(agent_executions, 't.agent_index')}"
_STAGES = Statement(_RUNS)
# Its events, and beside the first of them, or beside none, the rest.
_ORDER = "t.sequence_number, t.id"
_IS_FIRST = f"row_number() OVER (ORDER BY {_ORDER}) = 1"
_TOLD = Statement(
    f"""
    SELECT {columns_of(timeline_events, "t")},
        CASE WHEN {_IS_FIRST} THEN r.stages END AS stages, CASE WHEN {_IS_FIRST} THEN r.agent_executions END AS agent_executions
    FROM ({_RUNS}) r LEFT JOIN timeline_events t ON t.session_id = :id ORDER BY {_ORDER}
    """  # noqa: S608 - our own words
)
_QUESTIONS = _of_session(chat_user_messages, "t.created_at")
_RESULT = Statement("SELECT result, is_error FROM mcp_interactions WHERE execution_id = :execution_id AND call_id = :call_id LIMIT 1")


class SessionHistory:
    """Stages, executions, timelines and questions of a session."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        async def attempt() -> Sequence[StageRecord]:
            async with borrowed(self._engine) as connection:
                (runs,) = await _STAGES.rows(connection, {"id": session_id})
            return _stages(runs, {})

        return await retrying(attempt)

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        async def attempt() -> Sequence[StageRecord]:
            async with borrowed(self._engine) as connection:
                rows = await _TOLD.rows(connection, {"id": session_id})
            events: dict[str, list[TimelineEvent]] = defaultdict(list)
            for row in rows:
                if row["id"] is not None:
                    events[row["execution_id"]].append(timeline_of(row))
            return _stages(rows[0], events)

        return await retrying(attempt)

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        async def attempt() -> list[ChatUserMessage]:
            async with borrowed(self._engine) as connection:
                return [chat_message_of(row) for row in await _QUESTIONS.rows(connection, {"id": session_id})]

        return await retrying(attempt)


class StoredResults:
    """Whole tool results, by the call that they answer."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        async def attempt() -> ToolOutcome | None:
            async with borrowed(self._engine) as connection:
                row = await _RESULT.row(connection, {"execution_id": execution_id, "call_id": call_id})
            return ToolOutcome(row["result"]["content"], row["is_error"]) if row else None

        return await retrying(attempt)

    async def cited(self, execution_id: str, ids: Collection[str]) -> Sequence[Evidence]:
        async def attempt() -> list[Evidence]:
            async with borrowed(self._engine) as connection:
                return [evidence_of(row) for row in await _CITED.rows(connection, {"execution_id": execution_id, "ids": list(ids)})]

        return await retrying(attempt) if ids else []

    async def answered(self, execution_id: str) -> Sequence[AnsweredCall]:
        async def attempt() -> list[AnsweredCall]:
            async with borrowed(self._engine) as connection:
                rows = await _ANSWERED.rows(connection, {"execution_id": execution_id})
            made = [
                AnsweredCall(row["evidence_id"], str(ToolName(row["server"], row["tool"] or "")), row["arguments"] or "") for row in rows
            ]
            # In the order of the calls, whichever was answered first.
            return sorted(made, key=lambda call: call_number(call.evidence_id))

        return await retrying(attempt)


# What an execution may cite: results of its own, of those it sent, and of the stages before its own. Of a call that was made again, the one that ended.
_CITED = Statement(
    """
    SELECT DISTINCT ON (t.metadata ->> 'evidence_id') t.metadata ->> 'evidence_id' AS evidence_id, t.content, t.metadata, c.content AS arguments
    FROM agent_executions own
    JOIN stages mine ON mine.id = own.stage_id
    JOIN timeline_events t ON t.session_id = own.session_id
    JOIN stages s ON s.id = t.stage_id
    JOIN agent_executions seer ON seer.id = t.execution_id
    LEFT JOIN timeline_events c ON c.execution_id = t.execution_id AND c.event_type = 'llm_tool_call'
        AND c.metadata ->> 'evidence_id' = t.metadata ->> 'evidence_id'
    WHERE own.id = :execution_id::uuid AND t.event_type IN ('tool_result', 'note') AND t.status NOT IN ('streaming', 'interrupted')
        AND t.metadata ->> 'evidence_id' = ANY(:ids::text[])
        AND (s.stage_index < mine.stage_index OR seer.id = own.id OR seer.parent_execution_id = own.id)
    ORDER BY t.metadata ->> 'evidence_id', t.position DESC
    """
)


_ANSWERED = Statement(
    """
    SELECT evidence_id, server, tool, arguments FROM mcp_interactions
    WHERE execution_id = :execution_id AND kind = 'tool_call' AND evidence_id IS NOT NULL ORDER BY started_at, id
    """
)


def evidence_of(row: Row) -> Evidence:
    metadata = row["metadata"]
    name = ToolName(metadata.get("server_name") or "", metadata.get("tool_name") or "")
    return Evidence(
        id=row["evidence_id"],
        text=row["content"],
        tool=str(name) if name.server else name.tool,
        arguments=row["arguments"] or "",
        read_at=datetime.fromisoformat(metadata["read_at"]) if "read_at" in metadata else None,
        folded=metadata.get("folded", False),
        refused=metadata.get("refused", False),
    )


def _stages(runs: Row, events: Mapping[str, list[TimelineEvent]]) -> list[StageRecord]:
    below: dict[str, list[AgentExecution]] = defaultdict(list)
    for row in runs["agent_executions"] or ():
        execution = execution_of(row)
        below[execution.parent_execution_id or execution.stage_id].append(execution)

    def records(above: str) -> tuple[ExecutionRecord, ...]:
        return tuple(ExecutionRecord(one, tuple(events.get(one.id, ())), records(one.id)) for one in below.get(above, ()))

    found = [stage_of(row) for row in runs["stages"] or ()]
    return [StageRecord(stage, records(stage.id)) for stage in found]
