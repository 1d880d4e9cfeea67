"""Spending in the database: the amounts reserved for model calls by all processes, and the amounts spent.

A reservation is written before its call and deleted by the step that stores the call. Until the worker marks the request as sent, the
reservation belongs to the worker's claim and ends with it; after that it counts as spent, because nobody knows how far the vendor got. Under the budget of a period reservations are made
one at a time (advisory lock): otherwise two of them could both fit into the same rest.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.retry import retried
from tarsy.db.rows import read
from tarsy.db.tables import sql_list
from tarsy.db.work.release import HELD_CLAIM, claim_parameters
from tarsy.domain.alert import Severity
from tarsy.domain.budget import Reservation, Spent, SpentBy
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.status import RunStatus

# An arbitrary number that no other lock uses.
_LOCK = sa.text("SELECT set_config('lock_timeout', '5s', true), pg_advisory_xact_lock(7421902)")
_RESERVE = sa.text(
    f"""
    WITH held AS ({HELD_CLAIM}),
    made AS (
        INSERT INTO reservations (id, session_id, stage_id, execution_id, is_kept, unsent_under, usd, tokens, model_calls)
        SELECT r.id, :session_id, :stage_id, :execution_id, r.is_kept, CASE WHEN NOT r.is_kept THEN CAST(:token AS uuid) END,
            r.usd, r.tokens, r.model_calls
        FROM held, unnest(CAST(:ids AS uuid[]), CAST(:is_kept AS boolean[]), CAST(:usd AS numeric[]),
            CAST(:tokens AS bigint[]), CAST(:model_calls AS integer[])) AS r(id, is_kept, usd, tokens, model_calls)
        ON CONFLICT (id) DO UPDATE SET usd = excluded.usd, tokens = excluded.tokens, model_calls = excluded.model_calls, created_at = now()
    )
    SELECT 1 FROM held
    """
)
_MARK_SENT = sa.text(
    f"""
    WITH held AS ({HELD_CLAIM})
    UPDATE reservations r SET unsent_under = NULL FROM held WHERE r.id = :id RETURNING 1
    """
)
_ENDED = sql_list(status for status in RunStatus if status.is_final)
# The sums of finished calls are kept by day; reservations belong to calls of the moment, and to those whose usage never became known.
_PERIOD = sa.text(
    f"""
    SELECT (
        SELECT coalesce(sum(u.cost_usd), 0) FROM usage_days u
        WHERE u.day >= CAST(:first AS date) AND (CAST(:chain AS text) IS NULL OR u.chain_id = :chain)
            AND (CAST(:alert_type AS text) IS NULL OR u.alert_type = :alert_type)
    ) AS spent, (
        SELECT coalesce(sum(r.usd), 0) FROM reservations r
        JOIN alert_sessions s ON s.id = r.session_id JOIN agent_executions e ON e.id = r.execution_id
        WHERE r.created_at >= CAST(:first AS timestamp) AT TIME ZONE 'UTC' AND NOT (r.is_kept AND e.status IN ({_ENDED}))
            AND (r.unsent_under IS NULL OR EXISTS (SELECT FROM work w WHERE w.session_id = r.session_id AND w.claim_token = r.unsent_under))
            AND r.id <> ALL(CAST(:without AS uuid[]))
            AND (CAST(:chain AS text) IS NULL OR s.chain_id = :chain) AND (CAST(:alert_type AS text) IS NULL OR s.alert_type = :alert_type)
    ) AS reserved
    """
)
# An announced tool call is spent unless it was refused; a model call that was sent and whose usage never became known counts with its reservation.
_SPENT = sa.text(
    """
    SELECT CAST(e.stage_id AS text) AS stage_id, CAST(e.id AS text) AS execution_id, CAST(e.parent_execution_id AS text) AS parent_execution_id,
        m.usd + o.usd AS usd, m.tokens + o.tokens AS tokens, m.calls + o.calls AS model_calls, t.calls AS tool_calls, m.seconds + c.seconds AS seconds
    FROM agent_executions e
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(input_tokens + output_tokens), 0) AS tokens, count(*) AS calls,
            coalesce(sum(duration_ms), 0) / 1000.0 AS seconds
        FROM llm_interactions WHERE execution_id = e.id
    ) m
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(usd), 0) AS usd, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(model_calls), 0) AS calls
        FROM reservations WHERE execution_id = e.id AND NOT is_kept AND unsent_under IS NULL
    ) o
    CROSS JOIN LATERAL (
        SELECT greatest(count(*) FILTER (WHERE event_type = 'llm_tool_call') - count(*) FILTER (WHERE metadata ? 'refused'), 0) AS calls
        FROM timeline_events WHERE execution_id = e.id
    ) t
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(duration_ms), 0) / 1000.0 AS seconds FROM mcp_interactions WHERE execution_id = e.id AND kind = 'tool_call'
    ) c
    WHERE e.session_id = :session_id
    """
)
_CRITICAL = sa.text(
    f"SELECT 1 FROM alert_sessions s JOIN incidents i ON i.id = s.incident_id WHERE s.id = :session_id AND i.severity = '{Severity.CRITICAL}'"
)


class PostgresSpendingStore:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._autocommit = autocommit(engine)

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        """Return what each execution of a session has spent."""
        async with self._autocommit.connect() as connection:
            rows = (await connection.execute(_SPENT, {"session_id": session_id})).mappings().all()
        return [read(SpentBy, row, spent=read(Spent, row)) for row in rows]

    async def is_critical(self, session_id: str) -> bool:
        """Return whether a session investigates an incident that the budget of a period does not stop."""
        async with self._autocommit.connect() as connection:
            return (await connection.execute(_CRITICAL, {"session_id": session_id})).first() is not None

    # Writing the same reservation again changes nothing.
    @retried(finish_attempt=True)
    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        """Reserve amounts, or return the first period whose budget they would exceed.

        Raises:
            ClaimLostError: the claim's token is no longer the row's.
        """
        if not periods:
            async with self._autocommit.connect() as connection:
                return await _reserve(connection, reservation)
        needed = reservation.wanted.usd + reservation.kept.usd
        async with self._engine.begin() as connection:
            await connection.execute(_LOCK)
            for budget in periods:
                # The row that it replaces, and its own from an attempt whose answer was lost.
                own = (reservation.execution_id, reservation.id)
                state = await _state(connection, budget, datetime.now(UTC).date(), without=own)
                if state.used + needed > budget.usd:
                    return state
            return await _reserve(connection, reservation)

    @retried()
    async def mark_sent(self, reservation: Reservation) -> None:
        """Record that the request of a reservation is sent now: from here on the reservation counts as spent, even if the worker dies.

        Raises:
            ClaimLostError: the claim's token is no longer the row's.
        """
        claim = reservation.claim
        async with self._autocommit.connect() as connection:
            marked = await connection.execute(_MARK_SENT, claim_parameters(claim) | {"id": reservation.id})
            if marked.first() is None:
                raise ClaimLostError(claim)

    async def states(self, periods: Sequence[PeriodBudget], now: datetime) -> Sequence[PeriodState]:
        """Return how far each budget is used."""
        async with self._autocommit.connect() as connection:
            return [await _state(connection, budget, now.date()) for budget in periods]


async def _reserve(connection: AsyncConnection, reservation: Reservation) -> None:
    claim, amounts = reservation.claim, (reservation.wanted, reservation.kept)
    parameters = {
        **claim_parameters(claim),
        "session_id": claim.session_id,
        "stage_id": reservation.stage_id,
        "execution_id": reservation.execution_id,
        # The row of the call, and that of the execution's conclusion, which replaces the one before.
        "ids": [reservation.id, reservation.execution_id],
        "is_kept": [False, True],
        "usd": [amount.usd for amount in amounts],
        "tokens": [amount.tokens for amount in amounts],
        "model_calls": [amount.model_calls for amount in amounts],
    }
    if (await connection.execute(_RESERVE, parameters)).first() is None:
        raise ClaimLostError(claim)


async def _state(connection: AsyncConnection, budget: PeriodBudget, today: date, without: Sequence[str] = ()) -> PeriodState:
    parameters = {"first": budget.per.first_day(today), "chain": budget.chain, "alert_type": budget.alert_type, "without": list(without)}
    row = (await connection.execute(_PERIOD, parameters)).one()
    return PeriodState(budget=budget, spent=row.spent, reserved=row.reserved)
