"""The contract with a model: the provider, the request, and the chunks of the answer.

Errors are chunks, not exceptions: a stream ends after its first ErrorChunk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import not_
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage


class LLMBackend(StrEnum):
    LANGCHAIN = "langchain"
    NATIVE_GEMINI = "native-gemini"


class ProviderType(StrEnum):
    GOOGLE = "google"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    XAI = "xai"
    VERTEXAI = "vertexai"
    REPLAY = "replay"


class ResolvedProvider(BaseModel):
    """A model and how to reach it, as resolved at submission and stored with the session. Times in seconds.

    Values of the environment stay `{{.VAR}}` templates, so that a snapshot never contains a secret.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    type: ProviderType
    model: str
    api_key_env: str | None = None
    credentials_env: str | None = None
    project_env: str | None = None
    location_env: str | None = None
    base_url: str | None = None
    native_tools: Mapping[str, bool] = {}
    # Models that think long before they answer still send a first chunk within a minute.
    first_chunk_timeout: float = 60.0
    stall_timeout: float = 30.0
    max_tool_result_tokens: int | None = None
    context_window: int | None = None
    # Costs nothing, whatever its name. Left out of snapshots if unset: replicas of an older version read them too.
    free: bool = Field(default=False, exclude_if=not_)
    # Replay only: the recording file, or `sample:NAME`.
    recording: str | None = None
    # Replay only: the speed; None: as set for the process.
    replay_speed: float | None = None


def provider_named(snapshot: Mapping[str, Any], name: str) -> ResolvedProvider | None:
    """Return the provider `name` of a stored chain, as an agent's own or as a fallback; None if the chain does not use it."""
    if isinstance(snapshot.get("provider"), Mapping) and snapshot["provider"].get("name") == name:
        return ResolvedProvider.model_validate(snapshot["provider"])
    for value in snapshot.values():
        parts = cast("list[Any]", value) if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, Mapping) and (found := provider_named(cast("Mapping[str, Any]", part), name)):
                return found
    return None


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
    # The agent cut the answer off because a time ceiling was reached: no fault of the model, and not sent by one.
    CEILING = "ceiling"

    @property
    def is_timeout(self) -> bool:
        return self in {ErrorCode.TIMEOUT, ErrorCode.STALLED}

    @property
    def is_outage(self) -> bool:
        """Return whether the model is unavailable for now, so that waiting may help. An empty answer is no outage."""
        # A service that restarts interrupts streams and cancels calls.
        outages = {ErrorCode.RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE, ErrorCode.PARTIAL_STREAM, ErrorCode.CANCELLED}
        return self.is_timeout or self in outages


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateInput:
    """One model call, with the whole conversation."""

    session_id: str
    execution_id: str
    messages: tuple[ConversationMessage, ...]
    provider: ResolvedProvider
    backend: LLMBackend
    tools: tuple[ToolDefinition, ...] = ()
    clear_cache: bool = False
    # The conversation within the session and the number of its earlier calls: the same after resume and in a replay.
    track: str = ""
    turn: int = 0
    # The longest answer, thinking included; None: the model's own limit.
    max_output_tokens: int | None = None
    # The cloud project and location for Vertex AI, if they are not those of the provider's variables.
    project: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class TextChunk:
    content: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    content: str


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """A complete tool call: arguments are not streamed in pieces."""

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
    """The sources of an answer that used a native search or URL tool."""

    web_search_queries: tuple[str, ...] = ()
    sources: tuple[GroundingSource, ...] = ()
    supports: tuple[GroundingSupport, ...] = ()
    search_entry_point_html: str = ""


class FinishReason(StrEnum):
    """Why an answer ended before the model had finished it."""

    # At the model's limit of output tokens.
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class FinishChunk:
    """The last chunk of an incomplete answer; a complete one ends without it."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class ErrorChunk:
    message: str
    code: ErrorCode
    retryable: bool = False


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | CodeExecutionChunk | GroundingChunk | TokenUsage | FinishChunk | ErrorChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMHealth:
    """Whether the model layer can be reached; it does not check the vendors behind it."""

    ok: bool
    detail: str
