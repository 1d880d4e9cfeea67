"""Recovering work whose worker sends no heartbeats any more. Every process tries; each piece is recovered once."""

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.outbox import Publisher
from tarsy.db.tables import events, work
from tarsy.db.work.release import lock_work, release
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live_events import LiveEventType, session_channel
from tarsy.domain.status import RunStatus
from tarsy.domain.work import End, Recovered, WorkState, orphan_release
from tarsy.kit.logs import logged_errors


class Recovery:
    """Finds orphaned work and releases it."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> list[Recovered]:
        """Release all work without a heartbeat for `silent_seconds`.

        `limits` is how often work may stop in the same place, for each kind that this process knows.
        """
        silent = work.c.heartbeat_at < sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, silent_seconds)
        # Written out, so that the partial index of claimed work is used.
        orphan = (work.c.state == sa.literal_column(f"'{WorkState.CLAIMED}'")) & silent & work.c.kind.in_(list(limits))
        async with self._publisher.engine.connect() as connection:
            ids = (await connection.execute(sa.select(work.c.id).where(orphan))).scalars().all()
        recovered: list[Recovered] = []
        for work_id in ids:
            # One that cannot be recovered must not keep the others from it.
            with logged_errors("queue.recovery_failed", work_id=work_id):
                if taken := await self._recover(orphan & (work.c.id == work_id), limits):
                    recovered.append(taken)
        return recovered

    async def _recover(self, orphan: sa.ColumnElement[bool], limits: Mapping[WorkKind, int]) -> Recovered | None:
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            # A row that is locked has a writer: its worker lives, or another process recovers it.
            row = await lock_work(connection, orphan, skip_locked=True)
            if row is None:
                return None
            kind = WorkKind(row["kind"])
            outcome = orphan_release(stuck_before=row["stuck_recoveries"], moved_on=await _moved_on(connection, row), limit=limits[kind])
            await release(transaction, row, outcome)
        given_up = isinstance(outcome, End) and outcome.status is RunStatus.FAILED and not row["cancel_requested"]
        claim = Claim(kind, row["id"], row["subject_id"], row["claim_token"], row["session_id"])
        return Recovered(claim, given_up=given_up)


# The events that announce the end of a step; the beginning of one is no progress.
_PROGRESS = tuple(
    kind.value
    for kind in (
        LiveEventType.INTERACTION_CREATED,
        LiveEventType.STAGE_STARTED,
        LiveEventType.STAGE_COMPLETED,
        LiveEventType.EXECUTION_STATUS,
    )
)


async def _moved_on(connection: AsyncConnection, row: sa.RowMapping) -> bool:
    """Return whether the run has ended any step since it was claimed: every stored step was announced."""
    if row["session_id"] is None:
        return False
    progress = sa.select(events.c.id).where(
        events.c.session_id == row["session_id"],
        events.c.channel == session_channel(row["session_id"]),
        events.c.created_at > row["claimed_at"],
        events.c.payload["type"].astext.in_(_PROGRESS),
    )
    return (await connection.execute(progress.limit(1))).first() is not None
