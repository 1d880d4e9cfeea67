"""The contract with a model: the provider, the request, and the chunks that come back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

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
    """A model and the way to reach it. Times in seconds."""

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
    # A model that thinks long before it speaks still says its first word within a minute.
    first_chunk_timeout: float = 60.0
    stall_timeout: float = 30.0
    max_tool_result_tokens: int | None = None
    context_window: int | None = None
    # Replay only: the recording file, or `sample:NAME`.
    recording: str | None = None
    # Replay only: how fast it is played; None leaves it to the process that plays.
    replay_speed: float | None = None


def provider_named(snapshot: Mapping[str, Any], name: str) -> ResolvedProvider | None:
    """The provider of that name in a stored chain, wherever in it an agent may ask it."""
    found = next((fields for fields in _providers(snapshot) if fields.get("name") == name), None)
    return ResolvedProvider.model_validate(found) if found else None


def _providers(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _providers(item)
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            if key == "provider" and isinstance(item, Mapping):
                yield cast("Mapping[str, Any]", item)
            else:
                yield from _providers(item)


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
