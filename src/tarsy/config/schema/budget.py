"""Ceilings of investigations, stages and agents, budgets of a day or month, and the prices they are counted with."""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import reduce
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, WithJsonSchema

from tarsy.config.schema.values import Count, Duration, Moment, Name, Section, Switch, refuse
from tarsy.domain.budget import CONCLUSION_TOKENS, SHORTEST_ANSWER, UNLIMITED, Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodBudget

# More than any bill; a number such as 1e400 fits into no column.
MOST_DOLLARS = 1_000_000_000
Dollars = Annotated[
    Decimal,
    Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": MOST_DOLLARS}),
]


class Rate(Section):
    """US dollars per million tokens."""

    input_per_million: Dollars = Field(description="US dollars per million tokens of input.")
    output_per_million: Dollars = Field(description="US dollars per million tokens of output, including thinking.")
    cached_input_per_million: Dollars | None = Field(
        default=None, description="US dollars per million tokens of input from the vendor's cache; unset: as other input."
    )


class Promotion(Rate):
    id: Name | None = Field(default=None, description="A name for people.")
    model: Name = Field(description="The model's exact name.")
    start: Moment | None = Field(default=None, description="Start; unset: already valid.")
    end: Moment = Field(description="End, exclusive.")

    def holds(self, at: datetime) -> bool:
        return (self.start is None or self.start <= at) and at < self.end


class CostEstimationConfig(Section):
    enabled: Switch = Field(default=True, description="Estimate what model calls cost.")
    model_rates: Mapping[str, Rate] = Field(default={}, description="Prices by the model's exact name; they override the built-in prices.")
    promotions: tuple[Promotion, ...] = Field(default=(), description="Temporary prices; they override `model_rates`.")


class BudgetConfig(Section):
    usd: Dollars | None = Field(default=None, description="US dollars for model calls.")
    tokens: Count | None = Field(default=None, description="Input and output tokens.")
    time: Duration | None = Field(default=None, description="The longest time.")
    model_calls: Count | None = Field(default=None, description="Number of model calls.")
    tool_calls: Count | None = Field(default=None, description="Number of tool calls.")

    @property
    def ceiling(self) -> Ceiling:
        return Ceiling(usd=self.usd, tokens=self.tokens, seconds=self.time, model_calls=self.model_calls, tool_calls=self.tool_calls)


# The answers of a call and of its conclusion, without anything to read.
_LEAST_TOKENS = CONCLUSION_TOKENS + SHORTEST_ANSWER


def _has_ceiling(budget: BudgetConfig) -> BudgetConfig:
    if budget.ceiling == Ceiling():
        raise refuse("a budget without a ceiling limits nothing", "set usd, tokens, time, model_calls or tool_calls")
    if budget.model_calls == 1:
        raise refuse("one model call is not enough: the last one is reserved for the conclusion", "set model_calls to 2 or more")
    if budget.tokens is not None and budget.tokens <= _LEAST_TOKENS:
        raise refuse(f"{budget.tokens} tokens do not suffice for one call and a conclusion", f"set tokens to more than {_LEAST_TOKENS}")
    if budget.usd == 0:
        raise refuse("0 dollars allow no model call", "set usd to more than 0, or leave it out for a model that costs nothing")
    return budget


Budget = Annotated[BudgetConfig, AfterValidator(_has_ceiling)]
_AMOUNT = re.compile(
    r"\$(?P<usd>\d+(?:\.\d+)?)|(?P<count>\d{1,15})(?P<thousands>k?) (?P<what>tokens|model calls|tool calls)|(?P<time>\d[\d.]*(?:ms|s|m|h)[\dmsh.]*)"
)


def parse_budget(text: str) -> BudgetConfig:
    """Parse a budget on one line: `$0.20,5m`, `50k tokens, 20 tool calls`.

    Raises:
        ValueError: with the part that is invalid, and the valid forms.
    """
    limits: dict[str, Any] = {}
    for part in (part.strip() for part in text.split(",")):
        found = _AMOUNT.fullmatch(part)
        if found is None:
            raise ValueError(
                f'"{part}" is not part of a budget: write $0.20, 5m, 50k tokens, 10 model calls or 20 tool calls, with commas between'
            )
        if found["what"]:
            limits[found["what"].replace(" ", "_")] = int(found["count"]) * (1_000 if found["thousands"] else 1)
        else:
            limits |= {"usd": found["usd"]} if found["usd"] else {"time": found["time"]}
    return TypeAdapter[BudgetConfig](Budget).validate_python(limits)


class BudgetKey(Section):
    budget: Budget | None = Field(
        default=None, description="The most it may use. When it reaches the limit, it concludes; it does not fail."
    )


def ceiling_of(*levels: BudgetKey) -> Ceiling:
    """Return the ceiling of several levels, from high to low: a lower level applies where no higher one sets a limit."""
    return reduce(Ceiling.over, (level.budget.ceiling for level in levels if level.budget), UNLIMITED)


class PeriodBudgetConfig(Section):
    per: BudgetPeriod = Field(description="`day` or `month`: calendar days or months, in UTC.")
    usd: Dollars = Field(description="US dollars for model calls in each day or month.")
    alert_type: Name | None = Field(default=None, description="Only sessions of this alert type.")
    chain: Name | None = Field(default=None, description="Only sessions of this chain.")

    @property
    def budget(self) -> PeriodBudget:
        return PeriodBudget(per=self.per, usd=self.usd, alert_type=self.alert_type, chain=self.chain)
