"""The run of a session as people inspect it: stages and executions with their cost, and every call to a model or tool server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows
from tarsy.db.connection import autocommit
from tarsy.db.errors import NotFoundError
from tarsy.db.tables import agent_executions, llm_interactions, mcp_interactions, messages, stages
from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.execution import AgentExecution
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.stage import Stage
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import Spending, TokenUsage


@dataclass(frozen=True, slots=True)
class SessionRun:
    """A session's stages and executions in the order in which they ran, with the usage and cost of each execution."""

    stages: tuple[Stage, ...]
    executions: tuple[AgentExecution, ...]
    usage: Mapping[str, TokenUsage]
    spending: Mapping[str, Spending]

    def answering(self, stage_id: str | None) -> AgentExecution | None:
        """Return the execution that answers in the stage of a question: not one of its sub-agents."""
        own = (one for one in self.executions if stage_id and one.stage_id == stage_id and one.parent_execution_id is None)
        return next(own, None)

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
    usage_estimated: bool
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
    # The beginning of the arguments.
    arguments_start: str | None
    is_error: bool
    error_message: str | None
    started_at: datetime
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Trace:
    llm: tuple[LLMCallSummary, ...]
    mcp: tuple[ToolCallSummary, ...]
    executions: tuple[AgentExecution, ...]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of the conversation that a model call was sent."""

    body: ConversationMessage
    # Shortened since then to make room: later calls were sent less than this.
    compacted_later: bool


@dataclass(frozen=True, slots=True)
class LLMCall:
    interaction: LLMInteraction
    conversation: tuple[SentMessage, ...]


# The bodies are large, and a list shows none of them.
_BODIES = frozenset({"request", "response", "price", "arguments", "result"})
# As much as fits on a line; all arguments of thousands of calls would be megabytes.
_ARGUMENTS_START = 200
_USAGE = sa.text(
    f"""
    SELECT CAST(execution_id AS text) AS execution_id, {", ".join(f"sum({field.name}) AS {field.name}" for field in fields(TokenUsage))},
        {rows.SPENDING_SUMS}
    FROM llm_interactions WHERE session_id = :id GROUP BY execution_id
    """
)


async def read_run(connection: AsyncConnection, session_id: str) -> SessionRun:
    """Return everything that a session has run so far."""
    stage_rows = await connection.execute(sa.select(stages).where(stages.c.session_id == session_id).order_by(stages.c.stage_index))
    executions = await execution_tree(connection, session_id)
    usage = (await connection.execute(_USAGE, {"id": session_id})).mappings().all()
    return SessionRun(
        tuple(rows.read(Stage, row) for row in stage_rows.mappings()),
        executions,
        {row["execution_id"]: rows.usage_of(row) for row in usage},
        {row["execution_id"]: rows.spending_of(row) for row in usage},
    )


async def execution_tree(connection: AsyncConnection, session_id: str) -> tuple[AgentExecution, ...]:
    """Return the executions of a session, each before the sub-agents that it dispatched."""
    execution, parent = agent_executions.c, agent_executions.alias("parent")
    query = (
        sa.select(agent_executions)
        .join(stages, stages.c.id == execution.stage_id)
        .outerjoin(parent, parent.c.id == execution.parent_execution_id)
        .where(execution.session_id == session_id)
        .order_by(
            stages.c.stage_index,
            sa.func.coalesce(parent.c.agent_index, execution.agent_index),
            parent.c.id.is_not(None),
            execution.agent_index,
        )
    )
    return tuple(rows.read(AgentExecution, row) for row in (await connection.execute(query)).mappings())


class InteractionRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def run(self, session_id: str) -> SessionRun:
        """Return everything that a session has run so far."""
        async with self._engine.connect() as connection:
            return await read_run(connection, session_id)

    async def trace(self, session_id: str) -> Trace:
        """Return every call of a session, oldest first, without its bodies."""
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
        """Return one model call of a session, with the conversation as it was sent.

        Raises:
            NotFoundError: the session made no such call.
        """
        async with self._engine.connect() as connection:
            row = await _one(connection, llm_interactions, session_id, interaction_id)
            interaction = rows.llm_interaction_of(row)
            own: list[dict[str, Any]] | None = interaction.request.get("messages")
            if own is None:
                conversation = await _stored_conversation(connection, interaction)
            else:
                conversation = tuple(SentMessage(rows.message_body_of(entry), compacted_later=False) for entry in own)
        return LLMCall(interaction, conversation)

    async def tools_of(self, execution_id: str) -> Mapping[str, ToolDefinition]:
        """Return the tools that servers listed for an execution, by name; the built-in ones are not among them."""
        table = mcp_interactions.c
        query = (
            sa.select(table.result)
            .where(table.execution_id == execution_id, table.kind == MCPInteractionKind.TOOL_LIST.value)
            .order_by(table.started_at, table.id)
        )
        async with self._engine.connect() as connection:
            results: Sequence[Mapping[str, Any] | None] = (await connection.execute(query)).scalars().all()
        listed: Iterator[Mapping[str, Any]] = (tool for result in results if result for tool in result.get("tools", ()))
        return {tool["name"]: ToolDefinition(tool["name"], tool["description"], tool["parameters_schema"]) for tool in listed}

    async def mcp_call(self, session_id: str, interaction_id: str) -> MCPInteraction:
        """Return one exchange with a tool server.

        Raises:
            NotFoundError: the session made no such call.
        """
        async with self._engine.connect() as connection:
            row = await _one(connection, mcp_interactions, session_id, interaction_id)
        return rows.read(MCPInteraction, row)


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


async def _stored_conversation(connection: AsyncConnection, interaction: LLMInteraction) -> tuple[SentMessage, ...]:
    """Return the execution's first messages, as many as were sent, each as it was before later calls compacted it."""
    query = (
        sa.select(messages)
        .where(messages.c.execution_id == interaction.execution_id)
        .order_by(messages.c.sequence_number)
        .limit(interaction.message_count)
    )
    sent: list[SentMessage] = []
    for row in (await connection.execute(query)).mappings():
        compacted_later = row["compacted_before_turn"] is not None and interaction.turn < row["compacted_before_turn"]
        content = row["original_content"] if compacted_later else row["content"]
        stored: rows.NewRow = dict(row)
        sent.append(SentMessage(rows.message_body_of({**stored, "content": content}), compacted_later=compacted_later))
    return tuple(sent)
