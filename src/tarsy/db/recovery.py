"""Taking back work whose worker fell silent. Every process does it; compare-and-set lets exactly one win each piece."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.outbox import publish
from tarsy.db.tables import agent_executions, stages, timeline_events
from tarsy.domain import announce
from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.live import LiveEvent, StoredLiveEvent
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import StageClose
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose, TimelineEventType
from tarsy.domain.work import MAX_RECOVERIES, Recovered

POISONED = (
    f"given up after {MAX_RECOVERIES} recoveries: each time, the worker that ran it died or fell silent. "
    "The session itself is the likely cause (memory, a tool that hangs the process)."
)

# What a chat or a scoring left behind is told apart from the investigation by its stage.
_STAGE_TYPES = {ClaimKind.SESSION: ("investigation", "synthesis", "exec_summary"), ClaimKind.CHAT: ("chat",), ClaimKind.SCORE: ("scoring",)}


class Recovery:
    """Finds and takes back orphaned work."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def run(self, *, silent_seconds: float) -> tuple[list[Recovered], list[StoredLiveEvent]]:
        """Take back everything whose worker has been silent for longer than `silent_seconds`."""
        recovered: list[Recovered] = []
        published: list[StoredLiveEvent] = []
        for kind in ClaimKind:
            for work_id in await self._orphans(kind, silent_seconds):
                async with self._engine.begin() as connection:
                    result = await self._take_back(connection, kind, work_id, silent_seconds)
                if result:
                    recovered.append(result[0])
                    published += result[1]
        return recovered, published

    async def _orphans(self, kind: ClaimKind, silent_seconds: float) -> Sequence[str]:
        table = CLAIM_TABLES[kind]
        query = sa.select(table.c.id).where(table.c.claim_token.is_not(None), _silent(table, silent_seconds))
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()

    async def _take_back(
        self, connection: AsyncConnection, kind: ClaimKind, work_id: str, silent_seconds: float
    ) -> tuple[Recovered, list[StoredLiveEvent]] | None:
        table = CLAIM_TABLES[kind]
        query = sa.select(table, sa.func.now().label("now")).where(
            table.c.id == work_id, table.c.claim_token.is_not(None), _silent(table, silent_seconds)
        )
        row = (await connection.execute(query.with_for_update(skip_locked=True))).mappings().first()
        if row is None:
            return None
        session_id = work_id if kind is ClaimKind.SESSION else row["session_id"]
        ends = _end(kind, row)
        drafts: list[LiveEvent] = await _interrupt_events(connection, kind, session_id, row["now"])
        if ends:
            drafts += await _abandon_runs(connection, kind, session_id, ends, row["now"])
        drafts += await _release(connection, kind, row, ends)
        await signals.notify(connection, signals.WORK, kind)
        published = await publish(connection, drafts, session_id=session_id)
        return Recovered(work_id, session_id, given_up=ends is RunStatus.FAILED), published


def _silent(table: sa.Table, seconds: float) -> sa.ColumnElement[bool]:
    return table.c.last_interaction_at < sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def _end(kind: ClaimKind, row: sa.RowMapping) -> RunStatus | None:
    """Whether orphaned work ends here instead of being continued: it was being cancelled, or has been continued too often."""
    cancelling = row["status"] == SessionStatus.CANCELLING if kind is ClaimKind.SESSION else row["cancel_requested"]
    if cancelling:
        return RunStatus.CANCELLED
    return RunStatus.FAILED if row["recoveries"] >= MAX_RECOVERIES else None


def _of_kind(kind: ClaimKind, session_id: str) -> sa.Select[tuple[str]]:
    return sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type.in_(_STAGE_TYPES[kind]))


async def _interrupt_events(connection: AsyncConnection, kind: ClaimKind, session_id: str, at: datetime) -> list[LiveEvent]:
    """Close what the dead worker left streaming."""
    still_open = (
        (timeline_events.c.session_id == session_id)
        & (timeline_events.c.status == TimelineStatus.STREAMING)
        & timeline_events.c.stage_id.in_(_of_kind(kind, session_id))
    )
    statement = sa.update(timeline_events).where(still_open).values(status=TimelineStatus.INTERRUPTED, completed_at=at)
    rows = (await connection.execute(statement.returning(timeline_events.c.id, timeline_events.c.content))).all()
    return [
        announce.timeline_completed(
            session_id, TimelineClose(event_id=row.id, status=TimelineStatus.INTERRUPTED, content=row.content, completed_at=at)
        )
        for row in rows
    ]


async def _abandon_runs(connection: AsyncConnection, kind: ClaimKind, session_id: str, status: RunStatus, at: datetime) -> list[LiveEvent]:
    """Close the executions and stages that nobody will continue."""
    reason = POISONED if status is RunStatus.FAILED else "cancelled"
    unfinished = ("pending", "active")
    values = {"status": status.value, "completed_at": at, "error_message": reason}
    of_kind = agent_executions.c.stage_id.in_(_of_kind(kind, session_id)) & agent_executions.c.status.in_(unfinished)
    await connection.execute(sa.update(agent_executions).where(of_kind).values(values))
    open_stage = stages.c.id.in_(_of_kind(kind, session_id)) & stages.c.status.in_(unfinished)
    closed = await connection.execute(sa.update(stages).where(open_stage).values(values).returning(stages.c.id))
    return [
        announce.stage_completed(session_id, StageClose(stage_id=stage_id, status=status, completed_at=at, error_message=reason))
        for stage_id in closed.scalars()
    ]


async def _release(connection: AsyncConnection, kind: ClaimKind, row: sa.RowMapping, ends: RunStatus | None) -> list[LiveEvent]:
    """Give the work back to the queue, or end it."""
    table = CLAIM_TABLES[kind]
    reason = POISONED if ends is RunStatus.FAILED else "cancelled"
    values: dict[str, object] = {"claim_token": None, "pod_id": None}
    if ends:
        values |= {"status": ends.value, "completed_at": row["now"], "error_message": reason}
    else:
        values |= {"status": "pending", "recoveries": row["recoveries"] + 1}
    analysis = await _best_analysis(connection, row["id"]) if ends and kind is ClaimKind.SESSION else None
    if analysis is not None:
        values |= {"final_analysis": analysis, "analysis_is_partial": True}
    await connection.execute(sa.update(table).where(table.c.id == row["id"]).values(values))
    if kind is not ClaimKind.SESSION:
        claim = Claim(kind, row["id"], row["session_id"], "")
        return [announce.work_completed(claim, WorkClose(status=ends, completed_at=row["now"], error_message=reason))] if ends else []
    if ends:
        close = SessionClose(status=SessionStatus(ends.value), completed_at=row["now"], final_analysis=analysis, error_message=reason)
        return list(announce.session_completed(row["id"], close, alert_type=row["alert_type"]))
    return list(announce.session_status(row["id"], SessionStatus.PENDING, alert_type=row["alert_type"], at=row["now"]))


async def _best_analysis(connection: AsyncConnection, session_id: str) -> str | None:
    """The newest conclusion that any agent of the session reached."""
    concluded = (
        (timeline_events.c.session_id == session_id)
        & (timeline_events.c.event_type == TimelineEventType.FINAL_ANALYSIS)
        & (timeline_events.c.status == TimelineStatus.COMPLETED)
    )
    query = sa.select(timeline_events.c.content).where(concluded).order_by(timeline_events.c.position.desc()).limit(1)
    return (await connection.execute(query)).scalar_one_or_none()
