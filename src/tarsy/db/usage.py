"""Pure module: the running sums of what models and tools were used for, as SQL. A step adds to them in the statement that stores its calls.

Writers add to rows of their own: connections are spread over shards, so that two sessions of one chain seldom wait for each other.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.driver import Row, Statement, borrowed
from tarsy.db.rows import read
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, alert_title
from tarsy.domain.usage import ExpensiveSession, Span, ToolUse, UsageGroup, UsageReport, UsageTotals, forecast

# More than the connections that write at the same moment.
SHARDS = 16

_DAY = "CAST(r.started_at AT TIME ZONE 'UTC' AS date)"
_SHARD = f"pg_backend_pid() % {SHARDS}"
_COUNTS = {
    "calls": "count(*)",
    "failed_calls": "count(*) FILTER (WHERE r.error_code IS NOT NULL)",
    "input_tokens": "sum(r.input_tokens)",
    "cached_tokens": "sum(r.cached_tokens)",
    "output_tokens": "sum(r.output_tokens)",
    "thinking_tokens": "sum(r.thinking_tokens)",
    "cost_usd": "coalesce(sum(r.cost_usd), 0)",
    "unpriced_calls": "count(*) FILTER (WHERE r.cost_usd IS NULL AND r.total_tokens > 0)",
    "duration_ms": "sum(r.duration_ms)",
}
_OF_TOOL = {"calls": "count(*)", "failed_calls": "count(*) FILTER (WHERE r.is_error)", "duration_ms": "sum(r.duration_ms)"}
_OF_SESSION = {name: _COUNTS[name] for name in ("calls", "cost_usd", "unpriced_calls")} | {"total_tokens": "sum(r.total_tokens)"}


def _adding(table: str, keys: dict[str, str], counts: dict[str, str], source: str) -> str:
    """Add what `source` (rows `r`) amounts to. In the order of their keys: two writers never wait for each other in a circle."""
    columns = ", ".join([*keys, *counts])
    values = ", ".join([*keys.values(), *counts.values()])
    places = ", ".join(str(place) for place in range(1, len(keys) + 1))
    added = ", ".join(f"{name} = u.{name} + excluded.{name}" for name in counts)
    return f"""
        INSERT INTO {table} AS u ({columns}) SELECT {values} FROM {source} GROUP BY {places} ORDER BY {places}
        ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {added}"""  # noqa: S608 - our own words


_MODEL_KEYS = {
    "day": _DAY,
    "shard": _SHARD,
    "chain_id": "s.chain_id",
    "alert_type": "s.alert_type",
    "agent_name": "e.agent_name",
    "provider": "r.provider",
    "model": "r.model",
}
_RUN = "JOIN agent_executions e ON e.id = r.execution_id JOIN alert_sessions s ON s.id = r.session_id"


def model_sums(rows: str) -> str:
    """Adds model calls to the sums of their day."""
    return _adding("usage_days", _MODEL_KEYS, _COUNTS, f"{rows} {_RUN}")


def session_sums(rows: str) -> str:
    """Adds model calls to the sum of their session."""
    return _adding("session_spending", {"session_id": "r.session_id"}, _OF_SESSION, rows)


def tool_sums(rows: str) -> str:
    """Adds tool calls to the sums of their day; lists of tools are no calls."""
    keys = {"day": _DAY, "shard": _SHARD, "server": "r.server", "tool": "r.tool"}
    return _adding("tool_days", keys, _OF_TOOL, f"{rows} WHERE r.kind = 'tool_call' AND r.tool IS NOT NULL")


# As many as a page shows without scrolling.
DEAREST = 10
_NAMES = tuple(field.name for field in fields(UsageTotals))
_SUMS = ", ".join(f"sum({name}) AS {name}" for name in _NAMES)
_WITHIN = "day BETWEEN :first AND :last"
# All groups in one pass. No column is ever empty: in a group, all but its own are.
_MODELS = Statement(
    f"""
    SELECT day::text AS day, provider || ' / ' || model AS model, chain_id, alert_type, agent_name, {_SUMS} FROM usage_days WHERE {_WITHIN}
    GROUP BY GROUPING SETS ((day), (provider, model), (chain_id), (alert_type), (agent_name))
    """  # noqa: S608 - our own words
)
_TOOLS = Statement(
    f"""
    SELECT server, tool, sum(calls) AS calls, sum(failed_calls) AS failed_calls, sum(duration_ms) AS duration_ms
    FROM tool_days WHERE {_WITHIN} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2
    """  # noqa: S608 - our own words
)
_DEAREST = Statement(
    f"""
    SELECT s.id::text AS id, left(s.alert_data, {TITLE_SEARCH_CHARACTERS}) AS alert_head, s.alert_type, s.chain_id,
        p.cost_usd, p.unpriced_calls, p.total_tokens
    FROM session_spending p JOIN alert_sessions s ON s.id = p.session_id
    WHERE s.deleted_at IS NULL AND s.created_at >= CAST(:first AS date) AND s.created_at < CAST(:last AS date) + 1 AND p.cost_usd > 0
    ORDER BY p.cost_usd DESC, s.id LIMIT {DEAREST}
    """  # noqa: S608 - our own words
)
_MONTH = Statement(
    "SELECT coalesce(sum(cost_usd), 0) AS usd FROM usage_days WHERE day BETWEEN date_trunc('month', CAST(:today AS date)) AND :today"
)
_DETAILS = Statement(
    f"""
    SELECT day, chain_id, alert_type, agent_name, provider, model, {_SUMS}
    FROM usage_days WHERE {_WITHIN} GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    """  # noqa: S608 - our own words
)
DETAIL_COLUMNS = ("day", "chain_id", "alert_type", "agent_name", "provider", "model", *_NAMES)


class UsageRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def report(self, span: Span, today: date) -> UsageReport:
        async with borrowed(self._engine) as connection:
            groups = await _MODELS.rows(connection, _days(span))
            tools = await _TOOLS.rows(connection, _days(span))
            dearest = await _DEAREST.rows(connection, _days(span))
            month = await _MONTH.rows(connection, {"today": today})
        by_day = tuple(sorted(_grouped(groups, "day"), key=lambda day: day.name))
        return UsageReport(
            span=span,
            total=_total(by_day),
            by_day=by_day,
            by_model=_grouped(groups, "model"),
            by_chain=_grouped(groups, "chain_id"),
            by_alert_type=_grouped(groups, "alert_type"),
            by_agent=_grouped(groups, "agent_name"),
            by_tool=tuple(read(ToolUse, row) for row in tools),
            dearest_sessions=tuple(read(ExpensiveSession, row, title=alert_title(row["alert_head"], row["alert_type"])) for row in dearest),
            month_usd=month[0]["usd"],
            month_forecast_usd=forecast(month[0]["usd"], today),
        )

    async def details(self, span: Span) -> Sequence[Row]:
        """Every sum there is, day by day: what a spreadsheet wants."""
        async with borrowed(self._engine) as connection:
            return await _DETAILS.rows(connection, _days(span))


def _days(span: Span) -> dict[str, date]:
    return {"first": span.first, "last": span.last}


def _grouped(rows: Sequence[Row], group: str) -> tuple[UsageGroup, ...]:
    """A group, the dearest first."""
    return tuple(sorted((UsageGroup(row[group], _used(row)) for row in rows if row[group] is not None), key=_dearness))


def _dearness(one: UsageGroup) -> tuple[float, int, str]:
    return -float(one.used.cost_usd), -one.used.input_tokens - one.used.output_tokens, one.name


def _used(row: Row) -> UsageTotals:
    counts = {name: int(row[name]) for name in _NAMES if name != "cost_usd"}
    return UsageTotals(cost_usd=row["cost_usd"], **counts)


def _total(days: Sequence[UsageGroup]) -> UsageTotals:
    counts = {name: sum(getattr(day.used, name) for day in days) for name in _NAMES if name != "cost_usd"}
    return UsageTotals(cost_usd=sum((day.used.cost_usd for day in days), Decimal(0)), **counts)
