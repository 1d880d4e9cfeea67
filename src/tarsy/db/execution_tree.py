"""Which agent sent which: the executions of a session, each before those that it sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from tarsy.db.driver import Connection, Statement


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
