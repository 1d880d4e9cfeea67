"""Running sums of what models and tools were used for: added to by the step that stores a call, read by reports.

A report reads the days that it is about, never the calls. Writers add to rows of their own: connections are spread over shards, so that
two sessions of one chain seldom wait for each other.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import Row, read
from tarsy.db.tables import session_spending
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, alert_title
from tarsy.domain.usage import (
    DayUsage,
    ExpensiveSession,
    Span,
    ToolUse,
    UsageGroup,
    UsageReport,
    UsageTotals,
    UsageTrends,
    WeekOfVerdicts,
    forecast,
)

# As many as a page shows without scrolling.
DEAREST = 10
# More than the connections that write at the same moment.
SHARDS = 16
# A quarter of a year.
WEEKS = 13

# The parts of a step's statement that add its calls (`llm_calls`, `mcp_calls`) to the sums.
# In the order of the keys, so that two writers never wait for each other in a circle.
ADD_TO_USAGE_DAYS = f"""
    INSERT INTO usage_days AS u (
        day, shard, chain_id, alert_type, agent_name, provider, model, calls, failed_calls,
        input_tokens, cached_tokens, output_tokens, thinking_tokens, cost_usd, unpriced_calls, duration_ms
    )
    SELECT CAST(c.started_at AT TIME ZONE 'UTC' AS date), pg_backend_pid() % {SHARDS}, s.chain_id, s.alert_type, e.agent_name, c.provider, c.model,
        count(*), count(*) FILTER (WHERE c.error_code IS NOT NULL),
        sum(c.input_tokens), sum(c.cached_tokens), sum(c.output_tokens), sum(c.thinking_tokens),
        coalesce(sum(c.cost_usd), 0), count(*) FILTER (WHERE c.cost_usd IS NULL AND c.total_tokens > 0), sum(c.duration_ms)
    FROM llm_calls c JOIN agent_executions e ON e.id = c.execution_id JOIN alert_sessions s ON s.id = c.session_id
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (day, shard, chain_id, alert_type, agent_name, provider, model) DO UPDATE SET
        calls = u.calls + excluded.calls, failed_calls = u.failed_calls + excluded.failed_calls,
        input_tokens = u.input_tokens + excluded.input_tokens, cached_tokens = u.cached_tokens + excluded.cached_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens, thinking_tokens = u.thinking_tokens + excluded.thinking_tokens,
        cost_usd = u.cost_usd + excluded.cost_usd, unpriced_calls = u.unpriced_calls + excluded.unpriced_calls,
        duration_ms = u.duration_ms + excluded.duration_ms"""
ADD_TO_SESSION_SPENDING = """
    INSERT INTO session_spending AS u (session_id, calls, total_tokens, cost_usd, unpriced_calls, estimated_calls)
    SELECT c.session_id, count(*), sum(c.total_tokens), coalesce(sum(c.cost_usd), 0),
        count(*) FILTER (WHERE c.cost_usd IS NULL AND c.total_tokens > 0), count(*) FILTER (WHERE c.usage_estimated)
    FROM llm_calls c GROUP BY 1
    ON CONFLICT (session_id) DO UPDATE SET
        calls = u.calls + excluded.calls, total_tokens = u.total_tokens + excluded.total_tokens,
        cost_usd = u.cost_usd + excluded.cost_usd, unpriced_calls = u.unpriced_calls + excluded.unpriced_calls,
        estimated_calls = u.estimated_calls + excluded.estimated_calls"""
# The stored sum is 0 also if no call had a known price.
KNOWN_COST = sa.case(
    ((session_spending.c.cost_usd > 0) | (session_spending.c.unpriced_calls == 0), session_spending.c.cost_usd), else_=sa.null()
)
# Requests for lists of tools are no calls.
ADD_TO_TOOL_DAYS = f"""
    INSERT INTO tool_days AS u (day, shard, server, tool, calls, failed_calls, duration_ms)
    SELECT CAST(c.started_at AT TIME ZONE 'UTC' AS date), pg_backend_pid() % {SHARDS}, c.server, c.tool,
        count(*), count(*) FILTER (WHERE c.is_error), sum(c.duration_ms)
    FROM mcp_calls c WHERE c.kind = 'tool_call' AND c.tool IS NOT NULL
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (day, shard, server, tool) DO UPDATE SET
        calls = u.calls + excluded.calls, failed_calls = u.failed_calls + excluded.failed_calls,
        duration_ms = u.duration_ms + excluded.duration_ms"""

_NAMES = tuple(field.name for field in fields(UsageTotals))
_SUMS = ", ".join(f"sum({name}) AS {name}" for name in _NAMES)
# All groups in one pass. No column is ever empty: in a group, all but its own are null.
_MODELS = sa.text(
    f"""
    SELECT CAST(day AS text) AS day, provider || ' / ' || model AS model, chain_id, alert_type, agent_name, {_SUMS}
    FROM usage_days WHERE day BETWEEN :first AND :last
    GROUP BY GROUPING SETS ((day), (provider, model), (chain_id), (alert_type), (agent_name))
    """
)
_TOOLS = sa.text(
    """
    SELECT server, tool, sum(calls) AS calls, sum(failed_calls) AS failed_calls, sum(duration_ms) AS duration_ms
    FROM tool_days WHERE day BETWEEN :first AND :last GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
    """
)
_DEAREST = sa.text(
    f"""
    SELECT CAST(s.id AS text) AS id, left(s.alert_data, {TITLE_SEARCH_CHARACTERS}) AS alert_head, s.alert_type, s.chain_id,
        p.cost_usd, p.unpriced_calls, p.total_tokens
    FROM session_spending p JOIN alert_sessions s ON s.id = p.session_id
    WHERE s.deleted_at IS NULL AND s.created_at >= CAST(:first AS date) AND s.created_at < CAST(:last AS date) + 1 AND p.cost_usd > 0
    ORDER BY p.cost_usd DESC, s.id LIMIT {DEAREST}
    """
)
_MONTH = sa.text("SELECT coalesce(sum(cost_usd), 0) FROM usage_days WHERE day BETWEEN date_trunc('month', CAST(:today AS date)) AND :today")
_DETAILS = sa.text(
    f"""
    SELECT day, chain_id, alert_type, agent_name, provider, model, {_SUMS}
    FROM usage_days WHERE day BETWEEN :first AND :last GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    """
)
_DAYS = sa.text(
    """
    SELECT day, provider || ' / ' || model AS model, alert_type,
        sum(calls) AS calls, sum(input_tokens + output_tokens) AS tokens, sum(cost_usd) AS cost_usd
    FROM usage_days WHERE day BETWEEN :first AND :last
    GROUP BY GROUPING SETS ((day, provider, model), (day, alert_type)) ORDER BY day, model, alert_type
    """
)
_SECONDS = "(ORDER BY extract(epoch FROM s.completed_at - s.created_at)) FILTER (WHERE s.verdict_outcome IS NOT NULL)"
_WEEKS = sa.text(
    f"""
    SELECT CAST(monday AS date) AS first_day,
        count(s.id) FILTER (WHERE s.verdict_outcome = 'fault') AS fault,
        count(s.id) FILTER (WHERE s.verdict_outcome = 'no_fault') AS no_fault,
        count(s.id) FILTER (WHERE s.verdict_outcome = 'inconclusive') AS inconclusive,
        count(s.id) FILTER (WHERE s.verdict_outcome IS NULL) AS no_verdict,
        percentile_cont(0.5) WITHIN GROUP {_SECONDS} AS median_seconds,
        percentile_cont(0.9) WITHIN GROUP {_SECONDS} AS p90_seconds
    FROM generate_series(
        date_trunc('week', CAST(:last AS timestamp)) - interval '{WEEKS - 1} weeks', CAST(:last AS timestamp), interval '1 week'
    ) AS monday
    LEFT JOIN alert_sessions s ON s.completed_at >= monday AT TIME ZONE 'UTC' AND s.completed_at < (monday + interval '1 week') AT TIME ZONE 'UTC'
        AND s.deleted_at IS NULL AND s.fork IS NULL
    GROUP BY monday ORDER BY monday
    """
)
DETAIL_COLUMNS = ("day", "chain_id", "alert_type", "agent_name", "provider", "model", *_NAMES)


class UsageRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def report(self, span: Span, today: date) -> UsageReport:
        days = {"first": span.first, "last": span.last}
        async with self._engine.connect() as connection:
            groups = (await connection.execute(_MODELS, days)).mappings().all()
            tools = (await connection.execute(_TOOLS, days)).mappings().all()
            dearest = (await connection.execute(_DEAREST, days)).mappings().all()
            month_usd: Decimal = (await connection.execute(_MONTH, {"today": today})).scalar_one()
        by_day = tuple(sorted(_grouped(groups, "day"), key=lambda day: day.name))
        counts = {name: sum(getattr(day, name) for day in by_day) for name in _NAMES if name != "cost_usd"}
        return UsageReport(
            span=span,
            total=UsageTotals(cost_usd=sum((day.cost_usd for day in by_day), Decimal(0)), **counts),
            by_day=by_day,
            by_model=_grouped(groups, "model"),
            by_chain=_grouped(groups, "chain_id"),
            by_alert_type=_grouped(groups, "alert_type"),
            by_agent=_grouped(groups, "agent_name"),
            by_tool=tuple(read(ToolUse, row) for row in tools),
            dearest_sessions=tuple(read(ExpensiveSession, row, title=alert_title(row["alert_head"], row["alert_type"])) for row in dearest),
            month_usd=month_usd,
            month_forecast_usd=forecast(month_usd, today),
        )

    async def trends(self, span: Span) -> UsageTrends:
        """Return the usage of each day, and the verdicts of the weeks up to the last day."""
        async with self._engine.connect() as connection:
            days = (await connection.execute(_DAYS, {"first": span.first, "last": span.last})).mappings().all()
            weeks = (await connection.execute(_WEEKS, {"last": span.last})).mappings().all()
        return UsageTrends(
            by_model=tuple(read(DayUsage, row, name=row["model"]) for row in days if row["model"] is not None),
            by_alert_type=tuple(read(DayUsage, row, name=row["alert_type"]) for row in days if row["alert_type"] is not None),
            weeks=tuple(read(WeekOfVerdicts, row) for row in weeks),
        )

    async def details(self, span: Span) -> Sequence[Row]:
        """Return every sum, day by day, as a spreadsheet wants them."""
        async with self._engine.connect() as connection:
            return (await connection.execute(_DETAILS, {"first": span.first, "last": span.last})).mappings().all()


def _grouped(rows: Sequence[Row], group: str) -> tuple[UsageGroup, ...]:
    """Return the sums of one grouping, the most expensive first."""
    used = [read(UsageGroup, row, name=row[group]) for row in rows if row[group] is not None]
    return tuple(sorted(used, key=lambda one: (-float(one.cost_usd), -one.input_tokens - one.output_tokens, one.name)))
