"""The `routes` and `mute` entries: what happens to the alerts of monitoring systems."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from tarsy.config.schema.values import AlertTypeName, Duration, DurationOrZero, Name, Section, ServerName, Text, refuse
from tarsy.domain.route import REOPEN_AFTER, REPEAT_INTERVAL, OnResolved, RouteAction


def _matchers(text: str) -> str:
    from tarsy.domain.matchers import MatcherError, parse_matchers  # noqa: PLC0415 - its library is wanted by few commands

    try:
        parse_matchers(text)
    except MatcherError as error:
        raise refuse(str(error)) from error
    return text


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Matchers = Annotated[Text, AfterValidator(_matchers)]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
# Ten steps of ten minutes each: more than any severity is worth.
Priority = Annotated[int, Field(strict=True, ge=0, le=9)]


class VariantsConfig(Section):
    label: Name = Field(description="The alerts' label that chooses.")
    variants: Mapping[str, ServerName] = Field(description="Values of the label, and the tool server that each stands for.")


class RouteConfig(Section):
    name: Name = Field(description="For people, and part of the incident's key.")
    match: tuple[Matchers, ...] = Field(default=(), description='Matchers, all of which must fit, as `severity =~ "critical|high"`.')
    action: RouteAction = Field(default=RouteAction.INVESTIGATE, description="`record`: kept, not investigated. `drop`: counted only.")
    alert_type: AlertTypeName | None = Field(default=None, description="Which chain investigates; unset: `defaults.alert_type`.")
    group_by: tuple[Name, ...] | None = Field(
        default=None, description="Labels that alerts of one incident share; `[...]`: each alert alone; unset: as the sender groups."
    )
    group_wait: DurationOrZero | None = Field(
        default=None, description="How long an investigation waits for alerts that belong to it; unset: 15s for senders that group, else 0."
    )
    repeat_interval: Duration = Field(
        default=REPEAT_INTERVAL.total_seconds(), description="What still fires so long after its investigation is looked at again; doubles."
    )
    reopen_after: DurationOrZero = Field(
        default=REOPEN_AFTER.total_seconds(), description="What fires again within this time is the same incident."
    )
    auto_resolve_after: Duration | None = Field(
        default=None, description="An alert that is not heard of for so long is over; unset: 24h for senders that never say so."
    )
    priority: Priority | None = Field(
        default=None, description="How far ahead in the queue; unset: from the severity (critical 4 … info 0)."
    )
    on_resolved: OnResolved = Field(default=OnResolved.CANCEL_PENDING, description="What becomes of investigations when all is over.")
    tool_servers: Mapping[ServerName, VariantsConfig] = Field(
        default={}, description="Tool servers that a label of the alert replaces by one of their variants."
    )


class MuteConfig(Section):
    starts: Moment = Field(alias="from", description="When it begins.")
    ends: Moment = Field(alias="to", description="When it ends.")
    match: tuple[Matchers, ...] = Field(default=(), description="Which alerts; unset: all.")
    reason: Text = Field(default="maintenance", description="Shown with what was muted.")

    @model_validator(mode="after")
    def _has_length(self) -> "MuteConfig":
        if self.starts >= self.ends:
            raise refuse("this mute ends before it begins")
        return self
