"""The base classes of request and response models, and the types of their fields."""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import Path
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator

from tarsy.session.submission import is_storable


class View(BaseModel):
    """A response, made from domain values; fields with a default are required in its schema, because a response always has them."""

    model_config = ConfigDict(from_attributes=True, frozen=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def build(cls, *values: object, **given: Any) -> Self:
        """Return the view whose fields are `given`, or else attributes of the first of `values` that has them."""
        names = [name for name in cls.model_fields if name not in given]
        fields = {name: next(getattr(value, name) for value in values if hasattr(value, name)) for name in names}
        return cls.model_validate(fields | given)


class Request(BaseModel):
    """A request body or query; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class Usage(View):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    thinking_tokens: int
    cached_tokens: int


class Cost(View):
    # US dollars at the prices of the time; None if no price was known.
    usd: float | None
    # Calls whose price is not known: they are not in the sum.
    unpriced_calls: int
    # Calls that TARSy cut off before their vendor reported the tokens: they are in the sum by an estimate.
    estimated_calls: int


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("text must not contain NUL characters or halves of surrogate pairs")
    return text


def _utc_time(value: object, parse: ValidatorFunctionWrapHandler) -> datetime:
    """Parse a time; without a zone it is UTC."""
    # Pydantic would parse a number as seconds since 1970, and `20260301` is a typing error.
    if isinstance(value, str) and not _DATE_AND_TIME.match(value):
        raise ValueError("write a time as 2026-03-01T12:00:00Z")
    moment: datetime = parse(value)
    try:
        utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is out of range") from error
    return min(max(utc, _EARLIEST), _LATEST)


def _day(value: object) -> object:
    if isinstance(value, str) and not _DATE.fullmatch(value):
        raise ValueError("write a day as 2026-03-01, from 1970 to 2999")
    return value


# The driver sends Python's first and last time as -infinity and infinity, and returns those without a zone.
_EARLIEST, _LATEST = datetime.min.replace(microsecond=1, tzinfo=UTC), datetime.max.replace(microsecond=999_998, tzinfo=UTC)
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:")
# The driver sends Python's first and last day as -infinity and infinity: PostgreSQL would count the weeks up to there for ever.
_DATE = re.compile(r"(19[7-9]\d|2\d{3})-\d\d-\d\d", re.ASCII)
StorableText = Annotated[str, AfterValidator(_storable)]
# Longer than any name in a configuration, and short enough to be quoted in a response.
MAX_NAME = 200
Name = Annotated[StorableText, Field(max_length=MAX_NAME)]
UtcTime = Annotated[datetime, WrapValidator(_utc_time)]
Day = Annotated[date, BeforeValidator(_day)]
IdPrefix = Annotated[str, Field(pattern="^[0-9a-fA-F-]{1,36}$"), AfterValidator(lambda text: text.replace("-", "").lower())]
SessionId = Annotated[UUID, Path(description="The session's id.")]


def milliseconds_between(start: datetime | None, end: datetime | None) -> int | None:
    """Return a duration; 0 if the clock was set back meanwhile."""
    return max(0, round((end - start).total_seconds() * 1000)) if start and end else None
