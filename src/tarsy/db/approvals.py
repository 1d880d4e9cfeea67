"""Approvals: requested and started by workers under their claim, decided by people. A decision wakes the work that waits for it.

The row of work is locked before the approval: no decision falls between a worker's last look and the parking of its work.
"""

from collections.abc import Sequence
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Publisher
from tarsy.db.retry import retried
from tarsy.db.rows import read, storable
from tarsy.db.tables import approvals, sql_list, work
from tarsy.db.work.parking import wake
from tarsy.db.work.release import lock_claimed, lock_work
from tarsy.domain import live_events
from tarsy.domain.approval import Approval, ApprovalRequest, ApprovalState, CallOutcome
from tarsy.domain.claim import Claim
from tarsy.domain.interaction import MCPInteractionKind
from tarsy.domain.session_sort import SortOrder
from tarsy.domain.status import RunStatus
from tarsy.domain.tool import LOST_CALL
from tarsy.domain.work import WorkState

# Approvals on a page: more than people decide about in a day.
MOST_LISTED = 200

# A pending approval has expired when its time is up, and when its agent, session or question has ended. The agents of approvals that were
# decided, of which there are many, are not read.
_STATE = f"""
    CASE WHEN a.state = '{ApprovalState.PENDING}' AND (a.expires_at <= now() OR coalesce(w.state, '{WorkState.DONE}') = '{WorkState.DONE}'
            OR (SELECT status FROM agent_executions WHERE id = a.execution_id) IN ({sql_list(one for one in RunStatus if one.is_final)}))
        THEN '{ApprovalState.EXPIRED}' ELSE a.state END"""
# A call that did not answer in time, or lost its server, may have taken effect.
_OUTCOME = f"""
    CASE WHEN a.started_at IS NULL THEN '{CallOutcome.NOT_RUN}'
        WHEN result.is_lost THEN '{CallOutcome.UNKNOWN}'
        WHEN NOT result.is_lost THEN '{CallOutcome.RAN}'
        WHEN a.was_interrupted OR coalesce(w.state, '{WorkState.DONE}') <> '{WorkState.CLAIMED}' THEN '{CallOutcome.UNKNOWN}'
        ELSE '{CallOutcome.RUNNING}' END"""
_READ = f"""
    SELECT CAST(a.id AS text) AS id, CAST(a.session_id AS text) AS session_id, CAST(a.execution_id AS text) AS execution_id, a.call_id, a.evidence_id, a.server, a.tool, a.arguments, a.call_hash, {_STATE} AS state,
        a.requested_at, a.expires_at, a.decided_at, a.decided_by, a.reason, a.started_at, {_OUTCOME} AS outcome
    FROM approvals a JOIN alert_sessions s ON s.id = a.session_id LEFT JOIN work w ON w.id = a.work_id
    LEFT JOIN LATERAL (
        SELECT coalesce(CAST(m.result ->> 'is_timeout' AS boolean), false)
            OR (m.is_error AND strpos(m.result ->> 'content', '{LOST_CALL}') > 0) AS is_lost FROM mcp_interactions m
        WHERE m.execution_id = a.execution_id AND m.call_id = a.call_id AND m.kind = '{MCPInteractionKind.TOOL_CALL}' LIMIT 1
    ) result ON true"""
_ONE = sa.text(f"{_READ} WHERE a.id = :id AND s.deleted_at IS NULL")
_LIST = sa.text(
    f"""
    SELECT * FROM ({_READ} WHERE s.deleted_at IS NULL AND (CAST(:session_id AS uuid) IS NULL OR a.session_id = :session_id)) listed
    WHERE CAST(:state AS text) IS NULL OR state = :state
    ORDER BY CASE WHEN :oldest_first THEN requested_at END, requested_at DESC, id LIMIT {MOST_LISTED}
    """
)
_REQUEST = sa.text(
    f"""
    INSERT INTO approvals (
        id, session_id, execution_id, work_id, call_id, evidence_id, server, tool, arguments, call_hash, state, requested_at, expires_at
    )
    VALUES (
        :id, :session_id, :execution_id, :work_id, :call_id, :evidence_id, :server, :tool, :arguments, :call_hash, '{ApprovalState.PENDING}',
        now(), now() + make_interval(secs => :expiry)
    )
    ON CONFLICT (execution_id, call_id) DO NOTHING RETURNING id
    """
)
_EXPIRE = sa.text(
    f"""
    UPDATE approvals SET state = '{ApprovalState.EXPIRED}', decided_at = now()
    WHERE execution_id = :execution_id AND call_id = :call_id AND state = '{ApprovalState.PENDING}' AND expires_at <= now() RETURNING id
    """
)
# The second worker that starts a call learns that its outcome is unknown.
_START = sa.text(
    f"""
    UPDATE approvals SET started_at = coalesce(started_at, now()), was_interrupted = started_at IS NOT NULL
    WHERE id = :id AND state = '{ApprovalState.APPROVED}' RETURNING was_interrupted
    """
)
_DECIDE = sa.text(
    f"""
    UPDATE approvals SET state = :state, decided_at = now(), decided_by = :actor, reason = :reason
    WHERE id = :id AND state = '{ApprovalState.PENDING}' AND expires_at > now() RETURNING id
    """
)
_ACTIONS = {ApprovalState.APPROVED: AuditAction.CALL_APPROVED, ApprovalState.REJECTED: AuditAction.CALL_REJECTED}


