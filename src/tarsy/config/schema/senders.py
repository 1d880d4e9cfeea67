"""The `senders` entries: how monitoring systems prove who they are, and how to read those that are not known."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tarsy.config.schema.values import Name, Section, Text, refuse


def _expression(text: str) -> str:
    from tarsy.domain.expression import ExpressionError, check_expression  # noqa: PLC0415 - its library is wanted by few commands

    try:
        check_expression(text)
    except ExpressionError as error:
        raise refuse(f"this is not JMESPath: {error}") from error
    return text


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Expression = Annotated[Text, AfterValidator(_expression)]
# Several, so that a secret can be replaced without a gap.
Variables = Annotated[tuple[Name, ...], BeforeValidator(_as_list)]


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
        """The expressions of an item, by what they lead to."""
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
        """The variables that hold its secrets."""
        basic = self.basic.password_env if self.basic else ()
        signature = self.signature.secret_env if self.signature else ()
        return (*(self.token_env or ()), *basic, *signature)
