"""The durable record of a run: each step is one transaction, checked against the claim and published when it commits.

Locks are always taken in the same order: the claimed row of work, its subject, the session's channel, the shared channel.
"""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import rows
from tarsy.db.connection import autocommit
from tarsy.db.errors import NotFoundError
from tarsy.db.outbox import Deliver, draft_of, stored_event
from tarsy.db.retry import retried, retrying
from tarsy.db.run.status import end_followup, end_session, expire_approvals, interrupt_events
from tarsy.db.run.step_statement import step_statement
from tarsy.db.session.followups import request_score
from tarsy.db.tables import (
    agent_executions,
    approvals,
    llm_interactions,
    mcp_interactions,
    messages,
    run_inputs,
    timeline_events,
    work,
)
from tarsy.db.work.release import lock_claimed, lock_work
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain import live_events
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live_events import LiveEvent, StoredLiveEvent
from tarsy.domain.session import with_cancellation
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Committed, Step, StoredCall, StoredRun

# An agent that completes has waited for all its approvals.
_STOPPED = frozenset(status for status in RunStatus if status.is_final) - {RunStatus.COMPLETED}
_PUBLISHED = sa.text("SELECT id FROM events WHERE channel = :channel AND payload - 'id' = CAST(:payload AS jsonb) LIMIT 1")