class ApprovalRepository:
    """The approvals of an installation."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    @retried(finish_attempt=True)
    async def request(self, request: ApprovalRequest, claim: Claim) -> tuple[Approval, float]:
        """Store a call that needs an approval, unless it is stored; return it with the decision, and the seconds until it expires.

        Raises:
            ClaimLostError: the claim's token is no longer the row's.
        """
        call = {"execution_id": request.execution_id, "call_id": request.call_id}
        values = {
            "id": str(uuid4()),
            "session_id": request.session_id,
            "work_id": claim.id,
            "evidence_id": request.evidence_id,
            "server": request.server,
            "tool": request.tool,
            "arguments": storable(request.arguments),
            "call_hash": request.call_hash,
            "expiry": request.expiry,
        }
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            await lock_claimed(connection, claim, share=True)
            new = await connection.scalar(_REQUEST, values | call)
            changed = new or await connection.scalar(_EXPIRE, call)
            # By the clock that decides whether it has expired; the worker's may differ.
            left = sa.func.extract("epoch", approvals.c.expires_at - sa.func.now()).label("left")
            found = sa.select(approvals.c.id, left).where(
                approvals.c.execution_id == call["execution_id"], approvals.c.call_id == call["call_id"]
            )
            row = (await connection.execute(found)).one()
            approval = await _read(connection, row.id)
            if changed:
                await transaction.publish(live_events.approval_changed(approval), session_id=approval.session_id)
            return approval, float(row.left)

    # An attempt whose commit was lost counts: the second one finds the call started, and it is not run.
    @retried(finish_attempt=True)
    async def start(self, approval: Approval, claim: Claim) -> bool:
        """Record that an approved call runs now. Return False if it was started before.

        Raises:
            ClaimLostError: the claim's token is no longer the row's.
        """
        async with self._publisher.engine.begin() as connection:
            await lock_claimed(connection, claim, share=True)
            return not (await connection.execute(_START, {"id": approval.id})).scalar_one()

    async def list(
        self, *, state: ApprovalState | None = None, session_id: str | None = None, order: SortOrder = SortOrder.DESC
    ) -> Sequence[Approval]:
        """Return approvals in the order of their requests, at most MOST_LISTED: the newest, or with `order` ASC the oldest."""
        async with autocommit(self._publisher.engine).connect() as connection:
            return await read_approvals(connection, state=state, session_id=session_id, order=order)

    async def decide(self, approval_id: str, state: ApprovalState, *, actor: str, reason: str) -> Approval:
        """Approve or reject a call, and wake the work that waits for it.

        Raises:
            NotFoundError: there is no such approval.
            ConflictError: it was decided about before, or it has expired.
        """
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            work_id = await connection.scalar(sa.select(approvals.c.work_id).where(approvals.c.id == approval_id))
            row = await lock_work(connection, work.c.id == work_id)
            before = await _read(connection, approval_id)
            parameters = {"id": approval_id, "state": state.value, "actor": storable(actor), "reason": storable(reason)}
            is_pending = before.state is ApprovalState.PENDING
            if row is None or not is_pending or (await connection.execute(_DECIDE, parameters)).first() is None:
                raise ConflictError(_why_not(before))
            call = {"approval": approval_id, "call": f"{before.server}.{before.tool}", "arguments": before.arguments, "reason": reason}
            await add_audit_entry(connection, actor=actor, action=_ACTIONS[state], session_id=before.session_id, details=call)
            approval = await _read(connection, approval_id)
            await wake(transaction, row["kind"], row["subject_id"])
            await transaction.publish(live_events.approval_changed(approval), session_id=approval.session_id)
        return approval


async def read_approvals(
    connection: AsyncConnection, *, state: ApprovalState | None = None, session_id: str | None = None, order: SortOrder = SortOrder.DESC
) -> Sequence[Approval]:
    values = {"state": state and state.value, "session_id": session_id, "oldest_first": order is SortOrder.ASC}
    rows = await connection.execute(_LIST, values)
    return [read(Approval, row) for row in rows.mappings()]


async def _read(connection: AsyncConnection, approval_id: str) -> Approval:
    row = (await connection.execute(_ONE, {"id": approval_id})).mappings().first()
    if row is None:
        raise NotFoundError("approval", approval_id)
    return read(Approval, row)


def _why_not(approval: Approval) -> str:
    if approval.decided_by is not None and approval.decided_at is not None:
        return f"{approval.decided_by} {approval.state} this call at {approval.decided_at:%Y-%m-%d %H:%M:%S} UTC: one decision holds."
    return "This call has expired: its time was up, or its agent or session ended, before a person decided."
