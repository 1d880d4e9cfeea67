"""What all answers have in common, and the kinds of values requests are made of."""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import Path, Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tarsy.domain.usage import Spending, TokenUsage
from tarsy.session.submission import is_storable


class View(BaseModel):
    """An answer, read from a domain value; a field that is always there is required in the schema."""

    model_config = ConfigDict(from_attributes=True, frozen=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def shown(cls, *values: object, **beside: Any) -> Self:
        """Return the view whose fields come from `beside`, or else from the first of `values` that has them."""
        names = [name for name in cls.model_fields if name not in beside]
        fields = {name: next(getattr(value, name) for value in values if hasattr(value, name)) for name in names}
        return cls.model_validate(fields | beside)


class Request(BaseModel):
    """What a caller sends; a key that is not known is refused. Built with its route: FastAPI silences warnings about its own doing only then."""

    model_config = ConfigDict(extra="forbid")


def json_response(body: str | bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


class Usage(View):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    thinking_tokens: int
    cached_tokens: int

    @classmethod
    def of(cls, usage: TokenUsage | None) -> "Usage":
        return cls.model_validate(usage or TokenUsage())


class Cost(View):
    # US dollars by the prices of the time; absent when no price was known.
    usd: float | None
    # Calls that used tokens at a price that is not known: they are not in the sum.
    unpriced_calls: int

    @classmethod
    def of(cls, spending: Spending | None) -> "Cost":
        return cls.model_validate(spending or Spending())


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("text must not contain NUL characters or halves of surrogate pairs")
    return text


def _written_out(value: object) -> object:
    """Refuse what pydantic would take for seconds since 1970: `20260301` is a typing error, not a moment of 1970."""
    if isinstance(value, str) and not _DATE_AND_TIME.match(value):
        raise ValueError("write a time as 2026-03-01T12:00:00Z")
    return value


def _day(value: object) -> object:
    if isinstance(value, str) and not _DATE.fullmatch(value):
        raise ValueError("write a day as 2026-03-01")
    return value


def _as_utc(moment: datetime) -> datetime:
    """A time without a zone is meant in UTC; one so far out that it has no UTC equivalent is refused."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is out of range") from error


_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
StorableText = Annotated[str, AfterValidator(_storable)]
# Longer than any name in a configuration.
Name = Annotated[StorableText, Field(max_length=200)]
UtcTime = Annotated[datetime, BeforeValidator(_written_out), AfterValidator(_as_utc)]
Day = Annotated[date, BeforeValidator(_day)]
SessionId = Annotated[UUID, Path(description="The session's id.")]


def milliseconds_between(start: datetime | None, end: datetime | None) -> int | None:
    """How long something took; a clock that was set back meanwhile does not make it less than nothing."""
    return max(0, round((end - start).total_seconds() * 1000)) if start and end else None
