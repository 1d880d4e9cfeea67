"""Taking back work whose worker fell silent. Every process does it; compare-and-set lets exactly one win each piece."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.leftovers import abandon_runs, best_analysis, interrupt_events
from tarsy.db.outbox import publish
from tarsy.db.storable import storable
from tarsy.domain import announce
from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.live import LiveEvent, StoredLiveEvent
from tarsy.domain.session import SessionClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.work import MAX_RECOVERIES, Recovered

POISONED = (
    f"given up after {MAX_RECOVERIES} recoveries: each time, the worker that ran it died or fell silent. "
    "The session itself is the likely cause (memory, a tool that hangs the process)."
)
# Written out, so that the indexes of what runs serve.
_RUNNING = {
    ClaimKind.SESSION: sa.text("status IN ('in_progress', 'cancelling')"),
    ClaimKind.CHAT: sa.text("status = 'active'"),
    ClaimKind.SCORE: sa.text("status = 'active'"),
}


@dataclass(frozen=True, slots=True)
class _End:
    """Why work ends here instead of being continued."""

    status: RunStatus
    reason: str


class Recovery:
    """Finds and takes back orphaned work, and ends what cannot be continued."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def run(self, *, silent_seconds: float) -> tuple[list[Recovered], list[StoredLiveEvent]]:
        """Take back everything whose worker has been silent for longer than `silent_seconds`."""
        recovered: list[Recovered] = []
        published: list[StoredLiveEvent] = []
        for kind in ClaimKind:
            table = CLAIM_TABLES[kind]
            for work_id in await self._orphans(kind, silent_seconds):
                orphaned = (table.c.id == work_id) & table.c.claim_token.is_not(None) & _silent(table, silent_seconds)
                async with self._engine.begin() as connection:
                    row = await _lock(connection, table, orphaned)
                    if row is None:
                        continue
                    end = _end(kind, row)
                    events = await _take_back(connection, kind, row, end)
                recovered.append(Recovered(work_id, _session_id(kind, row), given_up=end is not None and end.status is RunStatus.FAILED))
                published += events
        return recovered, published

    async def fail(self, claim: Claim, reason: str) -> list[StoredLiveEvent]:
        """End what is claimed as failed, with everything it has open: trying it again would only break again."""
        table = CLAIM_TABLES[claim.kind]
        async with self._engine.begin() as connection:
            row = await _lock(connection, table, (table.c.id == claim.id) & (table.c.claim_token == claim.token))
            if row is None:
                return []
            end = _cancelled(claim.kind, row) or _End(RunStatus.FAILED, storable(reason))
            return await _take_back(connection, claim.kind, row, end)

    async def _orphans(self, kind: ClaimKind, silent_seconds: float) -> Sequence[str]:
        table = CLAIM_TABLES[kind]
        query = sa.select(table.c.id).where(_RUNNING[kind], _silent(table, silent_seconds))
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).scalars().all()


async def _lock(connection: AsyncConnection, table: sa.Table, condition: sa.ColumnElement[bool]) -> sa.RowMapping | None:
    """The row, unless somebody is writing to it just now: then its worker lives, or somebody else takes it back."""
    query = sa.select(table, sa.func.now().label("now")).where(condition)
    return (await connection.execute(query.with_for_update(skip_locked=True))).mappings().first()


async def _take_back(connection: AsyncConnection, kind: ClaimKind, row: sa.RowMapping, end: _End | None) -> list[StoredLiveEvent]:
    session_id = _session_id(kind, row)
    drafts = await interrupt_events(connection, kind, session_id, row["now"])
    if end:
        drafts += await abandon_runs(connection, kind, session_id, status=end.status, reason=end.reason, at=row["now"])
    drafts += await _release(connection, kind, row, end)
    await signals.notify(connection, signals.WORK, kind)
    return await publish(connection, drafts, session_id=session_id)


def _session_id(kind: ClaimKind, row: sa.RowMapping) -> str:
    return row["id"] if kind is ClaimKind.SESSION else row["session_id"]


def _silent(table: sa.Table, seconds: float) -> sa.ColumnElement[bool]:
    return table.c.last_interaction_at < sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def _end(kind: ClaimKind, row: sa.RowMapping) -> _End | None:
    """Whether orphaned work ends here instead of being continued: it was being cancelled, or has been continued too often."""
    poisoned = _End(RunStatus.FAILED, POISONED) if row["recoveries"] >= MAX_RECOVERIES else None
    return _cancelled(kind, row) or poisoned


def _cancelled(kind: ClaimKind, row: sa.RowMapping) -> _End | None:
    cancelling = row["status"] == SessionStatus.CANCELLING if kind is ClaimKind.SESSION else row["cancel_requested"]
    return _End(RunStatus.CANCELLED, "cancelled") if cancelling else None


async def _release(connection: AsyncConnection, kind: ClaimKind, row: sa.RowMapping, end: _End | None) -> list[LiveEvent]:
    """Give the work back to the queue, or end it."""
    table = CLAIM_TABLES[kind]
    values: dict[str, object] = {"claim_token": None, "pod_id": None}
    if end:
        values |= {"status": end.status.value, "completed_at": row["now"], "error_message": end.reason}
    else:
        values |= {"status": "pending", "recoveries": row["recoveries"] + 1}
    analysis = await connection.scalar(best_analysis(row["id"])) if end and kind is ClaimKind.SESSION else None
    if analysis is not None:
        values |= {"final_analysis": analysis, "analysis_is_partial": True}
    await connection.execute(sa.update(table).where(table.c.id == row["id"]).values(values))
    if kind is ClaimKind.SESSION:
        return _session_news(row, end, analysis)
    claim = Claim(kind, row["id"], row["session_id"], "")
    return [announce.work_completed(claim, WorkClose(status=end.status, completed_at=row["now"], error_message=end.reason))] if end else []


def _session_news(row: sa.RowMapping, end: _End | None, analysis: str | None) -> list[LiveEvent]:
    if end is None:
        return list(announce.session_status(row["id"], SessionStatus.PENDING, alert_type=row["alert_type"], at=row["now"]))
    close = SessionClose(
        status=SessionStatus(end.status.value),
        completed_at=row["now"],
        final_analysis=analysis,
        analysis_is_partial=analysis is not None,
        error_message=end.reason,
    )
    return list(announce.session_completed(row["id"], close, alert_type=row["alert_type"]))