class PostgresJournal:
    """Writes steps and reads them back. `deliver` passes committed events to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, deliver: Deliver) -> None:
        self._engine = engine
        self._autocommit = autocommit(engine)
        self._deliver = deliver

    async def commit(self, step: Step) -> Committed:
        """Write a step. Waits while the database is away, and is not cancelled in the middle.

        Raises:
            ClaimLostError: the claim was lost; nothing was written.
        """
        is_repeated = False

        async def attempt() -> tuple[Committed, Sequence[StoredLiveEvent]]:
            nonlocal is_repeated
            if is_repeated and await self._is_stored(step):
                return Committed(), ()
            is_repeated = True
            if ends := step.session_close or step.work_close:
                async with self._engine.begin() as connection:
                    return await _end(connection, step, ends.completed_at)
            if stopped := [change for change in step.execution_changes if change.status in _STOPPED]:
                async with self._engine.begin() as connection:
                    return await _stop_agents(connection, step, stopped)
            async with self._autocommit.connect() as connection:
                return await _store(connection, step, _announcements(step))

        committed, published = await retrying(attempt, finish_attempt=True)
        self._deliver(published)
        return committed

    async def _is_stored(self, step: Step) -> bool:
        """Return whether an earlier attempt, whose connection was lost, was committed: then its traces are there.

        Raises:
            ClaimLostError: the row of work was erased.
        """
        async with self._engine.begin() as connection:
            # The earlier attempt may still be running. It holds the claimed row until it has ended.
            if await lock_work(connection, work.c.id == step.claim.id) is None:
                raise ClaimLostError(step.claim)
            if ends := step.session_close or step.work_close:
                table = SUBJECTS[step.claim.kind].statuses.table
                completed_at = await connection.scalar(sa.select(table.c.completed_at).where(table.c.id == step.claim.subject_id))
                return completed_at == ends.completed_at
            if announced := _announcements(step):
                draft = draft_of(step.session_id, announced[0])
                return await connection.scalar(_PUBLISHED, {"channel": draft.channel, "payload": draft.text}) is not None
            for table, new in ((messages, step.messages), (agent_executions, step.executions)):
                if new:
                    return await connection.scalar(sa.select(table.c.id).where(table.c.id == new[0].id)) is not None
        # Anything else may be written twice.
        return False

    # Whole: an agent that is cancelled this early still has to write its final status.
    @retried(finish_attempt=True)
    async def load(self, execution_id: str) -> StoredRun:
        """Return everything that an execution has stored, as a worker that continues it needs it.

        Raises:
            NotFoundError: there is no such execution.
        """
        async with self._autocommit.connect() as connection:
            return await _load(connection, execution_id)


async def _load(connection: AsyncConnection, execution_id: str) -> StoredRun:
    status = await connection.scalar(sa.select(agent_executions.c.status).where(agent_executions.c.id == execution_id))
    if status is None:
        raise NotFoundError("execution", execution_id)
    event, call, exchange = timeline_events.c, llm_interactions.c, mcp_interactions.c
    last_sequence = await connection.scalar(sa.select(sa.func.max(event.sequence_number)).where(event.execution_id == execution_id))
    inputs = await connection.execute(sa.select(run_inputs).where(run_inputs.c.execution_id == execution_id))
    conversation = await connection.execute(
        sa.select(messages).where(messages.c.execution_id == execution_id).order_by(messages.c.sequence_number)
    )
    # Not the bodies: they are large, and a worker that continues does not need them.
    calls = await connection.execute(
        sa.select(call.kind, call.turn, call.error_code, call.error_message, call.provider)
        .where(call.execution_id == execution_id)
        .order_by(call.started_at)
    )
    timed_out = await connection.execute(
        sa.select(exchange.call_id).where(
            exchange.execution_id == execution_id, exchange.is_error, exchange.result["is_timeout"].as_boolean()
        )
    )
    return StoredRun(
        inputs=tuple(rows.placed_input_of(row) for row in inputs.mappings()),
        messages=tuple(rows.message_of(row) for row in conversation.mappings()),
        calls=tuple(StoredCall(*row) for row in calls),
        timed_out_tools=frozenset(timed_out.scalars()),
        begun=status != RunStatus.PENDING,
        next_timeline_sequence=(last_sequence or 0) + 1,
    )


async def _end(connection: AsyncConnection, step: Step, at: datetime) -> tuple[Committed, Sequence[StoredLiveEvent]]:
    """Write a step that ends the subject of its work."""
    claim = step.claim
    row = await lock_claimed(connection, claim)
    subject = SUBJECTS[claim.kind]
    ended: list[LiveEvent] = []
    # The subject before the channels: indexing a long analysis takes time, and the shared channel is every session's.
    if step.session_close:
        close = with_cancellation(step.session_close, cancel_requested=row["cancel_requested"])
        session = (await connection.execute(end_session(claim.subject_id, close))).one_or_none()
        if session is None:
            raise ClaimLostError(claim)
        ended += live_events.session_completed(step.session_id, close, alert_type=session.alert_type)
        # A session that was cancelled in its last moment is not scored either.
        if step.score and close.status is SessionStatus.COMPLETED:
            await request_score(connection, step.score, chain_id=session.chain_id)
    if followup := step.work_close:
        await connection.execute(end_followup(subject.statuses, claim.subject_id, followup))
        ended += live_events.work_completed(step.session_id, claim.kind, claim.subject_id, followup)
    # Events that an agent could not close in time must not stream for ever.
    interrupted = await interrupt_events(connection, step.session_id, subject.stage_types, at)
    expired = await expire_approvals(connection, (approvals.c.session_id == step.session_id) & (approvals.c.work_id == claim.id), at)
    return await _store(connection, step, [*interrupted, *expired, *_announcements(step), *ended])


async def _stop_agents(
    connection: AsyncConnection, step: Step, stopped: Sequence[ExecutionChange]
) -> tuple[Committed, Sequence[StoredLiveEvent]]:
    """Write a step that ends agents before they are done."""
    await lock_claimed(connection, step.claim)
    of_agents = approvals.c.execution_id.in_([change.execution_id for change in stopped])
    expired = await expire_approvals(connection, of_agents, stopped[0].at)
    return await _store(connection, step, [*_announcements(step), *expired])


async def _store(connection: AsyncConnection, step: Step, announced: Sequence[LiveEvent]) -> tuple[Committed, Sequence[StoredLiveEvent]]:
    """Write a step and publish its events."""
    drafts = [draft_of(step.session_id, event) for event in announced]
    stored = (await connection.execute(*step_statement(step, drafts))).all()
    if not stored:
        raise ClaimLostError(step.claim)
    unread = tuple(rows.note_of(row) for row in stored[0].notes or ())
    if unread and step.unless_notes:
        return Committed(unread, refused=True), ()
    return Committed(unread), [stored_event(draft, row.id) for draft, row in zip(drafts, stored, strict=False)]


def _announcements(step: Step) -> list[LiveEvent]:
    """Return the events that show a step to people, in their order; the end of the session or follow-up is not among them."""
    session_id = step.session_id
    stage_ends = [live_events.stage_completed(session_id, close) for close in step.stage_closes]
    # A stage that begins is announced after the one it follows, which ends in the same step.
    announced: list[LiveEvent] = list(stage_ends) if step.stages else []
    if step.conclusion:
        announced.append(live_events.session_concluded(session_id, step.conclusion))
    for stage in step.stages:
        announced += live_events.stage_started(stage)
    # An entry that is opened and closed in one step is announced as created before it is announced as completed.
    closed = {close.event_id for close in step.closed}
    count = max((place for place, event in enumerate(step.opened, start=1) if event.id in closed), default=0)
    announced += [live_events.timeline_created(event) for event in step.opened[:count]]
    announced += [live_events.timeline_completed(session_id, close) for close in step.closed]
    announced += [live_events.timeline_created(event) for event in step.opened[count:]]
    announced += [live_events.interaction_created(interaction) for interaction in (*step.llm_interactions, *step.mcp_interactions)]
    announced += [live_events.execution_status(session_id, change) for change in step.execution_changes]
    return announced if step.stages else [*announced, *stage_ends]
