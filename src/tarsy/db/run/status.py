"""The one door through which a status moves: an update that takes only rows from which the move tables allow it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.driver import Connection, Statement
from tarsy.db.tables import agent_executions, alert_sessions, chat_user_messages, session_scores, sql_list, stages, timeline_events
from tarsy.domain import live_events
from tarsy.domain.conclusion import StageConclusions, best_analysis
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import FOLLOWUP_MOVES, RUN_MOVES, SESSION_MOVES, RunStatus, TimelineStatus, sources_of
from tarsy.domain.timeline import TimelineClose, TimelineEventType


@dataclass(frozen=True, slots=True, eq=False)
class StatusDoor:
    """The statuses of one table."""

    table: sa.Table
    moves: Mapping[Any, frozenset[Any]]

    def move(self, target: StrEnum, **values: Any) -> sa.Update:
        """The update to `target`; the caller says which rows, and gives whatever changes with the status."""
        sources = [source.value for source in sources_of(target, self.moves)]
        return sa.update(self.table).where(self.table.c.status.in_(sources)).values(status=target.value, **values)

    def sources(self, target: StrEnum) -> str:
        """The compare side of a move to `target`, for a statement that is written out."""
        return sql_list(sources_of(target, self.moves))


@cache
def ending_statement(door: StatusDoor, target: StrEnum, columns: tuple[str, ...], answer: str = "id", computed: str = "") -> Statement:
    """The move of one row (`id`) to an end, with whatever columns change with it; answers with columns of it, if it could be moved."""
    return Statement(f"{ending_update(door, target, columns, computed)} RETURNING {answer}")


def ending_update(door: StatusDoor, target: StrEnum, columns: tuple[str, ...], computed: str = "", source: str = "") -> str:
    """The update of such a move, where it stands in a longer statement with rows of a `source` that there must be."""
    changes = ", ".join((*(f"{name} = :{name}" for name in columns), *([computed] if computed else ())))
    given = f" FROM {source}" if source else ""
    return f"UPDATE {door.table.name} SET status = '{target}', {changes}{given} WHERE id = :id AND status IN ({door.sources(target)})"  # noqa: S608 - names from our own tables


SESSIONS = StatusDoor(alert_sessions, SESSION_MOVES)
QUESTIONS = StatusDoor(chat_user_messages, FOLLOWUP_MOVES)
SCORES = StatusDoor(session_scores, FOLLOWUP_MOVES)
STAGES = StatusDoor(stages, RUN_MOVES)
EXECUTIONS = StatusDoor(agent_executions, RUN_MOVES)


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
