"""Ceilings, and how far they are used."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tarsy.api.schemas.view import View
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodState
from tarsy.kit.model import adapter


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
        ceiling = adapter(Ceiling).validate_python(snapshot.get("budget") or {})
        return None if ceiling == UNLIMITED else cls.shown(ceiling)


class PeriodBudgetItem(View):
    """What all sessions together, or those of one chain or alert type, may cost in a day or month, by the calendar in UTC."""

    per: BudgetPeriod
    usd: float
    chain: str | None
    alert_type: str | None
    spent_usd: float
    # For calls under way, for conclusions to come, and for calls that never told what they used.
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
