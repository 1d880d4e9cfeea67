"""Tools as an agent sees them: names, definitions, catalogs, results, and the health of the servers that offer them."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Self, assert_never

from tarsy.domain.approval import CallDecided
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import Wait
from tarsy.domain.tool_pin import Fingerprints, PinMode

# Tools without annotations often have descriptive names: `list_pods`, `getLogs`. Only the first word counts: `delete_logs` ends like one that reads.
_READING = re.compile(
    "get|list|describe|read|search|find|lookup|show|view|fetch|query|logs?|top|status|count|watch|inspect|explain", re.IGNORECASE
)
# The server part of the names of built-in tools.
BUILT_IN_SERVER = "tarsy"
# The built-in tool whose results are written by the operator.
LOAD_SKILL_TOOL = "tarsy.load_skill"
# The built-in tool that reads what an agent has already received.
READ_RESULT_TOOL = "tarsy.read_result"
# The built-in tool that lists what was deployed lately.
RECENT_CHANGES_TOOL = "tarsy.recent_changes"
# The built-in tool whose calls are executions of sub-agents.
RUN_AGENT_TOOL = "tarsy.run_agent"
# Sentences in the result of a call whose outcome is unknown: its worker was interrupted, or its server was lost.
INTERRUPTED_CALL = "It is not known whether it took effect"
LOST_CALL = "Whether it took effect is unknown"
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class ToolCalling(StrEnum):
    NATIVE = "native"
    REACT = "react"


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool's full name, `server.tool`; the server's name contains no dot, the tool's may."""

    server: str
    tool: str

    @classmethod
    def parse(cls, text: str) -> "ToolName | None":
        """Split `server.tool`; return None if either part is missing."""
        server, dot, tool = text.strip().partition(".")
        return cls(server, tool) if dot and server and tool else None

    def __str__(self) -> str:
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that may be offered to a model; recorded in this form."""

    # A recording with a misspelt field is rejected.
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    description: str = ""
    parameters_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    read_only: bool = False
    # It declares that it changes something, whatever its name says.
    changes: bool = False
    idempotent: bool = False
    # Each call waits for a person's approval.
    needs_approval: bool = False

    @property
    def may_change(self) -> bool:
        """Return whether a call may change something: by the tool's annotations, or else unless its name begins with a reading verb."""
        return self.changes or not (self.read_only or begins_with_reading_verb(self.name.rpartition(".")[2]))

    @property
    def dispatches_agent(self) -> bool:
        """Return whether a call runs a sub-agent, which has its own limits and is resumed if the call is made again."""
        return self.name == RUN_AGENT_TOOL

    @property
    def safe_to_repeat(self) -> bool:
        """Return whether a call with an unknown outcome may be repeated."""
        return self.read_only or self.idempotent


def begins_with_reading_verb(tool: str) -> bool:
    return any(_READING.fullmatch(word) for word in _WORDS.findall(tool)[:1])


# How an operator lets agents call a tool without asking.
HOW_TO_ALLOW = "name it under `tools` of its server, or set `approval: never` or `tool_approval: {NAME: never}`"


class ApprovalPolicy(StrEnum):
    """Which calls of a tool server's tools need a person's approval."""

    NEVER = "never"
    DESTRUCTIVE = "destructive"
    UNLESS_READ_ONLY = "unless_read_only"
    ALWAYS = "always"


