"""Pure module: what all investigations together may cost in a day or a month, by the calendar, in UTC."""

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
        """The first moment of the next one."""
        return datetime.combine(self.first_day(today) + timedelta(days=self.days(today)), time(), UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodBudget:
    per: BudgetPeriod
    usd: Decimal
    # Only sessions of this alert type, of this chain; None: of all.
    alert_type: str | None = None
    chain: str | None = None

    def covers(self, chain_id: str, alert_type: str) -> bool:
        return self.chain in {None, chain_id} and self.alert_type in {None, alert_type}

    @property
    def key(self) -> str:
        """What makes it the same budget when its amount is another: `day chain=kubernetes`."""
        of = [f"{name}={value}" for name, value in (("chain", self.chain), ("alert_type", self.alert_type)) if value]
        return " ".join([self.per, *of])

    @property
    def description(self) -> str:
        """`the ceiling of $5.00 a day for chain kubernetes`."""
        of = [f"{name} {value}" for name, value in (("chain", self.chain), ("alert type", self.alert_type)) if value]
        return f"the ceiling of {format_amount(self.usd)} a {self.per}{' for ' + ', '.join(of) if of else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodState:
    """How far a period's budget is used. `reserved` is for calls under way, for conclusions to come and for calls that never told what they used."""

    budget: PeriodBudget
    spent: Decimal
    reserved: Decimal = Decimal(0)

    @property
    def used(self) -> Decimal:
        return self.spent + self.reserved

    def account(self, spent: Decimal) -> Account:
        """The period as an account of which so much is spent."""
        return Account(self.budget.per, Ceiling(usd=self.budget.usd), Spent(usd=spent))

    def detail(self) -> str:
        """For people: what stood against a call."""
        return f"{format_amount(round(self.spent, 4))} is spent and {format_amount(round(self.reserved, 4))} reserved for calls under way"

    def forecast(self, now: datetime) -> Decimal:
        """What will have been spent at the end if it goes on like this. The first hour of a period counts as a whole one: low, not wild."""
        today = now.date()
        begun = datetime.combine(self.budget.per.first_day(today), time(), UTC)
        whole = self.budget.per.end(today) - begun
        return self.spent * Decimal(whole / max(now - begun, timedelta(hours=1)))


@dataclass(frozen=True, slots=True)
class BudgetWait:
    """What an investigation waits for that was not begun: the budget that held it up, by its key, and what it needs of it at the least."""

    budget: str
    needs: Decimal


Waiting = tuple[str, BudgetWait]


def released(waiting: Iterable[Waiting], states: Sequence[PeriodState]) -> Iterator[str]:
    """The ids of those whose budget has room for them, in the order given: what does not fit holds up those behind it.

    A budget that is there no more holds up none.
    """
    room = {state.budget.key: state.budget.usd - state.used for state in states}
    for waiting_id, wait in waiting:
        if wait.budget not in room:
            yield waiting_id
            continue
        room[wait.budget] -= wait.needs
        if room[wait.budget] >= 0:
            yield waiting_id
