"""The use of models and tools, its cost, and the ceilings and budgets that limit it."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from tarsy.api.schemas.view import View
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodState
from tarsy.domain.usage import Span, UsageReport, UsageTrends

_CEILING = TypeAdapter(Ceiling)


class CeilingView(View):
    """The most a session may use; absent: no limit."""

    usd: float | None
    tokens: int | None
    seconds: float | None
    model_calls: int | None
    tool_calls: int | None

    @classmethod
    def of(cls, snapshot: Mapping[str, Any]) -> "CeilingView | None":
        """Return the ceiling of a chain as stored with a session."""
        ceiling = _CEILING.validate_python(snapshot.get("budget") or {})
        return None if ceiling == UNLIMITED else cls.build(ceiling)


class PeriodBudgetItem(View):
    """What all sessions together, or those of one chain or alert type, may cost in a day or month, by the calendar in UTC."""

    per: BudgetPeriod
    usd: float
    chain: str | None
    alert_type: str | None
    spent_usd: float
    # For running calls, for conclusions to come, and for calls that never reported their usage.
    reserved_usd: float
    # Forecast for the end of the period.
    forecast_usd: float
    ends_at: datetime
    # Models whose calls it does not count, because their price is not known.
    unpriced_models: list[str]

    @classmethod
    def of(cls, state: PeriodState, now: datetime, unpriced_models: Sequence[str] = ()) -> "PeriodBudgetItem":
        return cls.build(
            state.budget,
            spent_usd=state.spent,
            reserved_usd=state.reserved,
            forecast_usd=state.forecast(now),
            ends_at=state.budget.per.end(now.date()),
            unpriced_models=[*unpriced_models],
        )


class UsedItem(View):
    # A day, `provider / model`, a chain, an alert type or an agent; absent for the total.
    name: str | None
    calls: int
    failed_calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int
    # US dollars, of the calls whose price was known.
    cost_usd: float
    # Calls whose price is not known.
    unpriced_calls: int
    duration_ms: int
    # The cached share of the input; absent without input.
    cache_hit_share: float | None


class ToolUseItem(View):
    server: str
    tool: str
    calls: int
    failed_calls: int
    duration_ms: int


class DearSessionItem(View):
    id: UUID
    title: str
    alert_type: str
    chain_id: str
    cost_usd: float
    unpriced_calls: int
    total_tokens: int


class UsageOverview(View):
    """Whole days in UTC; groups start with the most expensive, days with the earliest."""

    first_day: date
    last_day: date
    total: UsedItem
    by_day: list[UsedItem]
    by_model: list[UsedItem]
    by_chain: list[UsedItem]
    by_alert_type: list[UsedItem]
    by_agent: list[UsedItem]
    by_tool: list[ToolUseItem]
    dearest_sessions: list[DearSessionItem]
    # This calendar month so far, and the forecast for its end.
    month_usd: float
    month_forecast_usd: float
    # The period budgets, and how much of each is used.
    budgets: list[PeriodBudgetItem]

    @classmethod
    def of(cls, report: UsageReport, budgets: list[PeriodBudgetItem]) -> "UsageOverview":
        return cls.build(
            report,
            budgets=budgets,
            first_day=report.span.first,
            last_day=report.span.last,
            total=UsedItem.build(report.total, name=None),
        )


class DayUsageItem(View):
    day: date
    # `provider / model`, or an alert type.
    name: str
    calls: int
    # Input and output.
    tokens: int
    # US dollars, of the calls whose price was known.
    cost_usd: float


class WeekItem(View):
    """The sessions that ended in a week, without forks: their verdicts, and the time from alert to verdict."""

    # A Monday.
    first_day: date
    fault: int
    no_fault: int
    inconclusive: int
    # Sessions that ended without a verdict: failed, cancelled, timed out.
    no_verdict: int
    # Absent without a verdict. Nine of ten verdicts took at most `p90_seconds`.
    median_seconds: float | None
    p90_seconds: float | None


class UsageTrendsView(View):
    """Days and weeks in UTC, the earliest first. Days without usage are left out; weeks without sessions are not."""

    first_day: date
    last_day: date
    by_model: list[DayUsageItem]
    by_alert_type: list[DayUsageItem]
    # The thirteen weeks up to the last day.
    weeks: list[WeekItem]

    @classmethod
    def of(cls, trends: UsageTrends, span: Span) -> "UsageTrendsView":
        return cls.build(trends, first_day=span.first, last_day=span.last)
