"""Changes of status: updates that only take rows from which a transition is allowed, and the end of runs that stop early."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.rows import columns, conclusion_row, read, storable_json
from tarsy.db.tables import (
    agent_executions,
    alert_sessions,
    approvals,
    chat_user_messages,
    session_scores,
    sql_list,
    stages,
    timeline_events,
)
from tarsy.domain import live_events
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import FOLLOWUP_TRANSITIONS, RUN_TRANSITIONS, SESSION_TRANSITIONS, RunStatus, TimelineStatus, sources_of
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose

# The types of its stages distinguish a run from the other runs of its session.
StageTypes = Collection[StageType]


@dataclass(frozen=True, slots=True, eq=False)
class StatusTransitions:
    """The status column of a table. It only changes through `transition`, by compare-and-set."""

    table: sa.Table
    transitions: Mapping[Any, frozenset[Any]]

    def transition(self, target: StrEnum, **values: Any) -> sa.Update:
        """Return the update to `target`, with other columns that change with the status; the caller adds which rows."""
        sources = [source.value for source in sources_of(target, self.transitions)]
        return sa.update(self.table).where(self.table.c.status.in_(sources)).values(status=target.value, **values)

    def sources(self, target: StrEnum) -> str:
        """Return the statuses from which a row may move to `target`, as SQL writes a list."""
        return sql_list(sources_of(target, self.transitions))


SESSIONS = StatusTransitions(alert_sessions, SESSION_TRANSITIONS)
QUESTIONS = StatusTransitions(chat_user_messages, FOLLOWUP_TRANSITIONS)
SCORES = StatusTransitions(session_scores, FOLLOWUP_TRANSITIONS)
STAGES = StatusTransitions(stages, RUN_TRANSITIONS)
EXECUTIONS = StatusTransitions(agent_executions, RUN_TRANSITIONS)


def end_session(session_id: str, close: SessionClose) -> sa.Update:
    """Return the update that ends a session; it returns the alert type and the chain, or no row if the session has ended before."""
    texts = ("executive_summary", "executive_summary_error", "error_message")
    values: dict[str, Any] = storable_json({name: getattr(close, name) for name in texts}) | conclusion_row(close)
    if words := values.pop("verdict_words", None):
        values["verdict_search"] = sa.func.to_tsvector("simple", words)
    end = SESSIONS.transition(close.status, completed_at=close.completed_at, **values)
    return end.where(alert_sessions.c.id == session_id).returning(alert_sessions.c.alert_type, alert_sessions.c.chain_id)


def end_followup(statuses: StatusTransitions, subject_id: str, close: WorkClose) -> sa.Update:
    """Return the update that ends a question or a score."""
    judgement = columns(close.judgement) if close.judgement else {}
    texts = storable_json({"error_message": close.error_message, **judgement})
    return statuses.transition(close.status, completed_at=close.completed_at, **texts).where(statuses.table.c.id == subject_id)


async def interrupt_events(connection: AsyncConnection, session_id: str, types: StageTypes, at: datetime) -> list[LiveEvent]:
    """Close the timeline events of a run that still stream, and return the live events that announce it."""
    event = timeline_events.c
    interrupt = (
        sa.update(timeline_events)
        .where(
            event.session_id == session_id, event.status == TimelineStatus.STREAMING.value, event.stage_id.in_(_stages(session_id, types))
        )
        .values(status=TimelineStatus.INTERRUPTED.value, completed_at=at)
        .returning(event.id, event.content, event.position)
    )
    interrupted = sorted(await connection.execute(interrupt), key=lambda row: row.position)
    return [
        live_events.timeline_completed(
            session_id, TimelineClose(event_id=row.id, status=TimelineStatus.INTERRUPTED, content=row.content, completed_at=at)
        )
        for row in interrupted
    ]


async def abandon_runs(
    connection: AsyncConnection, session_id: str, types: StageTypes, *, status: RunStatus, reason: str, at: datetime
) -> list[LiveEvent]:
    """Close the executions and stages of a run that no worker will continue, and return the live events that announce it."""
    of_run = _stages(session_id, types)
    executions = EXECUTIONS.transition(status, completed_at=at, error_message=reason).where(agent_executions.c.stage_id.in_(of_run))
    ended = await connection.execute(executions.returning(agent_executions.c.id))
    open_stages = STAGES.transition(status, completed_at=at, error_message=reason).where(stages.c.id.in_(of_run))
    closed = await connection.execute(open_stages.returning(stages.c.id))
    change = [ExecutionChange(execution_id=id_, at=at, status=status, error_message=reason) for id_ in ended.scalars()]
    close = [StageClose(stage_id=id_, status=status, completed_at=at, error_message=reason) for id_ in closed.scalars()]
    return [
        *(live_events.execution_status(session_id, one) for one in change),
        *(live_events.stage_completed(session_id, one) for one in close),
    ]


async def expire_approvals(connection: AsyncConnection, condition: sa.ColumnElement[bool], at: datetime) -> list[LiveEvent]:
    """Let the pending approvals that meet the condition expire, and return the live events that announce it."""
    table = approvals.c
    expired = sa.update(approvals).where(condition, table.state == ApprovalState.PENDING.value)
    rows = await connection.execute(expired.values(state=ApprovalState.EXPIRED.value, decided_at=at).returning(approvals))
    return [event for row in rows.mappings() for event in live_events.approval_changed(read(Approval, row))]


def _stages(session_id: str, types: StageTypes) -> sa.Select[tuple[str]]:
    return sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type.in_(sorted(types)))
