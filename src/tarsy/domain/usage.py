"""Token usage, prices, and the report of what was used over a period."""

import csv
import io
from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token counts of a model call; also a chunk of the model's answer, and recorded in this form."""

    # A recording with a misspelt field is rejected.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    thinking_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.thinking_tokens + other.thinking_tokens,
            self.cached_tokens + other.cached_tokens,
        )


_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Thinking counts as output; `cached_input` is input from the vendor's cache."""

    input: Decimal
    cached_input: Decimal
    output: Decimal

    def cost(self, usage: TokenUsage) -> Decimal:
        """Return the cost of a call with this usage."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * self.cached_input + usage.output_tokens * self.output) / _MILLION


# The price of local models and of recordings.
FREE = Price(Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class Spending:
    """What several calls cost together. Calls whose model has no known price are counted, and not guessed at."""

    # None: no call of known price.
    usd: Decimal | None = None
    unpriced_calls: int = 0
    # Calls whose tokens are estimates: they were cut off before the vendor reported them.
    estimated_calls: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        known = [usd for usd in (self.usd, other.usd) if usd is not None]
        return Spending(
            sum(known, Decimal(0)) if known else None,
            self.unpriced_calls + other.unpriced_calls,
            self.estimated_calls + other.estimated_calls,
        )

    def __str__(self) -> str:
        """Format the amount for people, with the number of calls it does not include: `≈ $0.0123 and 2 calls of unknown price`."""
        missing = f"{self.unpriced_calls} call{'s' if self.unpriced_calls > 1 else ''} of unknown price"
        if self.usd is None:
            return missing if self.unpriced_calls else ""
        amount = f"≈ {format_usd(self.usd)}" if self.estimated_calls else format_usd(self.usd)
        return f"{amount} and {missing}" if self.unpriced_calls else amount


def format_usd(usd: Decimal | float) -> str:
    """Format an amount in cents, or with more digits if it is below a dollar."""
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


# Ten years: older than any installation, and short enough for a page.
MAX_DAYS = 3660


class Period(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def until(self, today: date) -> "Span":
        """Return the last day, seven days or thirty days, including today."""
        days = {Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 30}[self]
        return Span(today - timedelta(days=days - 1), today)


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days in UTC, including both."""

    first: date
    last: date


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """The totals of a number of model calls."""

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
        """Return the share of the input that came from the vendors' caches; None without input."""
        return min(self.cached_tokens / self.input_tokens, 1.0) if self.input_tokens else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageGroup(UsageTotals):
    """The totals of one day, model, chain, alert type or agent."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    server: str
    tool: str
    calls: int
    failed_calls: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpensiveSession:
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
    total: UsageTotals
    by_day: tuple[UsageGroup, ...]
    by_model: tuple[UsageGroup, ...]
    by_chain: tuple[UsageGroup, ...]
    by_alert_type: tuple[UsageGroup, ...]
    by_agent: tuple[UsageGroup, ...]
    by_tool: tuple[ToolUse, ...]
    dearest_sessions: tuple[ExpensiveSession, ...]
    # The cost of this calendar month so far, and at its end at the present rate.
    month_usd: Decimal
    month_forecast_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage:
    """The usage of one model or alert type on one day."""

    day: date
    name: str
    calls: int
    tokens: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekOfVerdicts:
    """The sessions that ended in one week, by verdict, and the seconds from alert to verdict. Forks are not counted."""

    first_day: date
    fault: int
    no_fault: int
    inconclusive: int
    no_verdict: int
    # None: no session ended with a verdict.
    median_seconds: float | None
    p90_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTrends:
    by_model: tuple[DayUsage, ...]
    by_alert_type: tuple[DayUsage, ...]
    weeks: tuple[WeekOfVerdicts, ...]


def forecast(spent: Decimal, today: date) -> Decimal:
    """Return the cost of a month at its present rate. Today counts as a whole day, so that the forecast of a morning is low instead of wild."""
    days = monthrange(today.year, today.month)[1]
    return spent * days / today.day


# A spreadsheet evaluates cells that begin with one of these as formulas; alert types may have such names.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Render rows as CSV (RFC 4180), without formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    return text.getvalue()
