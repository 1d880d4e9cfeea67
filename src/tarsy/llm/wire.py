"""The contract's messages as our values, and back.

Values that the contract has no field for (track, turn, the longest answer, time limits, recording) are sent as metadata that other services ignore.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, assert_never, cast

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GenerateInput,
    GroundingChunk,
    GroundingSource,
    GroundingSupport,
    LLMBackend,
    ProviderType,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.failures import code_from_text
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb

SERVICE = "llm.v1.LLMService"
GENERATE = f"/{SERVICE}/Generate"
CALL_METADATA = "tarsy-call-bin"
# Settings of a provider that travel in the metadata.
_PROVIDER_METADATA = ("first_chunk_timeout", "stall_timeout", "recording", "replay_speed")
# A long conversation with large tool results; gRPC's own limit is 4 MiB.
MESSAGE_SIZE = 64 * 1024 * 1024
MESSAGE_OPTIONS = (("grpc.max_send_message_length", MESSAGE_SIZE), ("grpc.max_receive_message_length", MESSAGE_SIZE))

# The contract's names of the backends; ours are accepted too.
_BACKENDS = {LLMBackend.LANGCHAIN: "langchain", LLMBackend.NATIVE_GEMINI: "google-native"}
_BACKENDS_BACK = {
    "": LLMBackend.LANGCHAIN,
    **{name: backend for backend, name in _BACKENDS.items()},
    "native-gemini": LLMBackend.NATIVE_GEMINI,
}


_FINISHES = {reason.value: reason for reason in FinishReason}
_CODES = {code.value: code for code in ErrorCode if code is not ErrorCode.CEILING}
# Codes after which another try cannot help.
_PERMANENT = {ErrorCode.CREDENTIALS, ErrorCode.INVALID_REQUEST, ErrorCode.CONTEXT_TOO_LONG}
# Codes of the Go project's service for faults that pass. It sends them as not retryable, because it does not retry them itself.
_TRANSIENT = {"provider_error", "max_retries", "internal", "partial_stream_error"}


class UnreadableRequestError(ValueError):
    """A request is outside the contract; its sender can act."""


def request_to_proto(request: GenerateInput) -> pb.GenerateRequest:
    provider = request.provider
    return pb.GenerateRequest(
        session_id=request.session_id,
        execution_id=request.execution_id,
        clear_cache=request.clear_cache,
        messages=[
            pb.ConversationMessage(
                role=message.role.value,
                content=message.content,
                tool_calls=[pb.ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in message.tool_calls],
                tool_call_id=message.tool_call_id or "",
                tool_name=message.tool_name or "",
            )
            for message in request.messages
        ],
        tools=[
            pb.ToolDefinition(name=tool.name, description=tool.description, parameters_schema=json.dumps(tool.parameters_schema))
            for tool in request.tools
        ],
        llm_config=pb.LLMConfig(
            provider=provider.type.value,
            model=provider.model,
            api_key_env=provider.api_key_env or "",
            credentials_env=provider.credentials_env or "",
            base_url=provider.base_url or "",
            native_tools=dict(provider.native_tools),
            project=request.project or "",
            location=request.location or "",
            backend=_BACKENDS[request.backend],
        ),
    )


def call_metadata(request: GenerateInput) -> bytes:
    return json.dumps(
        {
            "provider_name": request.provider.name,
            "track": request.track,
            "turn": request.turn,
            "max_output_tokens": request.max_output_tokens,
            **request.provider.model_dump(include=set(_PROVIDER_METADATA)),
        }
    ).encode()


def request_from_proto(message: pb.GenerateRequest, metadata: bytes | None) -> GenerateInput:
    """Parse a request.

    Raises:
        UnreadableRequestError: it is outside the contract.
    """
    config = message.llm_config
    try:
        extra: Mapping[str, Any] = json.loads(metadata or b"{}")
        return GenerateInput(
            session_id=message.session_id,
            execution_id=message.execution_id,
            clear_cache=message.clear_cache,
            messages=tuple(
                ConversationMessage(
                    Role(entry.role),
                    entry.content,
                    tuple(ToolCall(call.id, call.name, call.arguments) for call in entry.tool_calls),
                    entry.tool_call_id or None,
                    entry.tool_name or None,
                )
                for entry in message.messages
            ),
            tools=tuple(ToolDefinition(tool.name, tool.description, _schema(tool.parameters_schema)) for tool in message.tools),
            provider=ResolvedProvider(
                name=extra.get("provider_name") or config.provider,
                type=ProviderType(config.provider.lower()),
                model=config.model,
                api_key_env=config.api_key_env or None,
                credentials_env=config.credentials_env or None,
                base_url=config.base_url or None,
                native_tools=dict(config.native_tools),
                **{name: extra[name] for name in _PROVIDER_METADATA if extra.get(name) is not None},
            ),
            backend=_BACKENDS_BACK[config.backend],
            project=config.project or None,
            location=config.location or None,
            track=str(extra.get("track", "")),
            turn=int(extra.get("turn", 0)),
            max_output_tokens=extra.get("max_output_tokens"),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableRequestError(f"the request cannot be read: {error!r}") from error


def _schema(text: str) -> dict[str, Any]:
    parsed: Any = json.loads(text or "{}")
    if not isinstance(parsed, dict):
        raise TypeError("a tool's parameters_schema is not a JSON object")
    return cast("dict[str, Any]", parsed)


def chunk_to_proto(chunk: Chunk) -> pb.GenerateResponse:
    match chunk:
        case TextChunk(content):
            message = pb.GenerateResponse(text=pb.TextDelta(content=content))
        case ThinkingChunk(content):
            message = pb.GenerateResponse(thinking=pb.ThinkingDelta(content=content))
        case ToolCallChunk(call_id, name, arguments):
            message = pb.GenerateResponse(tool_call=pb.ToolCallDelta(call_id=call_id, name=name, arguments=arguments))
        case CodeExecutionChunk(code, result):
            message = pb.GenerateResponse(code_execution=pb.CodeExecutionDelta(code=code, result=result))
        case GroundingChunk():
            grounding = pb.GroundingDelta(
                web_search_queries=chunk.web_search_queries,
                grounding_chunks=[pb.GroundingChunkInfo(uri=source.uri, title=source.title) for source in chunk.sources],
                grounding_supports=[
                    pb.GroundingSupport(
                        start_index=support.start_index,
                        end_index=support.end_index,
                        text=support.text,
                        grounding_chunk_indices=support.source_indices,
                    )
                    for support in chunk.supports
                ],
                search_entry_point_html=chunk.search_entry_point_html,
            )
            message = pb.GenerateResponse(grounding=grounding)
        case TokenUsage():
            message = pb.GenerateResponse(usage=pb.UsageInfo(**asdict(chunk)))
        case FinishChunk(reason):
            message = pb.GenerateResponse(finish_reason=reason.value, is_final=True)
        case ErrorChunk(text, code, retryable):
            # Nothing follows an error.
            message = pb.GenerateResponse(error=pb.ErrorInfo(message=text, code=code.value, retryable=retryable), is_final=True)
        case _:
            assert_never(chunk)
    return message


def chunks_from_proto(message: pb.GenerateResponse) -> tuple[Chunk, ...]:
    """Parse a response: its content, and the finish reason of an answer that was cut. Other services send no reason, or also one for a whole answer."""
    match message.WhichOneof("content"):
        case "text":
            chunk: Chunk | None = TextChunk(message.text.content)
        case "thinking":
            chunk = ThinkingChunk(message.thinking.content)
        case "tool_call":
            chunk = ToolCallChunk(message.tool_call.call_id, message.tool_call.name, message.tool_call.arguments)
        case "code_execution":
            chunk = CodeExecutionChunk(message.code_execution.code, message.code_execution.result)
        case "grounding":
            grounding = message.grounding
            chunk = GroundingChunk(
                tuple(grounding.web_search_queries),
                tuple(GroundingSource(source.uri, source.title) for source in grounding.grounding_chunks),
                tuple(
                    GroundingSupport(support.start_index, support.end_index, support.text, tuple(support.grounding_chunk_indices))
                    for support in grounding.grounding_supports
                ),
                grounding.search_entry_point_html,
            )
        case "usage":
            usage = message.usage
            chunk = TokenUsage(usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.thinking_tokens, usage.cached_tokens)
        case "error":
            chunk = _error(message.error)
        case None:
            chunk = None
        case unknown:
            assert_never(unknown)
    chunks = () if chunk is None else (chunk,)
    finish = _FINISHES.get(message.finish_reason)
    return chunks if finish is None else (*chunks, FinishChunk(finish))


def _error(error: pb.ErrorInfo) -> ErrorChunk:
    """Parse an error. Codes of other services are judged by their words, unless these contradict `retryable`."""
    code, retryable = _CODES.get(error.code), error.retryable
    if code is None or code is ErrorCode.PROVIDER_UNAVAILABLE:
        stated = ErrorCode.PARTIAL_STREAM if error.code == "partial_stream_error" else code_from_text(f"{error.code}: {error.message}")
        if error.code in _TRANSIENT:
            retryable = retryable or stated not in _PERMANENT
        if (stated in _PERMANENT) is not retryable:
            code = stated
        else:
            code = code or (ErrorCode.PROVIDER_UNAVAILABLE if retryable else ErrorCode.INVALID_REQUEST)
    return ErrorChunk(error.message, code, retryable)
