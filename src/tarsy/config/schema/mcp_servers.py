"""The `mcp_servers` entries: tool servers, their transport, and which of their results are masked or summarized."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from tarsy.config.schema.values import (
    Backend,
    Count,
    Duration,
    Name,
    ProviderName,
    Section,
    Switch,
    Text,
    WebAddress,
    existing,
    refuse,
)
from tarsy.config.templates import names_session
from tarsy.domain.approval import APPROVAL_EXPIRY
from tarsy.domain.tool import ApprovalPolicy
from tarsy.domain.tool_pin import PinMode

# The masking of a tool server that configures none.
DEFAULT_GROUPS = ("security",)

_GROUPS = {
    "basic": "api_key password",
    "secrets": "api_key password token private_key secret_key base64_secret",
    "security": "api_key password token certificate certificate_authority_data email ssh_key private_key secret_key "
    "github_token slack_token aws_access_key aws_secret_key base64_secret",
    "kubernetes": "kubernetes_secret api_key password token secret_key aws_secret_key certificate_authority_data base64_secret base64_short",
    "cloud": "aws_access_key aws_secret_key api_key token github_token slack_token",
    # The last one is no regular expression: it parses Kubernetes Secrets in YAML and JSON.
    "all": "api_key password certificate certificate_authority_data token email ssh_key base64_secret base64_short private_key secret_key "
    "aws_access_key aws_secret_key github_token slack_token kubernetes_secret",
}
GROUPS: Mapping[str, tuple[str, ...]] = {name: tuple(members.split()) for name, members in _GROUPS.items()}
PATTERNS = GROUPS["all"]
PatternName = Annotated[Name, existing("masking pattern", lambda _known: PATTERNS)]
PatternGroupName = Annotated[Name, existing("masking pattern group", lambda _known: GROUPS)]


class TransportType(StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"


def _without_session(value: str) -> str:
    if names_session(value):
        raise refuse("{{.SESSION_ID}} is known only while a session runs", "use it in custom_headers or session_cleanup_url")
    return value


PlainText = Annotated[Text, AfterValidator(_without_session)]


class OAuthConfig(Section):
    token_url: Annotated[WebAddress, AfterValidator(_without_session)] = Field(
        description="The token endpoint of the authorization server."
    )
    client_id: PlainText = Field(description="The client that the authorization server knows TARSy as.")
    client_secret: PlainText = Field(description="Its secret; write `{{.NAME}}` for a variable of the environment.")
    scope: PlainText = Field(default="", description="The requested scopes, with blanks between them.")
    parameters: Mapping[str, PlainText] = Field(
        default={}, description="Further fields of the token request, such as `resource` or `audience`."
    )


class TransportConfig(Section):
    type: TransportType = Field(description="`stdio` starts a program, `http` is streamable HTTP, `sse` the older HTTP transport.")
    command: PlainText | None = Field(default=None, validate_default=True, description="stdio: the program.")
    args: tuple[PlainText, ...] = Field(default=(), description="stdio: its arguments.")
    env: Mapping[str, PlainText] = Field(
        default={}, description="stdio: its environment, besides PATH, HOME and LANG. The server gets no other variables of TARSy."
    )
    url: Annotated[WebAddress, AfterValidator(_without_session)] | None = Field(
        default=None, validate_default=True, description="http, sse: the address."
    )
    bearer_token: PlainText | None = Field(default=None, description="http, sse: sent as `Authorization: Bearer`.")
    oauth: OAuthConfig | None = Field(
        default=None,
        description="http, sse: get access tokens with OAuth client credentials, and a new one when the server refuses one (401).",
    )
    verify_ssl: Switch = Field(default=True, description="http, sse: check the server's certificate.")
    timeout: Duration | None = Field(default=None, description="http, sse: longest wait for a response.")
    custom_headers: Mapping[str, Text] = Field(default={}, description="http, sse: further headers; may contain `{{.SESSION_ID}}`.")
    session_cleanup_url: WebAddress | None = Field(
        default=None, description="http, sse: TARSy sends a DELETE to this address when an agent ends; may contain `{{.SESSION_ID}}`."
    )
    shared_connection: Switch = Field(
        default=False,
        description="All agents of a TARSy process share one connection, or one stdio process. "
        "Cannot be combined with `{{.SESSION_ID}}` or `session_cleanup_url`.",
    )

    @field_validator("command")
    @classmethod
    def _stdio_has_a_command(cls, command: str | None, info: ValidationInfo) -> str | None:
        if command is None and info.data.get("type") is TransportType.STDIO:
            raise refuse("command is missing", "a stdio server is started by a command")
        return command

    @field_validator("url")
    @classmethod
    def _remote_has_a_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("type")
        if url is None and kind in {TransportType.HTTP, TransportType.SSE}:
            raise refuse("url is missing", f"an {kind} server is reached by its address")
        return url

    @field_validator("command", "args", "env")
    @classmethod
    def _only_for_stdio(cls, value: Any, info: ValidationInfo) -> Any:
        kind = info.data.get("type")
        if value and kind in {TransportType.HTTP, TransportType.SSE}:
            raise refuse(f"{info.field_name} has no meaning for type {kind}", "write type: stdio, or remove it")
        return value

    @field_validator("oauth")
    @classmethod
    def _one_kind_of_token(cls, oauth: OAuthConfig | None, info: ValidationInfo) -> OAuthConfig | None:
        if oauth is not None and info.data.get("bearer_token"):
            raise refuse("a server gets either bearer_token or a token of oauth", "remove one of them")
        return oauth

    @field_validator("url", "bearer_token", "oauth", "custom_headers", "session_cleanup_url", "timeout")
    @classmethod
    def _only_for_remote(cls, value: Any, info: ValidationInfo) -> Any:
        if value and info.data.get("type") is TransportType.STDIO:
            raise refuse(f"{info.field_name} has no meaning for type stdio", "write type: http, or remove it")
        return value

    @field_validator("shared_connection")
    @classmethod
    def _shared_connection_has_no_session(cls, shared: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - a validator's signature
        headers: Mapping[str, str] = info.data.get("custom_headers") or {}
        if shared and any(names_session(value) for value in headers.values()):
            raise refuse("a shared connection cannot send {{.SESSION_ID}}", "remove it from custom_headers, or remove shared_connection")
        if shared and info.data.get("session_cleanup_url"):
            raise refuse("a shared connection does not end with an agent", "remove session_cleanup_url, or remove shared_connection")
        return shared

    def texts(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield every value that may contain a template, with its path in the section."""
        for name in ("command", "url", "bearer_token", "session_cleanup_url"):
            value: str | None = getattr(self, name)
            if value is not None:
                yield (name,), value
        yield from ((("args", index), value) for index, value in enumerate(self.args))
        yield from ((("env", name), value) for name, value in self.env.items())
        yield from ((("custom_headers", name), value) for name, value in self.custom_headers.items())
        if self.oauth is not None:
            yield from ((("oauth", name), getattr(self.oauth, name)) for name in ("token_url", "client_id", "client_secret", "scope"))
            yield from ((("oauth", "parameters", name), value) for name, value in self.oauth.parameters.items())


