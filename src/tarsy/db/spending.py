"""The durable side of ceilings: what is reserved for model calls, by whichever process, and what was spent.

A reservation is written before its call and taken back by the step that stores the call. Under a period's ceiling reservations are made one at a
time (advisory lock), because only then does what was read as used hold until the reservation is made.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import RawConnection, Row, Statement, borrowed, transaction
from tarsy.db.retry import retrying
from tarsy.db.tables import sql_list
from tarsy.domain.alert import Severity
from tarsy.domain.budget import Reservation, Spent, SpentBy
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.status import RunStatus

# An arbitrary number that only this lock uses.
_LOCK = Statement("SELECT set_config('lock_timeout', '5s', true), pg_advisory_xact_lock(7421902)")
# Under a claim that was lost nothing is reserved. The claimed row is locked as a step locks it: it must not be lost in between.
_RESERVE = Statement(
    """
    WITH held AS (SELECT FROM work WHERE id = :claim_id AND claim_token = :token FOR SHARE),
    made AS (
        INSERT INTO reservations (id, session_id, stage_id, execution_id, is_kept, usd, tokens, model_calls)
        SELECT r.id, :session_id, :stage_id, :execution_id, r.is_kept, r.usd, r.tokens, r.model_calls
        FROM held, unnest(CAST(:ids AS uuid[]), CAST(:is_kept AS boolean[]), CAST(:usd AS numeric[]),
            CAST(:tokens AS bigint[]), CAST(:model_calls AS integer[])) AS r(id, is_kept, usd, tokens, model_calls)
        ON CONFLICT (id) DO UPDATE SET usd = excluded.usd, tokens = excluded.tokens, model_calls = excluded.model_calls, created_at = now()
    )
    SELECT FROM held
    """
)
_ENDED = sql_list(status for status in RunStatus if status.is_final)
# The sums of finished calls are kept by day; what is reserved is of the calls of the moment, and of those that never told what they used.
_PERIOD = Statement(
    f"""
    SELECT (
        SELECT coalesce(sum(u.cost_usd), 0) FROM usage_days u
        WHERE u.day >= CAST(:first AS date) AND (CAST(:chain AS text) IS NULL OR u.chain_id = :chain)
            AND (CAST(:alert_type AS text) IS NULL OR u.alert_type = :alert_type)
    ) AS spent, (
        SELECT coalesce(sum(r.usd), 0) FROM reservations r
        JOIN alert_sessions s ON s.id = r.session_id JOIN agent_executions e ON e.id = r.execution_id
        WHERE r.created_at >= CAST(:first AS timestamp) AT TIME ZONE 'UTC' AND NOT (r.is_kept AND e.status IN ({_ENDED}))
            AND (CAST(:without AS uuid) IS NULL OR r.id <> :without)
            AND (CAST(:chain AS text) IS NULL OR s.chain_id = :chain) AND (CAST(:alert_type AS text) IS NULL OR s.alert_type = :alert_type)
    ) AS reserved
    """  # noqa: S608 - our own words
)
# An announced tool call is spent, whatever became of it, unless it was refused; a model call that never told what it used is what was reserved for it.
_SPENT = Statement(
    """
    SELECT e.stage_id::text AS stage_id, e.id::text AS execution_id, e.parent_execution_id::text AS parent_execution_id,
        m.usd + o.usd AS usd, m.tokens + o.tokens AS tokens, m.calls + o.calls AS model_calls, t.calls AS tool_calls, m.seconds + c.seconds AS seconds
    FROM agent_executions e
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(input_tokens + output_tokens), 0) AS tokens, count(*) AS calls,
            coalesce(sum(duration_ms), 0) / 1000.0 AS seconds
        FROM llm_interactions WHERE execution_id = e.id
    ) m
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(usd), 0) AS usd, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(model_calls), 0) AS calls
        FROM reservations WHERE execution_id = e.id AND NOT is_kept
    ) o
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE event_type = 'llm_tool_call') - count(*) FILTER (WHERE metadata ? 'refused') AS calls
        FROM timeline_events WHERE execution_id = e.id
    ) t
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(duration_ms), 0) / 1000.0 AS seconds FROM mcp_interactions WHERE execution_id = e.id AND kind = 'tool_call'
    ) c
    WHERE e.session_id = :session_id
    """
)
_CRITICAL = Statement(
    f"SELECT FROM alert_sessions s JOIN incidents i ON i.id = s.incident_id WHERE s.id = :session_id AND i.severity = '{Severity.CRITICAL}'"
)


class PostgresSpendingStore:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        async with borrowed(self._engine) as connection:
            return [_spent(row) for row in await _SPENT.rows(connection, {"session_id": session_id})]

    async def is_critical(self, session_id: str) -> bool:
        """Whether a session investigates an incident that a period's ceiling does not stop."""
        async with borrowed(self._engine) as connection:
            return await _CRITICAL.row(connection, {"session_id": session_id}) is not None

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        async def attempt() -> PeriodState | None:
            if not periods:
                async with borrowed(self._engine) as connection:
                    return await _reserve(connection, reservation)
            async with transaction(self._engine) as connection:
                await _LOCK.rows(connection)
                return await _passed(connection, reservation, periods) or await _reserve(connection, reservation)

        # Writing the same reservation again changes nothing.
        return await retrying(attempt, whole=True)

    async def states(self, periods: Sequence[PeriodBudget], now: datetime) -> Sequence[PeriodState]:
        """How far each budget is used."""
        async with borrowed(self._engine) as connection:
            return [await _state(connection, budget, now.date()) for budget in periods]


async def _reserve(connection: RawConnection, reservation: Reservation) -> None:
    claim = reservation.claim
    parameters = {
        "claim_id": claim.id,
        "token": claim.token,
        "session_id": claim.session_id,
        "stage_id": reservation.stage_id,
        "execution_id": reservation.execution_id,
        **_rows(reservation),
    }
    if not await _RESERVE.rows(connection, parameters):
        raise ClaimLostError(claim)


def _rows(reservation: Reservation) -> Mapping[str, list[Any]]:
    """The call's own row, and that of the conclusion, which takes the place of the one before."""
    amounts = (reservation.wanted, reservation.kept)
    return {
        "ids": [reservation.id, reservation.execution_id],
        "is_kept": [False, True],
        "usd": [amount.usd for amount in amounts],
        "tokens": [amount.tokens for amount in amounts],
        "model_calls": [amount.model_calls for amount in amounts],
    }


async def _passed(connection: RawConnection, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
    """The first period whose ceiling the reservation would pass."""
    needed = reservation.wanted.usd + reservation.kept.usd
    for budget in periods:
        state = await _state(connection, budget, datetime.now(UTC).date(), without=reservation.execution_id)
        if state.used + needed > budget.usd:
            return state
    return None


async def _state(connection: RawConnection, budget: PeriodBudget, today: date, without: str | None = None) -> PeriodState:
    parameters = {"first": budget.per.first_day(today), "chain": budget.chain, "alert_type": budget.alert_type, "without": without}
    (row,) = await _PERIOD.rows(connection, parameters)
    return PeriodState(budget=budget, spent=row["spent"], reserved=row["reserved"])


def _spent(row: Row) -> SpentBy:
    spent = Spent(
        usd=Decimal(row["usd"]),
        tokens=int(row["tokens"]),
        seconds=float(row["seconds"]),
        model_calls=row["model_calls"],
        tool_calls=max(row["tool_calls"], 0),
    )
    return SpentBy(row["stage_id"], row["execution_id"], spent, row["parent_execution_id"])
