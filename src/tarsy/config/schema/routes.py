"""The `routes` and `mute` entries: what happens to the alerts of monitoring systems."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from tarsy.config.schema.values import AlertTypeName, Duration, DurationOrZero, Name, Section, ServerName, Text, refuse
from tarsy.domain.route import REOPEN_AFTER, REPEAT_INTERVAL, OnResolved, RouteAction


def _matchers(text: str) -> str:
    from tarsy.domain.route import MatcherError, parse_matchers  # noqa: PLC0415 - its library is wanted by few commands

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
    label: Name = Field(description="The label that selects the variant.")
    variants: Mapping[str, ServerName] = Field(description="Values of the label, and the tool server for each.")


class RouteConfig(Section):
    name: Name = Field(description="For people, and part of the incident's key.")
    match: tuple[Matchers, ...] = Field(default=(), description='Matchers, all of which must match, such as `severity =~ "critical|high"`.')
    action: RouteAction = Field(default=RouteAction.INVESTIGATE, description="`record`: kept, not investigated. `drop`: counted only.")
    alert_type: AlertTypeName | None = Field(default=None, description="Alert type, which selects the chain; unset: `defaults.alert_type`.")
    group_by: tuple[Name, ...] | None = Field(
        default=None,
        description="Labels that all alerts of an incident share; `[...]`: each alert alone; unset: the sender's own grouping.",
    )
    group_wait: DurationOrZero | None = Field(
        default=None,
        description="How long an investigation waits for further alerts of its incident; unset: 15s for senders that group, else 0.",
    )
    repeat_interval: Duration = Field(
        default=REPEAT_INTERVAL.total_seconds(),
        description="If an incident still fires this long after its investigation, TARSy investigates it again; the time doubles each time.",
    )
    reopen_after: DurationOrZero = Field(
        default=REOPEN_AFTER.total_seconds(), description="An alert that fires again within this time reopens its incident."
    )
    auto_resolve_after: Duration | None = Field(
        default=None,
        description="TARSy resolves an alert that has not repeated for this long; unset: 24h for senders that never report the end.",
    )
    priority: Priority | None = Field(
        default=None, description="Priority in the queue, higher runs first; unset: from the severity (critical 4 … info 0)."
    )
    on_resolved: OnResolved = Field(
        default=OnResolved.CANCEL_PENDING, description="What happens to investigations when all alerts of the incident have resolved."
    )
    tool_servers: Mapping[ServerName, VariantsConfig] = Field(
        default={}, description="Tool servers that TARSy replaces by a variant, chosen by a label of the alert."
    )


class MuteConfig(Section):
    starts: Moment = Field(alias="from", description="When it begins.")
    ends: Moment = Field(alias="to", description="When it ends.")
    match: tuple[Matchers, ...] = Field(default=(), description="Which alerts; unset: all.")
    reason: Text = Field(default="maintenance", description="Shown with muted alerts.")

    @model_validator(mode="after")
    def _has_length(self) -> "MuteConfig":
        if self.starts >= self.ends:
            raise refuse("this mute ends before it begins")
        return self
