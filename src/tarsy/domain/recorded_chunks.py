"""Chunks as they are recorded, and back. Pure; what is played is what was heard, with adjoining text merged."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, assert_never

from pydantic import ValidationError

from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GroundingChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.recording import RecordedChunk, RecordedCode, RecordedError, RecordedToolCallChunk
from tarsy.domain.usage import TokenUsage
from tarsy.kit.model import adapter

Word = TypeVar("Word", ErrorCode, FinishReason)


class UnplayableChunkError(ValueError):
    """A recorded chunk says something no model could have said; its author can correct the recording."""


def chunks_to_recorded(chunks: Iterable[Chunk]) -> tuple[RecordedChunk, ...]:
    """Put a model's answer into recorded form."""
    return tuple(_to_recorded(chunk) for chunk in merge_text(chunks))


def merge_text(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Join neighbouring text chunks, and neighbouring thinking chunks, into one each."""
    kind: type[TextChunk | ThinkingChunk] | None = None
    pieces: list[str] = []
    for chunk in chunks:
        if kind is not None and not isinstance(chunk, kind):
            yield kind("".join(pieces))
            kind, pieces = None, []
        if isinstance(chunk, TextChunk | ThinkingChunk):
            kind = type(chunk)
            pieces.append(chunk.content)
        else:
            yield chunk
    if kind is not None:
        yield kind("".join(pieces))


def _to_recorded(chunk: Chunk) -> RecordedChunk:
    match chunk:
        case TextChunk(content):
            recorded = RecordedChunk(text=content)
        case ThinkingChunk(content):
            recorded = RecordedChunk(thinking=content)
        case ToolCallChunk(call_id, name, arguments):
            recorded = RecordedChunk(tool_call=RecordedToolCallChunk(id=call_id, name=name, arguments=arguments))
        case CodeExecutionChunk(code, result):
            recorded = RecordedChunk(code_execution=RecordedCode(code=code, result=result))
        case GroundingChunk():
            recorded = RecordedChunk(grounding=adapter(GroundingChunk).dump_python(chunk, mode="json"))
        case TokenUsage():
            recorded = RecordedChunk(usage=chunk)
        case FinishChunk(reason):
            recorded = RecordedChunk(finish=reason.value)
        case ErrorChunk(message, code, retryable):
            recorded = RecordedChunk(error=RecordedError(message=message, code=code.value, retryable=retryable))
        case _:
            assert_never(chunk)
    return recorded


def recorded_to_chunk(chunk: RecordedChunk) -> Chunk:
    """Bring one recorded chunk back.

    Raises:
        UnplayableChunkError: its error code, finish reason or grounding is not one we know.
    """
    match chunk:
        case RecordedChunk(text=str(text)):
            played: Chunk = TextChunk(text)
        case RecordedChunk(thinking=str(text)):
            played = ThinkingChunk(text)
        case RecordedChunk(tool_call=RecordedToolCallChunk() as call):
            played = _tool_call(call)
        case RecordedChunk(code_execution=RecordedCode(code=code, result=result)):
            played = CodeExecutionChunk(code, result)
        case RecordedChunk(usage=TokenUsage() as usage):
            played = usage
        case RecordedChunk(finish=str(reason)):
            played = FinishChunk(_known(FinishReason, reason, "a recorded answer has the finish reason"))
        case RecordedChunk(error=RecordedError(message=message, code=code, retryable=retryable)):
            played = ErrorChunk(message, _known(ErrorCode, code, "a recorded error has the code"), retryable)
        case _:
            played = _grounding(chunk.grounding)
    return played


def _tool_call(call: RecordedToolCallChunk) -> ToolCallChunk:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    return ToolCallChunk(call.id, call.name, arguments)


def _known(kind: type[Word], word: str, where: str) -> Word:
    try:
        return kind(word)
    except ValueError:
        raise UnplayableChunkError(f"{where} {word!r}; known are {', '.join(kind)}") from None


def _grounding(value: Mapping[str, Any] | None) -> GroundingChunk:
    try:
        return adapter(GroundingChunk).validate_python(value)
    except ValidationError as error:
        raise UnplayableChunkError(f"a recorded grounding cannot be read: {error}") from error