def approval_reason(policy: ApprovalPolicy, tool: str, *, read_only: bool | None, destructive: bool | None, named: bool) -> str | None:
    """Return why calls of a tool need an approval, or None if they do not.

    `read_only` and `destructive` are the tool's annotations, None if it does not declare them; `named` tools are in `tools` of their server.
    """
    match policy:
        case ApprovalPolicy.NEVER:
            return None
        case ApprovalPolicy.ALWAYS:
            return "its policy is always"
        case ApprovalPolicy.UNLESS_READ_ONLY:
            return None if read_only else "it does not declare readOnlyHint"
        case ApprovalPolicy.DESTRUCTIVE:
            if named or read_only or destructive is False:
                return None
            if destructive or read_only is False:
                # Without another word, MCP takes a tool that changes something for destructive.
                return "it declares destructiveHint" if destructive else "it declares readOnlyHint: false, and not destructiveHint: false"
            return None if begins_with_reading_verb(tool) else "it declares nothing, and its name does not begin with a reading verb"
        case _:
            assert_never(policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """One server's list of tools, or why it could not be listed."""

    server: str
    tools: tuple[str, ...]
    # The bare names of the tools whose calls need an approval, and why.
    needs_approval: Mapping[str, str] = field(default_factory=dict[str, str])
    error: str | None
    started_at: datetime
    duration_ms: int


def listings_of(tools: Iterable[ToolDefinition], at: datetime) -> tuple[ToolListing, ...]:
    """Return listings, one per server, of tools that are known without asking their servers."""
    servers: dict[str, list[str]] = {}
    for tool in tools:
        if name := ToolName.parse(tool.name):
            servers.setdefault(name.server, []).append(name.tool)
    return tuple(
        ToolListing(server=server, tools=tuple(names), error=None, started_at=at, duration_ms=0) for server, names in servers.items()
    )


@dataclass(frozen=True, slots=True)
class ToolCatalog:
    """The tools of an execution, and the servers that are missing."""

    tools: tuple[ToolDefinition, ...] = ()
    # One line for each missing server, for the model and the timeline.
    warnings: tuple[str, ...] = ()
    listings: tuple[ToolListing, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    def find(self, name: str) -> ToolDefinition | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def only(self, names: Collection[str]) -> "ToolCatalog":
        """Return the catalog without other tools than these."""
        return replace(self, tools=tuple(tool for tool in self.tools if tool.name in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call. It may be stored, shown and sent to a model once `MaskedTools` has masked it."""

    call: ToolCall
    content: str
    started_at: datetime
    duration_ms: int = 0
    is_error: bool = False
    is_timeout: bool = False
    # This run has not made the call: unknown tool, invalid arguments, a ceiling, no approval, or an interrupted run that may have made it.
    refused: bool = False
    # The call has no result yet: it is made again after the wait.
    waits: Wait | None = None
    # What was decided about a call that needs an approval.
    decision: CallDecided | None = None

    @classmethod
    def refusal(cls, call: ToolCall, content: str, started_at: datetime) -> Self:
        """Return the result of a call that this run does not make."""
        return cls(call=call, content=content, started_at=started_at, is_error=True, refused=True)

    @property
    def is_trusted(self) -> bool:
        """Return whether the content was written by the operator, so that agents may follow instructions in it."""
        return self.call.name == LOAD_SKILL_TOOL and not self.is_error


# Receives what a tool says while it runs.
OnOutput = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A stored result with its whole text, of which the model may have received a part."""

    content: str
    is_error: bool


# Vendors accept function names of at most 64 letters, digits, `_` and `-`.
LONGEST = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
# `server.tool`, or a name without a server, in which `__` for the dot is unambiguous.
_PLAIN = re.compile(r"[A-Za-z](?:(?!__)[A-Za-z0-9_-])*(?:(?<!_)\.(?!_)(?:(?!__)[A-Za-z0-9_-])+)?")
# 40 bits: two of a thousand tools share a hash in one of two million configurations.
_HASH_LENGTH = 10
_SERVER_LENGTH = 20


def name_for_model(name: str, tool_calling: ToolCalling) -> str:
    """Return a tool's name as the model calls it."""
    match tool_calling:
        case ToolCalling.NATIVE:
            return vendor_name(name)
        case ToolCalling.REACT:
            return name
        case _:
            assert_never(tool_calling)


def vendor_name(name: str) -> str:
    """Return a name that every vendor accepts for function calls; no two tools get the same.

    `server.tool` becomes `server__tool`. A name for which that would be illegal, too long or ambiguous ends with a part of its hash:
    `server__tool__3f0a9c1b22`. Plain names contain `__` at most once, hashed ones at least twice, so the two kinds never collide.
    """
    if _PLAIN.fullmatch(name) and len(name) < LONGEST:
        return name.replace(".", "__")
    server, _, tool = name.partition(".")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    head = _ILLEGAL.sub("_", server)[:_SERVER_LENGTH]
    head = head if head[:1].isalpha() else f"t{head}"
    stem = f"{head}__{_ILLEGAL.sub('_', tool)}"[: LONGEST - _HASH_LENGTH - 2]
    return f"{stem}__{digest}"


class ServerState(StrEnum):
    # Not checked yet.
    UNKNOWN = "unknown"
    CONNECTED = "connected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """A tool server as of its last check. `error` is why it cannot be used; `since` is when its state last changed."""

    name: str
    transport: str
    state: ServerState = ServerState.UNKNOWN
    error: str | None = None
    checked_at: datetime | None = None
    since: datetime | None = None
    tools: tuple[ToolDefinition, ...] = ()
    # As in `ToolListing`.
    needs_approval: Mapping[str, str] = field(default_factory=dict[str, str])
    # Of all tools of the server; empty before its first listing.
    fingerprints: Fingerprints = field(default_factory=dict[str, Mapping[str, str]])
    pin: PinMode = PinMode.REPORT
    # The tools that agents may use; None: all.
    named_tools: tuple[str, ...] | None = None


MASK_PREFIX = "[MASKED_"

# Returns the tag of a secret: the same for the same secret within a session.
Tag = Callable[[str], str]


def is_masked(text: str) -> bool:
    """Return whether secrets in the text were masked, which cannot be undone."""
    return MASK_PREFIX in text
