"""The `system.cost_estimation` section: prices that the operator knows better."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from tarsy.config.schema.values import Name, Section, Switch, refuse

Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False), WithJsonSchema({"type": "number", "minimum": 0})]


def _moment(value: object) -> object:
    """A date means its first moment, in UTC. YAML has read some of them already."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise refuse(f'"{value}" is not a time', "write 2026-03-01 or 2026-03-01T12:00:00Z") from error
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]


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
