"""Ceilings: what an investigation, a stage or an agent may use, and what all of them together may cost in a time."""

import re
from functools import reduce
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter

from tarsy.config.schema.cost import Dollars
from tarsy.config.schema.values import Count, Duration, Name, Section, refuse
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodBudget


class BudgetConfig(Section):
    usd: Dollars | None = Field(default=None, description="US dollars for model calls.")
    tokens: Count | None = Field(default=None, description="Input and output tokens.")
    time: Duration | None = Field(default=None, description="The longest time.")
    model_calls: Count | None = Field(default=None, description="Number of model calls.")
    tool_calls: Count | None = Field(default=None, description="Number of tool calls.")

    @property
    def ceiling(self) -> Ceiling:
        return Ceiling(usd=self.usd, tokens=self.tokens, seconds=self.time, model_calls=self.model_calls, tool_calls=self.tool_calls)


def _says_something(budget: BudgetConfig) -> BudgetConfig:
    if budget.ceiling == Ceiling():
        raise refuse("a budget without a ceiling limits nothing", "set usd, tokens, time, model_calls or tool_calls")
    return budget


Budget = Annotated[BudgetConfig, AfterValidator(_says_something)]


_AMOUNT = re.compile(
    r"\$(?P<usd>\d+(?:\.\d+)?)|(?P<count>\d+)(?P<thousands>k?) (?P<what>tokens|model calls|tool calls)|(?P<time>\d[\d.]*(?:ms|s|m|h)[\dmsh.]*)"
)


def parse_budget(text: str) -> BudgetConfig:
    """Read what a person writes on one line: `$0.20,5m`, `50k tokens, 20 tool calls`.

    Raises:
        ValueError: saying what cannot be read, and how it is written.
    """
    said: dict[str, Any] = {}
    for part in (part.strip() for part in text.split(",")):
        found = _AMOUNT.fullmatch(part)
        if found is None:
            raise ValueError(
                f'"{part}" is not part of a budget: write $0.20, 5m, 50k tokens, 10 model calls or 20 tool calls, with commas between'
            )
        if found["what"]:
            said[found["what"].replace(" ", "_")] = int(found["count"]) * (1_000 if found["thousands"] else 1)
        else:
            said |= {"usd": found["usd"]} if found["usd"] else {"time": found["time"]}
    return TypeAdapter[BudgetConfig](Budget).validate_python(said)


class BudgetKey(Section):
    budget: Budget | None = Field(
        default=None, description="The most it may use. When it reaches the limit, it concludes; it does not fail."
    )


def ceiling_of(*levels: BudgetKey) -> Ceiling:
    """The ceiling that levels set together, from high to low: what the higher does not say, the lower does."""
    said = [level.budget.ceiling for level in levels if level.budget]
    return reduce(Ceiling.over, said, UNLIMITED)


class PeriodBudgetConfig(Section):
    per: BudgetPeriod = Field(description="`day` or `month`: calendar days or months, in UTC.")
    usd: Dollars = Field(description="US dollars for model calls in each day or month.")
    alert_type: Name | None = Field(default=None, description="Only sessions of this alert type.")
    chain: Name | None = Field(default=None, description="Only sessions of this chain.")

    @property
    def budget(self) -> PeriodBudget:
        return PeriodBudget(per=self.per, usd=self.usd, alert_type=self.alert_type, chain=self.chain)
