"""Which agent sent which: the executions of a session, each before those that it sent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows
from tarsy.db.driver import Connection, Row, Statement, borrowed, columns_of
from tarsy.db.errors import NotFoundError
from tarsy.db.tables import agent_executions, llm_interactions, mcp_interactions, messages, stages
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.stage import Stage
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import Spending, TokenUsage


def in_tree_order(columns: str, session_id: str) -> str:
    """A statement that reads `columns` of the executions `e` of a session."""
    return f"""
    SELECT {columns} FROM agent_executions e JOIN stages g ON g.id = e.stage_id
    LEFT JOIN agent_executions above ON above.id = e.parent_execution_id
    WHERE e.session_id = {session_id}
    ORDER BY g.stage_index, coalesce(above.agent_index, e.agent_index), above.id IS NOT NULL, e.agent_index"""  # noqa: S608 - our own words


EXECUTION_TREE = in_tree_order(
    "e.id::text AS id, e.agent_name, e.parent_execution_id::text AS parent_execution_id, e.dispatched_by, e.task", ":id"
)
_TREE = Statement(EXECUTION_TREE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionInTree:
    """An execution by its place: for one that was sent, by whom, by which call and what for."""

    id: str
    agent_name: str
    parent_execution_id: str | None
    dispatched_by: str | None
    task: str | None


async def execution_tree(connection: Connection, session_id: str) -> Sequence[ExecutionInTree]:
    return tuple(ExecutionInTree(**dict(row)) for row in await _TREE.rows(connection, {"id": session_id}))


@dataclass(frozen=True, slots=True)
class SessionRun:
    """A session's stages and executions in the order in which they ran, and what each execution used and cost."""

    stages: tuple[Stage, ...]
    executions: tuple[AgentExecution, ...]
    usage: Mapping[str, TokenUsage]
    spending: Mapping[str, Spending]

    @property
    def total_usage(self) -> TokenUsage:
        return sum(self.usage.values(), TokenUsage())

    @property
    def total_spending(self) -> Spending:
        return sum(self.spending.values(), Spending())


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMCallSummary:
    """A model call without its bodies."""

    id: str
    stage_id: str | None
    execution_id: str
    kind: LLMInteractionKind
    turn: int
    provider: str
    model: str
    message_count: int
    usage: TokenUsage
    error_code: str | None
    error_message: str | None
    started_at: datetime
    duration_ms: int
    first_chunk_ms: int | None
    # None: the price was not known.
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallSummary:
    """An exchange with a tool server without its bodies."""

    id: str
    stage_id: str | None
    execution_id: str
    kind: MCPInteractionKind
    server: str
    tool: str | None
    evidence_id: str | None
    # The beginning of what it was called with.
    arguments_start: str | None
    is_error: bool
    error_message: str | None
    started_at: datetime
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Trace:
    llm: tuple[LLMCallSummary, ...]
    mcp: tuple[ToolCallSummary, ...]
    executions: Sequence[ExecutionInTree]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of the conversation that a call was made with."""

    body: ConversationMessage
    # Shortened since then to make room: later calls were sent less than this.
    compacted_later: bool


@dataclass(frozen=True, slots=True)
class LLMCall:
    interaction: LLMInteraction
    conversation: tuple[SentMessage, ...]


_USAGE_NAMES = ("input_tokens", "output_tokens", "total_tokens", "thinking_tokens", "cached_tokens")
# The bodies are large, and a list shows none of them.
_BODIES = frozenset({"request", "response", "price", "arguments", "result"})
# What fits on a line; of thousands of calls the whole would be megabytes.
_ARGUMENTS_START = 200


# All that a session has run, as three columns beside its own: one statement sees one moment, and costs one way to the database.
RUN_COLUMNS = f"""
    (SELECT json_agg(x) FROM (
        SELECT {columns_of(stages, "g")} FROM stages g WHERE g.session_id = s.id ORDER BY g.stage_index
    ) x) AS stages,
    (SELECT json_agg(x) FROM ({in_tree_order(columns_of(agent_executions, "e"), "s.id")}) x) AS executions,
    (SELECT json_agg(x) FROM (
        SELECT execution_id, {", ".join(f"sum({name}) AS {name}" for name in _USAGE_NAMES)}, {rows.SPENDING_SUMS}
        FROM llm_interactions WHERE session_id = s.id GROUP BY execution_id
    ) x) AS usage"""  # noqa: S608 - our own words
_RUN = Statement(f"SELECT {RUN_COLUMNS} FROM (SELECT CAST(:id AS uuid) AS id) s")  # noqa: S608 - our own words


def run_of(row: Row) -> SessionRun:
    """What RUN_COLUMNS have read."""
    usage: Sequence[Row] = row["usage"] or ()
    return SessionRun(
        tuple(rows.stage_of(stage) for stage in row["stages"] or ()),
        tuple(rows.execution_of(execution) for execution in row["executions"] or ()),
        {one["execution_id"]: rows.usage_of(one) for one in usage},
        {one["execution_id"]: rows.spending_of(one) for one in usage},
    )


class InteractionRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def run(self, session_id: str) -> SessionRun:
        """Everything a session has run so far."""
        async with borrowed(self._engine) as connection:
            (row,) = await _RUN.rows(connection, {"id": session_id})
        return run_of(row)

    async def trace(self, session_id: str) -> Trace:
        """Every call of a session, oldest first, without what was said in it."""
        async with self._engine.connect() as connection:
            llm = await _summaries(connection, llm_interactions, session_id)
            start = sa.func.left(mcp_interactions.c.arguments, _ARGUMENTS_START).label("arguments_start")
            mcp = await _summaries(connection, mcp_interactions, session_id, start)
            executions = await execution_tree(connection, session_id)
        return Trace(
            tuple(rows.read(LLMCallSummary, row, usage=rows.usage_of(row)) for row in llm),
            tuple(rows.read(ToolCallSummary, row) for row in mcp),
            executions,
        )

    async def llm_call(self, session_id: str, interaction_id: str) -> LLMCall:
        """One model call of a session, with the conversation as it was sent.

        Raises:
            NotFoundError: the session made no such call.
        """
        async with self._engine.connect() as connection:
            row = await _one(connection, llm_interactions, session_id, interaction_id)
            interaction = rows.llm_interaction_of(row)
            own: list[dict[str, Any]] | None = interaction.request.get("messages")
            conversation = await _stored(connection, interaction) if own is None else _given(own)
        return LLMCall(interaction, conversation)

    async def tools_of(self, execution_id: str) -> Mapping[str, ToolDefinition]:
        """The tools that servers told an execution of, by their names; those that are built in were told by no server."""
        table = mcp_interactions.c
        query = (
            sa.select(table.result)
            .where(table.execution_id == execution_id, table.kind == MCPInteractionKind.TOOL_LIST.value)
            .order_by(table.started_at, table.id)
        )
        async with self._engine.connect() as connection:
            listed: Sequence[Mapping[str, Any] | None] = (await connection.execute(query)).scalars().all()
        told: Iterator[Mapping[str, Any]] = (tool for result in listed if result for tool in result.get("tools", ()))
        return {tool["name"]: ToolDefinition(tool["name"], tool["description"], tool["parameters_schema"]) for tool in told}

    async def mcp_call(self, session_id: str, interaction_id: str) -> MCPInteraction:
        """One exchange with a tool server.

        Raises:
            NotFoundError: the session made no such call.
        """
        async with self._engine.connect() as connection:
            row = await _one(connection, mcp_interactions, session_id, interaction_id)
        return rows.mcp_interaction_of(row)


async def _summaries(connection: AsyncConnection, table: sa.Table, session_id: str, *more: sa.ColumnElement[Any]) -> list[sa.RowMapping]:
    columns = [column for column in table.c if column.name not in _BODIES]
    query = sa.select(*columns, *more).where(table.c.session_id == session_id).order_by(table.c.started_at, table.c.id)
    return list((await connection.execute(query)).mappings())


async def _one(connection: AsyncConnection, table: sa.Table, session_id: str, interaction_id: str) -> sa.RowMapping:
    query = sa.select(table).where(table.c.id == interaction_id, table.c.session_id == session_id)
    row = (await connection.execute(query)).mappings().one_or_none()
    if row is None:
        raise NotFoundError("interaction", interaction_id)
    return row


async def _stored(connection: AsyncConnection, interaction: LLMInteraction) -> tuple[SentMessage, ...]:
    """The execution's first messages, as many as were sent."""
    query = (
        sa.select(messages)
        .where(messages.c.execution_id == interaction.execution_id)
        .order_by(messages.c.sequence_number)
        .limit(interaction.message_count)
    )
    return tuple(_sent(row, interaction.turn) for row in (await connection.execute(query)).mappings())


def _sent(row: sa.RowMapping, turn: int) -> SentMessage:
    """A message as call number `turn` was sent it: whole, if it was compacted only afterwards."""
    calls = tuple(ToolCall(**call) for call in row["tool_calls"] or ())
    compacted_later = row["compacted_before_turn"] is not None and turn < row["compacted_before_turn"]
    content = row["original_content"] if compacted_later else row["content"]
    body = ConversationMessage(Role(row["role"]), content, calls, row["tool_call_id"], row["tool_name"])
    return SentMessage(body, compacted_later=compacted_later)


def _given(own: list[dict[str, Any]]) -> tuple[SentMessage, ...]:
    """The messages that a request carries itself."""
    return tuple(SentMessage(_given_message(entry), compacted_later=False) for entry in own)


def _given_message(entry: dict[str, Any]) -> ConversationMessage:
    calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in entry.get("tool_calls") or ())
    return ConversationMessage(Role(entry["role"]), entry.get("content") or "", calls, entry.get("tool_call_id"), entry.get("tool_name"))
