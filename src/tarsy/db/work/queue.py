"""The queue of work as a process that works on it sees it: claims, heartbeats, releases.

Claims are made one at a time (advisory lock): otherwise two of them could both fit under the same limit.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from tarsy.db.connection import autocommit
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.retry import is_transient
from tarsy.db.rows import Row
from tarsy.db.tables import sql_list, work
from tarsy.db.work.parking import DUE, wake_due
from tarsy.db.work.release import finish, lock_claimed, lock_work, release
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, End, HeartbeatResult, Park, Pause, Release, RetryLater, RetryPolicy, WorkRules, WorkState

log = structlog.get_logger(__name__)

# An arbitrary number that no other lock uses. A process that is paused while it holds the lock keeps all others waiting: not for long.
# The last limit begins when the lock is held, and only on servers that know it (from PostgreSQL 17 on).
CLAIM_LOCK = sa.text(
    """
    SELECT set_config('lock_timeout', '5s', true), pg_advisory_xact_lock(7421901),
        set_config('idle_in_transaction_session_timeout', '2s', true),
        CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '0', true) || set_config('transaction_timeout', '5s', true)
        END
    """
)

_READY = f"w.kind = :kind AND w.state = '{WorkState.READY}' AND (w.not_before IS NULL OR w.not_before <= now())"
_NOT_PAUSED = "NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id IN ('', w.chain_id))"
_OWN = "w.session_id = ANY(CAST(:sessions AS uuid[]))"
_RUNNING = f"SELECT count(*) FROM work r WHERE r.state = '{WorkState.CLAIMED}'"

# A row that is locked is being written to by a worker or by a writer that takes longer than this heartbeat: it is left out, and no other
# row waits for it. Requests to stop or to park are read without locks.
_HEARTBEAT = sa.text(
    """
    WITH mine AS (
        SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS uuid[])) AS m(id, token)
    ),
    free AS (
        SELECT w.id FROM work w JOIN mine m ON w.id = m.id AND w.claim_token = m.token FOR NO KEY UPDATE OF w SKIP LOCKED
    ),
    updated AS (
        UPDATE work w SET heartbeat_at = now() FROM free WHERE w.id = free.id
    )
    SELECT CAST(w.id AS text) AS id, w.cancel_requested, p.chain_id AS pause, p.since, p.actor, p.reason
    FROM work w JOIN mine m ON w.id = m.id AND w.claim_token = m.token
    LEFT JOIN LATERAL (
        SELECT * FROM pauses WHERE parks_running AND chain_id IN ('', w.chain_id) ORDER BY chain_id LIMIT 1
    ) p ON true
    """
)
_CANCELLED_EXECUTIONS = sa.text(
    f"""
    SELECT CAST(id AS text) FROM agent_executions
    WHERE session_id = ANY(CAST(:sessions AS uuid[])) AND cancel_requested
        AND status IN ({sql_list(status for status in RunStatus if not status.is_final)})
    """
)

# Four minutes: while the processes are replaced one by one, a newer one may be able to read what an older one cannot.
UNREADABLE = RetryPolicy(max_attempts=5, first_delay=15.0)


class _UnreadableError(Exception):
    """The cause was raised by what is stored about the work, and not by the database."""

    def __init__(self, work_id: str, retry_after: float) -> None:
        super().__init__(work_id)
        self.work_id = work_id
        self.retry_after = retry_after


class WorkQueue:
    """The table of work for one process (`pod_id`), which claims any work, or only that of the given sessions."""

    def __init__(self, publisher: Publisher, *, pod_id: str, sessions: Collection[str] | None = None) -> None:
        self._publisher = publisher
        self._autocommit = autocommit(publisher.engine)
        self._pod = pod_id
        # May grow.
        self._sessions = sessions
        # The workers of a process wait here and not in the database, where each of them would hold a connection that the heartbeat needs.
        self._lock = anyio.Lock()

    async def claim(self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int) -> Claimed[Any] | None:
        """Claim the first work of a kind. Return None if there is none, or no room for it.

        None also if the subject of the first work had ended already, or can never be read: that work is ended, and a database notification
        announces that there may be more. `counted` are the kinds that share `max_concurrent_sessions`.
        """
        token, own_sessions_only = str(uuid4()), self._sessions is not None
        parameters = {
            "kind": rules.kind,
            "counted": list(counted),
            "max_sessions": max_concurrent_sessions,
            "at_once": rules.max_concurrent,
            "pod": self._pod,
            "token": token,
            "sessions": list(self._sessions or ()),
        }
        while True:
            async with self._autocommit.connect() as connection:
                # Most of the time there is nothing to claim, and no process has to wait for the lock to find out.
                found = (await connection.execute(_claimable(rules, own_sessions_only=own_sessions_only), parameters)).one()
            if found.due:
                await wake_due(self._publisher, rules.kind)
            elif not found.ready:
                return None
            try:
                async with self._lock, self._publisher.transaction() as transaction:
                    await transaction.connection.execute(CLAIM_LOCK)
                    row = (
                        (await transaction.connection.execute(_claim(rules, own_sessions_only=own_sessions_only), parameters))
                        .mappings()
                        .first()
                    )
                    return await self._claimed(transaction, rules.kind, row, token) if row else None
            except _UnreadableError as unreadable:
                # The claim was rolled back, so that the session still begins when it can be read. Meanwhile no other work waits for it.
                async with self._publisher.transaction() as transaction:
                    is_ready = (work.c.id == unreadable.work_id) & (work.c.state == WorkState.READY.value)
                    if row := await lock_work(transaction.connection, is_ready):
                        await release(transaction, row, RetryLater(unreadable.retry_after))

    async def _claimed(self, transaction: Transaction, kind: WorkKind, row: Row, token: str) -> Claimed[Any] | None:
        connection = transaction.connection
        claim = Claim(kind, row["work_id"], row["work_subject_id"], token, row["work_session_id"])
        subject = SUBJECTS.get(kind)
        if subject is None:
            return Claimed(claim, None, row["seconds_left"], row["work_attempts"])
        if row["id"] is None:
            # Its subject has ended without it: there is nothing left to do.
            await finish(connection, claim)
            return None
        try:
            value = await subject.prepare(connection, row)
            moved = subject.moved(row, row["now"], None)
        except Exception as error:  # the boundary to what other versions have stored
            if isinstance(error, SQLAlchemyError) or is_transient(error):
                raise
            delay = UNREADABLE.delay_after(row["work_attempts"] + 1)
            log.warning("work.unreadable", kind=kind, subject_id=claim.subject_id, given_up=delay is None, exc_info=True)
            if delay is not None:
                raise _UnreadableError(claim.id, delay) from error
            # The other lines of a validation error quote the data.
            reason = f"its stored data cannot be read: {type(error).__name__}: {''.join(str(error).splitlines()[:1])}"
            await release(transaction, await lock_claimed(connection, claim), End(RunStatus.FAILED, reason))
            return None
        await transaction.publish(moved, session_id=claim.session)
        return Claimed(claim, value, row["seconds_left"], row["work_attempts"], subject.is_new(row))

    async def heartbeat(self, claims: Sequence[Claim]) -> Mapping[str, HeartbeatResult | Park]:
        """Store a heartbeat of these claims; return, per claim id, whether the claim is still held, or why it is to be parked."""
        results: dict[str, HeartbeatResult | Park] = {claim.id: HeartbeatResult.LOST for claim in claims}
        parameters = {"ids": [claim.id for claim in claims], "tokens": [claim.token for claim in claims]}
        async with self._autocommit.connect() as connection:
            for row in await connection.execute(_HEARTBEAT, parameters):
                if row.cancel_requested:
                    results[row.id] = HeartbeatResult.CANCEL
                elif row.pause is not None:
                    pause = Pause(row.pause or None, row.since, row.actor, row.reason, parks_running=True)
                    results[row.id] = Park(pause.description, pause=row.pause)
                else:
                    results[row.id] = HeartbeatResult.ALIVE
        return results

    async def cancelled_executions(self, claims: Sequence[Claim]) -> Sequence[str]:
        """Return the executions of these claims that a person asked to stop: finds those whose notification was lost."""
        sessions = [claim.session for claim in claims if claim.session]
        async with self._autocommit.connect() as connection:
            return (await connection.execute(_CANCELLED_EXECUTIONS, {"sessions": sessions})).scalars().all()

    async def release(self, claim: Claim, how: Release) -> None:
        """Release a claim, unless something else was asked for meanwhile; do nothing if the claim was lost."""
        async with self._publisher.transaction() as transaction:
            is_held = (work.c.id == claim.id) & (work.c.claim_token == claim.token)
            if row := await lock_work(transaction.connection, is_held):
                await release(transaction, row, how)


@cache
def _claimable(rules: WorkRules, *, own_sessions_only: bool) -> sa.TextClause:
    """Return the query whether there is work to claim, and parked work whose time has come."""
    return sa.text(
        f"""
        SELECT EXISTS (SELECT FROM work w WHERE {_candidate(rules, own_sessions_only=own_sessions_only)}) AND {_room(rules)} AS ready,
            EXISTS (SELECT FROM work WHERE work.kind = :kind AND {DUE}) AS due
        """
    )


@cache
def _claim(rules: WorkRules, *, own_sessions_only: bool) -> sa.Executable:
    """Return the statement that claims the first work in rank, moves its subject, and returns both."""
    subject = SUBJECTS.get(rules.kind)
    # The chain that was stored with the session limits the time of its work.
    claim = f"""
        WITH next AS (
            SELECT w.id FROM work w
            WHERE {_candidate(rules, own_sessions_only=own_sessions_only)} AND {_room(rules)}
            ORDER BY w.rank, w.id LIMIT 1
            FOR UPDATE OF w SKIP LOCKED
        ),
        claimed AS (
            UPDATE work w
            SET state = '{WorkState.CLAIMED}', claimed_by = :pod, claim_token = :token, claimed_at = now(), heartbeat_at = now(),
                not_before = NULL, wake_requested = false, handed_back_at = NULL,
                deadline = coalesce(
                    w.deadline + coalesce(now() - w.handed_back_at, interval '0'),
                    now() + interval '1 second' * (
                        SELECT CAST(s.chain_snapshot ->> 'session_timeout' AS double precision) FROM alert_sessions s WHERE s.id = w.session_id
                    )
                )
            FROM next WHERE w.id = next.id
            RETURNING w.id, w.subject_id, w.session_id, w.attempts, w.deadline
        )"""
    result = """
        SELECT CAST(c.id AS text) AS work_id, CAST(c.subject_id AS text) AS work_subject_id, CAST(c.session_id AS text) AS work_session_id,
            c.attempts AS work_attempts, CAST(extract(epoch FROM c.deadline - now()) AS double precision) AS seconds_left, now() AS now"""
    if subject is None:
        return sa.text(f"{claim} {result} FROM claimed c")
    assignments = ", ".join([f"status = '{subject.claimed}'", *subject.also_set])
    moved = f""",
        moved AS (
            UPDATE {subject.statuses.table.name} s SET {assignments}
            FROM claimed c WHERE s.id = c.subject_id AND s.status IN ({subject.statuses.sources(subject.claimed)})
            RETURNING {", ".join(f"s.{column.name}" for column in subject.columns)}
        )"""
    statement = sa.text(f"{claim}{moved} {result}, s.* FROM claimed c LEFT JOIN moved s ON true")
    return statement.columns(**{column.name: column.type for column in subject.columns})


def _candidate(rules: WorkRules, *, own_sessions_only: bool) -> str:
    """Return the condition of work `w` that may be claimed."""
    conditions = [_READY, *([_NOT_PAUSED] if rules.held_by_pause else []), *([_OWN] if own_sessions_only else [])]
    for kind in sorted(rules.begins_apart_from & SUBJECTS.keys()):
        # A follow-up gives its stage the next number of the session: while one is claimed and has no stage yet, another would take the same.
        table, claimed = SUBJECTS[kind].statuses.table.name, SUBJECTS[kind].claimed
        conditions.append(
            f"NOT EXISTS (SELECT FROM {table} s WHERE s.session_id = w.session_id AND s.status = '{claimed}' AND s.stage_id IS NULL)"
        )
    return " AND ".join(conditions)


def _room(rules: WorkRules) -> str:
    """Return the condition that the limits leave room for one more."""
    shared = [f"({_RUNNING} AND r.kind = ANY(CAST(:counted AS text[]))) < :max_sessions"] if rules.counts_as_session else []
    own = [f"({_RUNNING} AND r.kind = :kind) < :at_once"] if rules.max_concurrent is not None else []
    return " AND ".join([*shared, *own]) or "true"
