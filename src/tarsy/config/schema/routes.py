"""The `senders`, `routes` and `mute` entries: who may send alerts, how they are read, and what happens to them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, cast

import jmespath
from jmespath.functions import Functions
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tarsy.config.schema.values import AlertTypeName, Duration, DurationOrZero, Moment, Name, Section, ServerName, Text, refuse
from tarsy.domain.route import REOPEN_AFTER, REPEAT_INTERVAL, MatcherError, OnResolved, RouteAction, parse_matchers


def check_expression(expression: str) -> str:
    """Check that an expression is JMESPath and calls known functions only.

    Raises:
        PydanticCustomError: with the place of the mistake.
    """
    try:
        parsed = jmespath.compile(expression).parsed
    except ValueError as error:
        raise refuse(f"this is not JMESPath: {' '.join(str(error).split())}") from error
    # The library would notice an unknown function only when a value reaches it.
    unknown: set[str] = set()
    nodes: list[Mapping[str, Any]] = [parsed]
    while nodes:
        node = nodes.pop()
        if node["type"] == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
            unknown.add(node["value"])
        nodes += [cast("Mapping[str, Any]", child) for child in node["children"] if isinstance(child, dict)]
    if unknown:
        raise refuse(f"this is not JMESPath: JMESPath has no function {', '.join(sorted(unknown))}")
    return expression


Expression = Annotated[Text, AfterValidator(check_expression)]
# Several variables, so that a secret can be rotated without an interruption.
Variables = Annotated[tuple[Name, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class Scheme(StrEnum):
    """Whose way of signing it is: all are HMAC-SHA256 of the body, written differently."""

    PAGERDUTY = "pagerduty"
    SENTRY = "sentry"
    GRAFANA = "grafana"
    GITHUB = "github"


class BasicConfig(Section):
    username: Name = Field(description="The user name that the sender uses.")
    password_env: Variables = Field(description="Variable that holds the password, or several during a rotation.")


class SignatureConfig(Section):
    scheme: Scheme = Field(description="The signing scheme; many senders use GitHub's.")
    secret_env: Variables = Field(description="Variable that holds the secret, or several during a rotation.")
    header: Name | None = Field(default=None, description="Header with the signature, if it is not the scheme's usual one.")
    timestamp_header: Name | None = Field(
        default=None, description="Header with the signed time (Grafana); TARSy refuses requests that are more than 5 minutes off."
    )


class MappingConfig(Section):
    kind: Literal["alert", "change"] = Field(default="alert", description="What the sender sends: alerts or changes.")
    each: Expression | None = Field(
        default=None, description="JMESPath of the list in a body; the other expressions start at an item of this list."
    )
    title: Expression = Field(description="JMESPath of the title: what is wrong, or what changed.")
    fingerprint: Expression | None = Field(default=None, description="A value that stays the same for the same problem.")
    severity: Expression | None = Field(default=None, description="How bad it is, in any of the usual words.")
    status: Expression | None = Field(default=None, description="The status; `resolved`, `ok`, `closed` and similar words end the alert.")
    outcome: Expression | None = Field(default=None, description="Of a change: `succeeded`, `failed`, `started`.")
    labels: Expression | None = Field(default=None, description="An object of names and values.")
    annotations: Expression | None = Field(default=None, description="An object of names and longer texts.")
    starts_at: Expression | None = Field(default=None, description="When it began.")
    ends_at: Expression | None = Field(default=None, description="When it ended.")
    at: Expression | None = Field(default=None, description="When a change was made.")
    link: Expression | None = Field(default=None, description="Address of the alert at the sender.")
    dashboard: Expression | None = Field(default=None, description="A dashboard's address.")
    runbook: Expression | None = Field(default=None, description="A runbook's address.")
    group_key: Expression | None = Field(default=None, description="What alerts of one incident have in common.")

    def parts(self) -> dict[str, str]:
        """Return the expressions for the parts of an item, by the name of the part."""
        return {name: text for name, text in self.model_dump(exclude={"kind", "each"}).items() if text is not None}


class SenderConfig(Section):
    token_env: Variables | None = Field(
        default=None, description="Variable that holds the token, sent as `Authorization: Bearer` or as `?token=`; or several."
    )
    basic: BasicConfig | None = Field(default=None, description="Basic authentication.")
    signature: SignatureConfig | None = Field(default=None, description="A signature of the body; TARSy refuses requests without it.")
    topics: tuple[Name, ...] = Field(
        default=(), description="SNS topics (ARN) whose signed messages TARSy accepts and whose subscriptions it confirms."
    )
    mapping: MappingConfig | None = Field(default=None, description="Where to find the parts of an alert in this sender's bodies.")

    @model_validator(mode="after")
    def _one_proof(self) -> "SenderConfig":
        if sum(proof is not None for proof in (self.token_env, self.basic, self.signature)) > 1:
            raise refuse("a sender can authenticate in one way only", "keep one of token_env, basic and signature")
        return self

    def secret_variables(self) -> tuple[str, ...]:
        """Return the variables with the sender's secrets."""
        basic = self.basic.password_env if self.basic else ()
        signature = self.signature.secret_env if self.signature else ()
        return (*(self.token_env or ()), *basic, *signature)


def _matchers(text: str) -> str:
    try:
        parse_matchers(text)
    except MatcherError as error:
        raise refuse(str(error)) from error
    return text


Matchers = Annotated[Text, AfterValidator(_matchers)]
# Ten steps of ten minutes each: more than any severity is worth.
Priority = Annotated[int, Field(strict=True, ge=0, le=9)]


class VariantsConfig(Section):
    label: Name = Field(description="The label that selects the variant.")
    variants: Mapping[str, ServerName] = Field(description="Values of the label, and the tool server for each.")


class SameAsConfig(Section):
    route: Name = Field(description="The other route. It needs a `group_by`, whose labels decide.")
    labels: Mapping[str, Name] = Field(
        default={},
        description="Labels of that `group_by` that this route's alerts have under another name: the name there, and the name here.",
    )


class RouteConfig(Section):
    name: Name = Field(description="For people, and part of the incident's key.")
    match: tuple[Matchers, ...] = Field(default=(), description='Matchers, all of which must match, such as `severity =~ "critical|high"`.')
    action: RouteAction = Field(default=RouteAction.INVESTIGATE, description="`record`: kept, not investigated. `drop`: counted only.")
    alert_type: AlertTypeName | None = Field(default=None, description="Alert type, which selects the chain; unset: `defaults.alert_type`.")
    group_by: tuple[Name, ...] | None = Field(
        default=None,
        description="Labels that all alerts of an incident share; `[...]`: each alert alone; `[]`: all of the route; unset: the sender's own grouping.",
    )
    same_as: SameAsConfig | None = Field(
        default=None,
        description="Alerts of this route belong to the incidents of another route with the same labels: one problem that two senders report.",
    )
    group_wait: DurationOrZero | None = Field(
        default=None,
        description="How long an investigation waits for further alerts of its incident; unset: 15s if they are grouped, else 0.",
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
