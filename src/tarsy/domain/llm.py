"""The contract with a model: what is sent, and the chunks that come back.

Errors are chunks, not exceptions: a stream ends after its first ErrorChunk.
"""

from dataclasses import dataclass
from enum import StrEnum

from tarsy.domain.agent import LLMBackend
from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.provider import ResolvedProvider
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage


class ErrorCode(StrEnum):
    """Why a model call failed."""

    RATE_LIMITED = "rate_limited"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    EMPTY_RESPONSE = "empty_response"
    PARTIAL_STREAM = "partial_stream"
    CREDENTIALS = "credentials"
    INVALID_REQUEST = "invalid_request"
    CONTEXT_TOO_LONG = "context_too_long"
    CANCELLED = "cancelled"

    @property
    def is_timeout(self) -> bool:
        return self in {ErrorCode.TIMEOUT, ErrorCode.STALLED}

    @property
    def is_outage(self) -> bool:
        """Whether the model is not to be had for now. One that says nothing is there, and will hardly say more in an hour."""
        return self.is_timeout or self in _OUTAGES


# A service that is being restarted cuts answers off and cancels calls.
_OUTAGES = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE, ErrorCode.PARTIAL_STREAM, ErrorCode.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateInput:
    """One model call. It is self-contained: the whole conversation goes along."""

    session_id: str
    execution_id: str
    messages: tuple[ConversationMessage, ...]
    provider: ResolvedProvider
    backend: LLMBackend
    tools: tuple[ToolDefinition, ...] = ()
    clear_cache: bool = False
    # Which conversation of the session this is and how many calls it has made before: stable over resume and replay.
    track: str = ""
    turn: int = 0
    # What is left to say it in, thoughts included; None: as much as the model says.
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextChunk:
    content: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    content: str


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A complete call: arguments are never streamed in pieces."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CodeExecutionChunk:
    code: str
    result: str


@dataclass(frozen=True, slots=True)
class GroundingSource:
    uri: str
    title: str


@dataclass(frozen=True, slots=True)
class GroundingSupport:
    start_index: int
    end_index: int
    text: str
    source_indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroundingChunk:
    """What a native search or URL tool based its words on."""

    web_search_queries: tuple[str, ...] = ()
    sources: tuple[GroundingSource, ...] = ()
    supports: tuple[GroundingSupport, ...] = ()
    search_entry_point_html: str = ""


class FinishReason(StrEnum):
    """Why an answer ended, where the model itself did not choose to end it."""

    # At the limit of what the model may say at once.
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The last chunk of an answer that is not whole; a whole one ends without it."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class ErrorChunk:
    message: str
    code: ErrorCode
    retryable: bool = False


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | CodeExecutionChunk | GroundingChunk | TokenUsage | FinishChunk | ErrorChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMHealth:
    """Whether the model layer can be asked at all; says nothing about the vendors behind it."""

    ok: bool
    detail: str
