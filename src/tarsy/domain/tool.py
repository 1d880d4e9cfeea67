"""Tools as an agent sees them: names, definitions, catalogs, results, and the health of the servers that offer them."""

import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import Wait

# Servers that annotate nothing still name their tools: `list_pods`, `pods_list`, `getLogs`.
_READING = re.compile("get|list|describe|read|search|find|show|view|fetch|query|logs?|top|status|count|watch", re.IGNORECASE)
# The server's part in the names of built-in tools.
BUILT_IN_SERVER = "tarsy"
# The built-in tool whose results are the operator's own words.
LOAD_SKILL_TOOL = "tarsy.load_skill"
# The built-in tool whose calls are executions of their own.
RUN_AGENT_TOOL = "tarsy.run_agent"
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class ToolCalling(StrEnum):
    NATIVE = "native"
    REACT = "react"


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool's full name, `server.tool`; the server's name holds no dot, the tool's may."""

    server: str
    tool: str

    @classmethod
    def parse(cls, text: str) -> "ToolName | None":
        """Split `server.tool`, or return None when either part is missing."""
        server, dot, tool = text.strip().partition(".")
        return cls(server, tool) if dot and server and tool else None

    def __str__(self) -> str:
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that may be offered to a model."""

    name: str
    description: str
    parameters_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    read_only: bool = False
    idempotent: bool = False

    @property
    def may_change(self) -> bool:
        """Whether a call may change something: it does not say that it only reads, nor does its name."""
        words = _WORDS.findall(self.name.rpartition(".")[2])
        return not (self.read_only or any(_READING.fullmatch(word) for word in (*words[:1], *words[-1:])))

    @property
    def dispatches_agent(self) -> bool:
        """Whether a call is an execution of its own: it has its own limits, and made again it is continued."""
        return self.name == RUN_AGENT_TOOL

    @property
    def safe_to_repeat(self) -> bool:
        """Whether a call whose outcome is unknown may simply be made again."""
        return self.read_only or self.idempotent


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListing:
    """One server's answer to the question what tools it has."""

    server: str
    tools: tuple[str, ...]
    error: str | None
    started_at: datetime
    duration_ms: int


@dataclass(frozen=True, slots=True)
class ToolCatalog:
    """What an execution can use, and what it should have been able to use."""

    tools: tuple[ToolDefinition, ...] = ()
    # One line per server that is missing, for the model and for the timeline.
    warnings: tuple[str, ...] = ()
    listings: tuple[ToolListing, ...] = ()

    def find(self, name: str) -> ToolDefinition | None:
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came of a tool call, already masked: this is what may be stored, shown and sent to a model."""

    # As made, with its arguments masked.
    call: ToolCall
    content: str
    started_at: datetime
    duration_ms: int = 0
    is_error: bool = False
    is_timeout: bool = False
    # The call never reached a server: unknown tool, arguments against the schema, refused by configuration.
    refused: bool = False
    # It has come to nothing yet: the call is made again when this is over.
    waits: Wait | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether the content is the operator's, and no data from outside: instructions in it may be followed."""
        return self.call.name == LOAD_SKILL_TOOL and not self.is_error


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A stored result: the whole text, whatever part of it the model was shown."""

    content: str
    is_error: bool


LONGEST = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
# Both parts, or a name without a server, free of what would make the junction ambiguous.
_PLAIN = re.compile(r"[A-Za-z](?:(?!__)[A-Za-z0-9_-])*(?:(?<!_)\.(?!_)(?:(?!__)[A-Za-z0-9_-])+)?")
# 40 bits: two of a thousand tools share a hash once in two million configurations, and only then.
_HASH_LENGTH = 10
_SERVER_LENGTH = 20


def name_for_model(name: str, tool_calling: ToolCalling) -> str:
    """A tool's name as a model may call it."""
    match tool_calling:
        case ToolCalling.NATIVE:
            return vendor_name(name)
        case ToolCalling.REACT:
            return name
        case _:
            assert_never(tool_calling)


def vendor_name(name: str) -> str:
    """Spell a tool's name so that every vendor takes it."""
    if _PLAIN.fullmatch(name) and len(name) < LONGEST:
        return name.replace(".", "__")
    server, _, tool = name.partition(".")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    head = _ILLEGAL.sub("_", server)[:_SERVER_LENGTH]
    head = head if head[:1].isalpha() else f"t{head}"
    stem = f"{head}__{_ILLEGAL.sub('_', tool)}"[: LONGEST - _HASH_LENGTH - 2]
    return f"{stem}__{digest}"


class ServerState(StrEnum):
    # Not asked yet.
    UNKNOWN = "unknown"
    CONNECTED = "connected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """`error` says why a server cannot be used; `since` is when it came into its state."""

    name: str
    transport: str
    state: ServerState = ServerState.UNKNOWN
    error: str | None = None
    checked_at: datetime | None = None
    since: datetime | None = None
    tools: tuple[ToolDefinition, ...] = ()


MASK_PREFIX = "[MASKED_"


def is_masked(text: str) -> bool:
    """Whether something was taken out of the text: what it was cannot be had again."""
    return MASK_PREFIX in text
