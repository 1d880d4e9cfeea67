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
    """Also the chunk by which a model tells them, and the form in which they are recorded."""

    # A recording with a misspelt count is refused.
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
    """US dollars per million tokens. Thinking is output; cached input is input that the vendor had kept."""

    input: Decimal
    cached_input: Decimal
    output: Decimal

    def cost(self, usage: TokenUsage) -> Decimal:
        """What a call with this usage costs."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * self.cached_input + usage.output_tokens * self.output) / _MILLION


# A model of one's own, and a recording: nothing is paid for the tokens.
FREE = Price(Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class Spending:
    """What several calls cost together. Calls whose model has no known price are counted, and not guessed at."""

    # None: no call of known price.
    usd: Decimal | None = None
    unpriced_calls: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        known = [usd for usd in (self.usd, other.usd) if usd is not None]
        return Spending(sum(known, Decimal(0)) if known else None, self.unpriced_calls + other.unpriced_calls)

    def __str__(self) -> str:
        """For people: `$0.0123`, and what is missing in it."""
        missing = f"{self.unpriced_calls} call{'s' if self.unpriced_calls > 1 else ''} of unknown price"
        if self.usd is None:
            return missing if self.unpriced_calls else ""
        return f"{format_usd(self.usd)} and {missing}" if self.unpriced_calls else format_usd(self.usd)


def format_usd(usd: Decimal) -> str:
    """Cents where they say enough, more digits where the amount is small."""
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


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
class UsageTotals:
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
class UsageGroup:
    """What is counted together, in the words of the question: a day, a model, a chain, …"""

    name: str
    used: UsageTotals


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
    # What this calendar month has cost, and what it will have cost if it goes on like this.
    month_usd: Decimal
    month_forecast_usd: Decimal


def forecast(spent: Decimal, today: date) -> Decimal:
    """What a month will have cost that goes on as it began. Today counts as a whole day: the forecast of a morning is low, not wild."""
    days = monthrange(today.year, today.month)[1]
    return spent * days / today.day


# A cell that begins with one of these is a formula to a spreadsheet; the name of an alert type can.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180, with a line of names."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
