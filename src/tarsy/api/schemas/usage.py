"""Ceilings, and how far they are used."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from tarsy.api.schemas.view import View
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodState
from tarsy.domain.usage import UsageGroup, UsageReport, UsageTotals

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
        """The ceiling of a chain as it was stored with a session."""
        ceiling = _CEILING.validate_python(snapshot.get("budget") or {})
        return None if ceiling == UNLIMITED else cls.shown(ceiling)


class PeriodBudgetItem(View):
    """What all sessions together, or those of one chain or alert type, may cost in a day or month, by the calendar in UTC."""

    per: BudgetPeriod
    usd: float
    chain: str | None
    alert_type: str | None
    spent_usd: float
    # For running calls, for conclusions to come, and for calls that never reported their usage.
    reserved_usd: float
    # What will have been spent at the end of the period if it goes on like this.
    forecast_usd: float
    ends_at: datetime
    # Models whose calls it does not count, because their price is not known.
    unpriced_models: list[str]

    @classmethod
    def of(cls, state: PeriodState, now: datetime, unpriced_models: Sequence[str] = ()) -> "PeriodBudgetItem":
        return cls.shown(
            state.budget,
            spent_usd=state.spent,
            reserved_usd=state.reserved,
            forecast_usd=state.forecast(now),
            ends_at=state.budget.per.end(now.date()),
            unpriced_models=[*unpriced_models],
        )


class UsedItem(View):
    # A day, `provider / model`, a chain, an alert type or an agent; absent for the whole.
    name: str | None
    calls: int
    failed_calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int
    # US dollars, of the calls whose price was known.
    cost_usd: float
    # Calls that used tokens at a price that is not known.
    unpriced_calls: int
    duration_ms: int
    # How much of the input the vendors had kept; absent without input.
    cache_hit_share: float | None

    @classmethod
    def of(cls, used: UsageTotals, name: str | None = None) -> "UsedItem":
        return cls.shown(used, name=name)


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
    # This calendar month so far, and what it will have cost if it goes on like this.
    month_usd: float
    month_forecast_usd: float
    # What may be spent in a time, and how far it is.
    budgets: list[PeriodBudgetItem]

    @classmethod
    def of(cls, report: UsageReport, budgets: list[PeriodBudgetItem]) -> "UsageOverview":
        return cls.shown(
            report,
            budgets=budgets,
            first_day=report.span.first,
            last_day=report.span.last,
            total=UsedItem.of(report.total),
            by_day=_items(report.by_day),
            by_model=_items(report.by_model),
            by_chain=_items(report.by_chain),
            by_alert_type=_items(report.by_alert_type),
            by_agent=_items(report.by_agent),
        )


def _items(group: tuple[UsageGroup, ...]) -> list[UsedItem]:
    return [UsedItem.of(one.used, one.name) for one in group]