class CustomPatternConfig(Section):
    pattern: Text = Field(description="Regular expression of what to mask.")
    replacement: Text = Field(default="[MASKED]", description="The replacement.")
    description: Text = Field(default="", description="What it finds, for people.")

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise refuse(f"this is not a regular expression: {error}") from error
        return pattern


class DataMaskingConfig(Section):
    enabled: Switch = Field(
        default=True,
        description="Mask secrets in the results and arguments of the server's tools. "
        "With `false`, TARSy masks only unmistakable secrets: tokens of known format, private keys, credentials in addresses, Kubernetes Secrets.",
    )
    pattern_groups: tuple[PatternGroupName, ...] = Field(default=DEFAULT_GROUPS, description="Groups of patterns.")
    patterns: tuple[PatternName, ...] = Field(default=(), description="Single patterns, besides the groups.")
    custom_patterns: tuple[CustomPatternConfig, ...] = Field(default=(), description="Your own patterns.")


class ServerSummarizationConfig(Section):
    enabled: Switch = Field(default=True, description="Let a model shorten large results.")
    size_threshold_tokens: Count = Field(default=5000, description="TARSy shortens results larger than this.")
    summary_max_token_limit: Count = Field(default=1000, description="Longest summary, in tokens.")
    llm_provider: ProviderName | None = Field(default=None, description="Unset: `defaults.summarization`, else the agent's own.")
    llm_backend: Backend | None = Field(default=None, description="Unset: as for the provider.")


class ProbeConfig(Section):
    tool: Name = Field(description="A tool of the server that only reads.")
    arguments: dict[str, Any] = Field(default={}, description="Its arguments.")


class MCPServerConfig(Section):
    transport: TransportConfig = Field(description="How to reach the server.")
    instructions: Text = Field(default="", description="What agents should know about the server's tools; part of their prompt.")
    tools: tuple[Name, ...] | None = Field(default=None, description="The only tools that agents may use; unset: all.")
    approval: ApprovalPolicy = Field(
        default=ApprovalPolicy.DESTRUCTIVE,
        description="Which tools need a person's approval: `never`, `destructive` (it declares `destructiveHint`, or no hints and a name that does "
        "not begin with a reading verb, unless `tools` names it), `unless_read_only`, `always`. A call of such a tool waits until a person has decided.",
    )
    tool_approval: dict[Name, ApprovalPolicy] = Field(
        default={}, description="The same for single tools, by name; it counts before `approval`."
    )
    approval_expiry: Duration = Field(
        default=APPROVAL_EXPIRY, description="How long a call waits for a decision; after that it is refused."
    )
    probe: ProbeConfig | None = Field(
        default=None,
        description="A call that fails if the server's own credentials are wrong; many servers list their tools without checking them. "
        "TARSy makes it at its start and once a minute, and reports a failure like that of a connection.",
    )
    pin: PinMode = Field(
        default=PinMode.REPORT,
        description="If the server's tools, their descriptions or schemas differ from those that `tarsy tools accept` accepted: "
        "`report` warns, `strict` does not let agents use the server, also before the first acceptance.",
    )
    data_masking: DataMaskingConfig = Field(
        default=DataMaskingConfig(), description="Masking secrets in the server's results; on by default."
    )
    summarization: ServerSummarizationConfig = Field(default=ServerSummarizationConfig(), description="Shortening large results.")
