"""Period budgets: what all investigations together may cost in a calendar day or month, in UTC."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

from tarsy.domain.budget import Account, Ceiling, Spent, format_amount


class BudgetPeriod(StrEnum):
    DAY = "day"
    MONTH = "month"

    def first_day(self, today: date) -> date:
        return today if self is BudgetPeriod.DAY else today.replace(day=1)

    def days(self, today: date) -> int:
        return 1 if self is BudgetPeriod.DAY else monthrange(today.year, today.month)[1]

    def end(self, today: date) -> datetime:
        """Return the first moment of the next period."""
        return datetime.combine(self.first_day(today) + timedelta(days=self.days(today)), time(), UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodBudget:
    per: BudgetPeriod
    usd: Decimal
    # Limits the budget to sessions of this alert type or this chain; None: all.
    alert_type: str | None = None
    chain: str | None = None

    def covers(self, chain_id: str, alert_type: str) -> bool:
        return self.chain in {None, chain_id} and self.alert_type in {None, alert_type}

    @property
    def key(self) -> str:
        """Return the key that identifies the budget independent of its amount: `day chain=kubernetes`."""
        of = [f"{name}={value}" for name, value in (("chain", self.chain), ("alert_type", self.alert_type)) if value]
        return " ".join([self.per, *of])

    @property
    def description(self) -> str:
        """Describe the budget for people: `the ceiling of $5.00 a day for chain kubernetes`."""
        of = [f"{name} {value}" for name, value in (("chain", self.chain), ("alert type", self.alert_type)) if value]
        return f"the ceiling of {format_amount(self.usd)} a {self.per}{' for ' + ', '.join(of) if of else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodState:
    """The use of a period's budget. `reserved` is for calls in progress, conclusions to come, and calls whose use was never reported."""

    budget: PeriodBudget
    spent: Decimal
    reserved: Decimal = Decimal(0)

    @property
    def used(self) -> Decimal:
        return self.spent + self.reserved

    def account(self, spent: Decimal) -> Account:
        """Return the period as an account with the given amount spent."""
        return Account(self.budget.per, Ceiling(usd=self.budget.usd), Spent(usd=spent))

    def detail(self) -> str:
        """Describe for people why a call did not fit."""
        return f"{format_amount(round(self.spent, 4))} is spent and {format_amount(round(self.reserved, 4))} reserved for calls under way"

    def forecast(self, now: datetime) -> Decimal:
        """Return the spending at the end of the period at the present rate. Less than one hour counts as one, so that early figures are not wild."""
        today = now.date()
        begun = datetime.combine(self.budget.per.first_day(today), time(), UTC)
        whole = self.budget.per.end(today) - begun
        return self.spent * Decimal(whole / max(now - begun, timedelta(hours=1)))


@dataclass(frozen=True, slots=True)
class BudgetWait:
    """The budget, by its key, that an investigation waits for before it begins, and the least amount that it needs."""

    budget: str
    needs: Decimal


Waiting = tuple[str, BudgetWait]


def released(waiting: Iterable[Waiting], states: Sequence[PeriodState]) -> Iterator[str]:
    """Yield the ids of those whose budget has room for them. An id that does not fit blocks those after it of the same budget.

    A budget that no longer exists blocks nothing.
    """
    room = {state.budget.key: state.budget.usd - state.used for state in states}
    for waiting_id, wait in waiting:
        if wait.budget not in room:
            yield waiting_id
            continue
        room[wait.budget] -= wait.needs
        if room[wait.budget] >= 0:
            yield waiting_id
