"""WorkQueue: what a process that works does with the table of work: claims, heartbeats, letting go, taking back.

Claims are taken one at a time (advisory lock), because only then does what is found running hold until the claim is made.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import anyio
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import RawConnection, Row, Statement, borrowed, transaction
from tarsy.db.outbox import publish
from tarsy.db.tables import sql_list, work
from tarsy.db.work.claim_statement import claim_parameters, claim_statement, claimable_statement
from tarsy.db.work.parking import wake_due
from tarsy.db.work.release import claimed_row, finish, release
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, Parking, Pause, Pulse, Release, WorkRules

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

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse | Parking]:
        """Say that this process is alive and hear, per claim id, whether the claim still is, or what parks it."""
        pulses: dict[str, Pulse | Parking] = {claim.id: Pulse.LOST for claim in claims}
        parameters = {"ids": [claim.id for claim in claims], "tokens": [claim.token for claim in claims]}
        async with borrowed(self._engine) as connection:
            for row in await _BEAT.rows(connection, parameters):
                pulses[row["id"]] = _pulse(row)
        return pulses

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]:
        """Executions of these claims that a person asked to stop: finds what a lost notification did not tell."""
        async with borrowed(self._engine) as connection:
            rows = await _UNWANTED.rows(connection, {"sessions": [claim.session for claim in claims if claim.session]})
        return [row["id"] for row in rows]

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]:
        """Give up a claim as `wish` says, unless something else was asked for meanwhile; nothing happens if the claim was lost."""
        async with self._engine.begin() as connection:
            row = await claimed_row(connection, (work.c.id == claim.id) & (work.c.claim_token == claim.token))
            return await release(connection, row, wish) if row else []

    async def finish(self, claim: Claim) -> None:
        """End work that has no noun whose end would end it."""
        async with borrowed(self._engine) as connection:
            await finish(connection, claim)


def _pulse(row: Row) -> Pulse | Parking:
    if row["cancel_requested"]:
        return Pulse.CANCEL
    if row["pause"] is not None:
        pause = Pause(row["pause"] or None, row["since"], row["actor"], row["reason"], parks_running=True)
        return Parking(pause.told, pause=row["pause"])
    return Pulse.ALIVE
