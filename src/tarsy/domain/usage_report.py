"""What was used in a time, by whatever one asks. Pure module."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

# Ten years: longer than any installation has been there, short enough for a page.
MAX_DAYS = 3660


class Period(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def until(self, today: date) -> "Span":
        """The last day, seven days, or thirty days, today included."""
        days = {Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 30}[self]
        return Span(today - timedelta(days=days - 1), today)


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days in UTC, both included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Model calls together."""

    calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    thinking_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    duration_ms: int = 0

    @property
    def cache_hit_share(self) -> float | None:
        """How much of the input the vendors had kept; None without input."""
        return min(self.cached_tokens / self.input_tokens, 1.0) if self.input_tokens else None


@dataclass(frozen=True, slots=True)
class UsedBy:
    """What is counted together, in the words of the question: a day, a model, a chain, …"""

    name: str
    used: Used


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    server: str
    tool: str
    calls: int
    failed_calls: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DearSession:
    id: str
    title: str
    alert_type: str
    chain_id: str
    cost_usd: Decimal
    unpriced_calls: int
    total_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    span: Span
    total: Used
    by_day: tuple[UsedBy, ...]
    by_model: tuple[UsedBy, ...]
    by_chain: tuple[UsedBy, ...]
    by_alert_type: tuple[UsedBy, ...]
    by_agent: tuple[UsedBy, ...]
    by_tool: tuple[ToolUse, ...]
    dearest_sessions: tuple[DearSession, ...]
    # What this calendar month has cost, and what it will have cost if it goes on like this.
    month_usd: Decimal
    month_forecast_usd: Decimal


def forecast(spent: Decimal, today: date) -> Decimal:
    """What a month will have cost that goes on as it began. Today counts as a whole day: the forecast of a morning is low, not wild."""
    days = monthrange(today.year, today.month)[1]
    return spent * days / today.day
