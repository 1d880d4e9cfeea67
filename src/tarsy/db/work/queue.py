"""Pure module: how work is claimed, in SQL, after the rules of its kind."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from uuid import uuid4

import anyio
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import RawConnection, Row, Statement, borrowed, columns_of, transaction
from tarsy.db.outbox import publish
from tarsy.db.tables import sql_list, work
from tarsy.db.work.parking import DUE, wake_due
from tarsy.db.work.release import claimed_row, finish, release
from tarsy.db.work.subjects import SUBJECTS, UNREAD, Subject
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, HeartbeatResult, Park, Pause, Release, WorkRules, WorkState

_READY = f"""
    w.kind = :kind AND w.state = {sql_list([WorkState.READY])} AND (w.not_before IS NULL OR w.not_before <= now())"""
_NOT_PAUSED = "NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id IN ('', w.chain_id))"
_RUNNING = f"SELECT count(*) FROM work r WHERE r.state = {sql_list([WorkState.CLAIMED])}"  # noqa: S608 - our own words


_ANY_DUE = f"EXISTS (SELECT FROM work WHERE work.kind = :kind AND {DUE})"

# The chain of a session says how long its work may take; it was stored with the session.
_TIME_LIMIT = """
    coalesce(CAST(:time_limit AS double precision), (
        SELECT CAST(s.chain_snapshot ->> 'session_timeout' AS double precision) FROM alert_sessions s WHERE s.id = w.session_id
    ))"""


@cache
def claimable_statement(rules: WorkRules) -> Statement:
    """Whether there is anything to claim, and anything parked whose time has come."""
    return Statement(
        f"SELECT EXISTS (SELECT FROM work w WHERE {_candidate(rules)}) AND {_room(rules)} AS ready, {_ANY_DUE} AS due"  # noqa: S608 - our own words
    )


@cache
def claim_statement(rules: WorkRules) -> Statement:
    """Claim the first in rank and move its noun along; answers with both, and with whether more is ready and nothing has to be woken before."""
    subject = SUBJECTS.get(rules.kind)
    noun, moved = (", n.*", _moved(subject)) if subject else ("", "")
    return Statement(
        f"""
        WITH next AS (
            SELECT w.id FROM work w
            WHERE {_candidate(rules)} AND {_room(rules)}
            ORDER BY w.rank, w.id LIMIT 1
            FOR UPDATE OF w SKIP LOCKED
        ),
        claimed AS (
            UPDATE work w
            SET state = {sql_list([WorkState.CLAIMED])}, claimed_by = :pod, claim_token = :token, claimed_at = now(), heartbeat_at = now(),
                not_before = NULL, wake_requested = false, handed_back_at = NULL,
                deadline = coalesce(w.deadline + coalesce(now() - w.handed_back_at, interval '0'), now() + {_TIME_LIMIT} * interval '1 second')
            FROM next WHERE w.id = next.id
            RETURNING w.id, w.subject_id, w.session_id, w.attempts, w.deadline
        ){moved}
        SELECT c.id::text AS work_id, c.subject_id::text AS work_subject_id, c.session_id::text AS work_session_id, c.attempts AS work_attempts,
            CAST(extract(epoch FROM c.deadline - now()) AS double precision) AS seconds_left, now() AS now,
            EXISTS (SELECT FROM work w WHERE {_candidate(rules)} AND w.id <> c.id) AND NOT {_ANY_DUE} AS more{noun}
        FROM claimed c {"LEFT JOIN moved n ON true" if subject else ""}
        """  # noqa: S608 - our own words
    )


def claim_parameters(rules: WorkRules, counted: list[WorkKind], max_concurrent_sessions: int) -> dict[str, Any]:
    """What both statements need; `counted` are the kinds that share `max_concurrent_sessions`."""
    parameters: dict[str, Any] = {"kind": rules.kind}
    if rules.counts_as_session:
        parameters |= {"counted": counted, "max_sessions": max_concurrent_sessions}
    if rules.max_concurrent is not None:
        parameters |= {"at_once": rules.max_concurrent}
    return parameters


def _candidate(rules: WorkRules) -> str:
    siblings = [SUBJECTS[kind] for kind in sorted(rules.begins_apart_from) if kind in SUBJECTS]
    return " AND ".join([_READY, *([_NOT_PAUSED] if rules.held_by_pause else []), *(_has_begun(one) for one in siblings)])


def _room(rules: WorkRules) -> str:
    shared = [f"({_RUNNING} AND r.kind = ANY(CAST(:counted AS text[]))) < :max_sessions"] if rules.counts_as_session else []
    own = [f"({_RUNNING} AND r.kind = :kind) < :at_once"] if rules.max_concurrent is not None else []
    return " AND ".join([*shared, *own]) or "true"


def _has_begun(sibling: Subject) -> str:
    """A follow-up gives its stage the next number of the session: while one is claimed and has none yet, another would take the same."""
    table, claimed = sibling.door.table.name, sql_list([sibling.claimed])
    return f"NOT EXISTS (SELECT FROM {table} s WHERE s.session_id = w.session_id AND s.status = {claimed} AND s.stage_id IS NULL)"


def _moved(subject: Subject) -> str:
    target = subject.claimed
    return f""",
        moved AS (
            UPDATE {subject.door.table.name} n SET status = {sql_list([target])}{subject.at_claim}
            FROM claimed c WHERE n.id = c.subject_id AND n.status IN ({subject.door.sources(target)})
            RETURNING {columns_of(subject.door.table, "n", without=UNREAD)}
        )"""  # noqa: S608 - our own words


# An arbitrary number that only this lock uses. A process that is paused while it holds the lock keeps all others waiting: not for long.
# The last limit begins when the lock is held, and only where the server knows it (from PostgreSQL 17 on).
CLAIM_LOCK = """
    SELECT set_config('lock_timeout', '5s', true), pg_advisory_xact_lock(7421901),
        set_config('idle_in_transaction_session_timeout', '2s', true),
        CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '0', true) || set_config('transaction_timeout', '5s', true)
        END"""

# A row that is locked is being written to by a worker or by a writer that outlasts this beat: it is left out, and no other row waits
# for it. What was asked of each claim is read past the locks.
_BEAT = Statement(
    """
    WITH mine AS (
        SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS uuid[])) AS m(id, token)
    ),
    heard AS (
        SELECT w.id FROM work w JOIN mine m ON w.id = m.id AND w.claim_token = m.token FOR NO KEY UPDATE OF w SKIP LOCKED
    ),
    beaten AS (
        UPDATE work w SET heartbeat_at = now() FROM heard WHERE w.id = heard.id
    )
    SELECT w.id::text AS id, w.cancel_requested, p.chain_id AS pause, p.since, p.actor, p.reason
    FROM work w JOIN mine m ON w.id = m.id AND w.claim_token = m.token
    LEFT JOIN LATERAL (
        SELECT * FROM pauses WHERE parks_running AND chain_id IN ('', w.chain_id) ORDER BY chain_id LIMIT 1
    ) p ON true
    """
)

_UNWANTED = Statement(
    f"""
    SELECT id::text AS id FROM agent_executions
    WHERE session_id = ANY(CAST(:sessions AS uuid[])) AND cancel_requested
        AND status IN ({sql_list(status for status in RunStatus if not status.is_final)})
    """  # noqa: S608 - our own words
)


class WorkQueue:
    """The table of work as one process (`pod_id`) sees it."""

    def __init__(self, engine: AsyncEngine, *, pod_id: str) -> None:
        self._engine = engine
        self._pod = pod_id
        # Its workers queue here and not in the database, where each of them would hold a connection that the heartbeat needs.
        self._turn = anyio.Lock(fast_acquire=True)
        # Kinds of which the last claim left more behind: the next one need not look first.
        self._known_ready: set[WorkKind] = set()

    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None:
        """Take the first work of a kind, or None when there is none to be had or no room for it.

        `counted` are the kinds that share `max_concurrent_sessions`.
        """
        parameters = claim_parameters(rules, list(counted), max_concurrent_sessions)
        woken: list[StoredLiveEvent] = []
        if rules.kind not in self._known_ready:
            async with borrowed(self._engine) as connection:
                # Most of the time there is nothing, and no process has to take turns to find out.
                (found,) = await claimable_statement(rules).rows(connection, parameters)
            woken = await wake_due(self._engine, rules.kind) if found["due"] else []
            if not found["ready"] and not found["due"]:
                return None
        self._known_ready.discard(rules.kind)
        async with self._turn, transaction(self._engine, begins_with=CLAIM_LOCK) as connection:
            claimed = await self._claim(connection, rules, parameters)
        return (claimed[0], [*woken, *claimed[1]]) if claimed else None

    async def _claim(
        self, connection: RawConnection, rules: WorkRules, parameters: Mapping[str, Any]
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None:
        token = str(uuid4())
        values = {**parameters, "pod": self._pod, "token": token, "time_limit": rules.time_limit}
        row = await claim_statement(rules).row(connection, values)
        if row is None:
            return None
        if row["more"]:
            self._known_ready.add(rules.kind)
        session_id = row["work_session_id"]
        claim = Claim(rules.kind, row["work_id"], row["work_subject_id"], token, session_id)
        subject = SUBJECTS.get(rules.kind)
        if subject and row["id"] is None:
            # Its noun has ended without it: there is nothing left to do.
            await finish(connection, claim)
            return None
        noun = await subject.read(connection, row) if subject else None
        told = subject.moved(row, row["now"], None) if subject else ()
        published = await publish(connection, told, session_id=session_id)
        is_new = subject is not None and subject.begins(row)
        return Claimed(claim, noun, row["seconds_left"], row["work_attempts"], is_new), published

    async def heartbeat(self, claims: Sequence[Claim]) -> Mapping[str, HeartbeatResult | Park]:
        """Say that this process is alive and hear, per claim id, whether the claim still is, or what parks it."""
        pulses: dict[str, HeartbeatResult | Park] = {claim.id: HeartbeatResult.LOST for claim in claims}
        parameters = {"ids": [claim.id for claim in claims], "tokens": [claim.token for claim in claims]}
        async with borrowed(self._engine) as connection:
            for row in await _BEAT.rows(connection, parameters):
                pulses[row["id"]] = _pulse(row)
        return pulses

    async def cancelled_executions(self, claims: Sequence[Claim]) -> Sequence[str]:
        """Executions of these claims that a person asked to stop: finds what a lost notification did not tell."""
        async with borrowed(self._engine) as connection:
            rows = await _UNWANTED.rows(connection, {"sessions": [claim.session for claim in claims if claim.session]})
        return [row["id"] for row in rows]

    async def release(self, claim: Claim, how: Release) -> list[StoredLiveEvent]:
        """Give up a claim as `how` says, unless something else was asked for meanwhile; nothing happens if the claim was lost."""
        async with self._engine.begin() as connection:
            row = await claimed_row(connection, (work.c.id == claim.id) & (work.c.claim_token == claim.token))
            return await release(connection, row, how) if row else []

    async def finish(self, claim: Claim) -> None:
        """End work that has no noun whose end would end it."""
        async with borrowed(self._engine) as connection:
            await finish(connection, claim)


def _pulse(row: Row) -> HeartbeatResult | Park:
    if row["cancel_requested"]:
        return HeartbeatResult.CANCEL
    if row["pause"] is not None:
        pause = Pause(row["pause"] or None, row["since"], row["actor"], row["reason"], parks_running=True)
        return Park(pause.description, pause=row["pause"])
    return HeartbeatResult.ALIVE
