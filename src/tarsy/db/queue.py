"""The queue, in SQL: claiming with an exact cap, heartbeats, handing back.

Claims are taken one at a time (advisory lock), because only then does what is found running hold until the claim is made.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db import signals
from tarsy.db.claim_tables import CLAIM_TABLES
from tarsy.db.leftovers import interrupt_events
from tarsy.db.outbox import publish
from tarsy.db.retry import is_transient
from tarsy.db.session_rows import chat_message_of, score_of, session_of
from tarsy.db.tables import agent_executions, alert_sessions
from tarsy.domain import announce
from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import ChatWork, Pulse, ScoreWork, SessionWork, Work

# Whether there is anything to claim at all: most of the time there is not, and nobody has to take turns to find out.
_CLAIMABLE = {
    ClaimKind.SESSION: sa.text(
        "SELECT EXISTS (SELECT FROM alert_sessions WHERE status = 'pending' AND deleted_at IS NULL) "
        "AND (SELECT count(*) FROM alert_sessions WHERE status IN ('in_progress', 'cancelling')) < :cap"
    ),
    ClaimKind.CHAT: sa.text("SELECT EXISTS (SELECT FROM chat_user_messages WHERE status = 'pending') AND :cap > 0"),
    ClaimKind.SCORE: sa.text("SELECT EXISTS (SELECT FROM session_scores WHERE status = 'pending') AND :cap > 0"),
}

# An arbitrary number that only this lock uses. Whoever is paused while it holds the lock keeps all processes waiting: not for long. The
# last limit begins when the lock is held, and only where the server knows it (from PostgreSQL 17 on).
CLAIM_LOCK = sa.text(
    """
    SELECT set_config('lock_timeout', '5s', true), pg_advisory_xact_lock(7421901),
        set_config('idle_in_transaction_session_timeout', '2s', true),
        CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '0', true) || set_config('transaction_timeout', '5s', true)
        END
    """
)

_CLAIM_SESSION = sa.text(
    """
    WITH running AS (
        SELECT count(*) AS n FROM alert_sessions WHERE status IN ('in_progress', 'cancelling')
    ),
    next AS (
        SELECT s.id
        FROM alert_sessions s, running
        WHERE s.status = 'pending' AND s.deleted_at IS NULL AND running.n < :cap
        ORDER BY s.created_at, s.id
        LIMIT 1
        FOR UPDATE OF s SKIP LOCKED
    )
    UPDATE alert_sessions s
    SET status = 'in_progress', pod_id = :pod, claim_token = :token, last_interaction_at = now(),
        started_at = coalesce(s.started_at, now())
    FROM next
    WHERE s.id = next.id
    RETURNING s.*
    """
)

# A follow-up gives its stage the next number of the session. While one has been claimed and has none yet, another would take the same.
_CLAIM_OTHER = """
    UPDATE {table} w
    SET status = 'active', pod_id = :pod, claim_token = :token, last_interaction_at = now()
    WHERE w.id = (
        SELECT c.id FROM {table} c
        WHERE c.status = 'pending' AND NOT EXISTS (
            SELECT FROM {sibling} s WHERE s.session_id = c.session_id AND s.status = 'active' AND s.stage_id IS NULL
        )
        ORDER BY c.created_at, c.id LIMIT 1 FOR UPDATE OF c SKIP LOCKED
    )
    RETURNING w.*
    """
_SIBLINGS = {ClaimKind.CHAT: ClaimKind.SCORE, ClaimKind.SCORE: ClaimKind.CHAT}


class WorkQueue:
    """Claims work for one process (`pod_id`)."""

    def __init__(self, engine: AsyncEngine, *, pod_id: str) -> None:
        self._engine = engine
        self._statements = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._pod = pod_id
        # Its workers queue here and not in the database, where each of them would hold a connection that the heartbeat needs.
        self._turn = anyio.Lock()

    def is_transient(self, error: BaseException) -> bool:
        return is_transient(error)

    async def claim(self, kind: ClaimKind, *, cap: int) -> tuple[Work, list[StoredLiveEvent]] | None:
        """Take the oldest waiting work of a kind, or None when there is none or (sessions) the cap is reached."""
        async with self._statements.connect() as connection:
            if not (await connection.execute(_CLAIMABLE[kind], {"cap": cap})).scalar_one():
                return None
        async with self._turn, self._engine.begin() as connection:
            await connection.execute(CLAIM_LOCK)
            if kind is ClaimKind.SESSION:
                return await self._claim_session(connection, cap)
            return await self._claim_other(connection, kind)

    async def _claim_session(self, connection: AsyncConnection, cap: int) -> tuple[Work, list[StoredLiveEvent]] | None:
        token = str(uuid4())
        row = (await connection.execute(_CLAIM_SESSION, {"cap": cap, "pod": self._pod, "token": token})).mappings().first()
        if row is None:
            return None
        session = session_of(row)
        news = announce.session_status(
            session.id, SessionStatus.IN_PROGRESS, alert_type=session.alert_type, at=session.last_interaction_at or session.created_at
        )
        published = await publish(connection, news, session_id=session.id)
        return SessionWork(Claim(ClaimKind.SESSION, session.id, session.id, token), session), published

    async def _claim_other(self, connection: AsyncConnection, kind: ClaimKind) -> tuple[Work, list[StoredLiveEvent]] | None:
        token = str(uuid4())
        statement = sa.text(_CLAIM_OTHER.format(table=CLAIM_TABLES[kind].name, sibling=CLAIM_TABLES[_SIBLINGS[kind]].name))
        row = (await connection.execute(statement, {"pod": self._pod, "token": token})).mappings().first()
        if row is None:
            return None
        parent = sa.select(alert_sessions).where(alert_sessions.c.id == row["session_id"])
        session = session_of((await connection.execute(parent)).mappings().one())
        claim = Claim(kind, str(row["id"]), session.id, token)
        if kind is ClaimKind.CHAT:
            question = chat_message_of(row)
            published = await publish(connection, [announce.chat_message(question)], session_id=session.id)
            return ChatWork(claim, session, question), published
        return ScoreWork(claim, session, score_of(row)), []

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse]:
        """Say that this process is alive and hear, per claim id, whether the claim still is."""
        pulses = {claim.id: Pulse.LOST for claim in claims}
        async with self._engine.begin() as connection:
            for kind in sorted({claim.kind for claim in claims}):
                of_kind = [claim for claim in claims if claim.kind is kind]
                table = CLAIM_TABLES[kind]
                wants_cancel = table.c.status == "cancelling" if kind is ClaimKind.SESSION else table.c.cancel_requested
                # By id, which is indexed; in order, so that no two writers wait for each other.
                held = sa.tuple_(table.c.id, table.c.claim_token).in_([(claim.id, claim.token) for claim in of_kind])
                locked = sa.select(table.c.id).where(held).order_by(table.c.id).with_for_update(key_share=True).cte("locked")
                statement = sa.update(table).where(table.c.id == locked.c.id).values(last_interaction_at=sa.func.now())
                for row in await connection.execute(statement.returning(table.c.id, wants_cancel.label("cancel"))):
                    pulses[row.id] = Pulse.CANCEL if row.cancel else Pulse.ALIVE
        return pulses

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]:
        """Executions of these claims that somebody asked to stop: finds what a lost notification did not tell."""
        of_claims = agent_executions.c.session_id.in_([claim.session_id for claim in claims])
        running = agent_executions.c.cancel_requested & agent_executions.c.status.in_(["pending", "active"])
        async with self._engine.connect() as connection:
            return (await connection.execute(sa.select(agent_executions.c.id).where(of_claims, running))).scalars().all()

    async def hand_back(self, claim: Claim) -> list[StoredLiveEvent]:
        """Return unfinished work to the queue, resumable: not a recovery, nobody failed."""
        table = CLAIM_TABLES[claim.kind]
        held = (table.c.id == claim.id) & (table.c.claim_token == claim.token)
        # Who is being cancelled is not handed on: recovery ends it, should its worker not have come to it.
        held &= table.c.status == SessionStatus.IN_PROGRESS if claim.kind is ClaimKind.SESSION else ~table.c.cancel_requested
        values: dict[str, Any] = {"status": "pending", "claim_token": None, "pod_id": None}
        async with self._engine.begin() as connection:
            back = sa.update(table).where(held).values(values).returning(table, sa.func.now().label("now"))
            row = (await connection.execute(back)).mappings().first()
            if row is None:
                return []
            await signals.notify(connection, signals.WORK, claim.kind)
            news = await interrupt_events(connection, claim.kind, claim.session_id, row["now"])
            if claim.kind is ClaimKind.SESSION:
                news += announce.session_status(claim.id, SessionStatus.PENDING, alert_type=row["alert_type"], at=row["now"])
            return await publish(connection, news, session_id=claim.session_id)

    async def depth(self) -> Mapping[str, int]:
        """How many sessions wait and run, over all processes."""
        query = sa.select(alert_sessions.c.status, sa.func.count()).where(
            alert_sessions.c.status.in_(["pending", "in_progress", "cancelling"]), alert_sessions.c.deleted_at.is_(None)
        )
        async with self._engine.connect() as connection:
            rows = await connection.execute(query.group_by(alert_sessions.c.status))
            return dict(rows.tuples().all())
