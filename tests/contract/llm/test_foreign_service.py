"""Services of the same contract that others wrote: no health check, error codes of their own, code and its result distinguished."""

import pytest

from support.asking import QUESTION
from support.foreign_llm_service import foreign_llm_service
from support.vendors import ChatCompletions
from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    GenerateInput,
    LLMBackend,
    LLMHealth,
    TextChunk,
    ThinkingChunk,
)
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb

LAST = pb.GenerateResponse(is_final=True)


async def received(*answer: pb.GenerateResponse | Exception) -> list[Chunk]:
    provider = ChatCompletions().provider("http://127.0.0.1:9")
    request = GenerateInput(session_id="s", execution_id="e", messages=QUESTION, provider=provider, backend=LLMBackend.LANGCHAIN)
    async with foreign_llm_service(*answer) as address:
        client = GrpcLLMClient(address, env={})
        try:
            return [chunk async for chunk in client.generate(request)]
        finally:
            await client.aclose()


def text(content: str, **more: bool | str) -> pb.GenerateResponse:
    return pb.GenerateResponse(text=pb.TextDelta(content=content), **more)  # pyright: ignore[reportArgumentType] - is_final, finish_reason


def execution(code: str = "", result: str = "") -> pb.GenerateResponse:
    return pb.GenerateResponse(code_execution=pb.CodeExecutionDelta(code=code, result=result))


async def test_a_service_without_a_health_check_is_healthy_when_it_answers_and_only_then() -> None:
    async with foreign_llm_service(LAST) as address:
        client = GrpcLLMClient(address, env={})
        assert await client.health() == LLMHealth(ok=True, detail=f"the LLM service at {address} answers; it has no health check")
    assert not (await client.health()).ok
    await client.aclose()


@pytest.mark.parametrize(
    ("code", "message", "retryable", "meant"),
    [
        ("google_error", "quota project is not set", False, ErrorCode.INVALID_REQUEST),
        ("provider_unavailable", "gone for good", False, ErrorCode.PROVIDER_UNAVAILABLE),
        ("rate_limited", "no more credit", False, ErrorCode.RATE_LIMITED),
        ("odd", "it timed out for good", False, ErrorCode.INVALID_REQUEST),
        ("too_large", "HTTP 413", False, ErrorCode.CONTEXT_TOO_LONG),
        ("provider_error", "Generation failed: Error code: 400 - unknown field", False, ErrorCode.INVALID_REQUEST),
        ("provider_error", "Generation failed: Error code: 413", False, ErrorCode.CONTEXT_TOO_LONG),
        ("provider_error", "Generation failed: invalid api key", False, ErrorCode.CREDENTIALS),
        ("auth", "invalid api key", False, ErrorCode.CREDENTIALS),
        ("too_long", "prompt is too long", False, ErrorCode.CONTEXT_TOO_LONG),
        ("google_error", "invalid api key", True, ErrorCode.PROVIDER_UNAVAILABLE),
        ("max_retries", "HTTP 504 from the vendor", True, ErrorCode.TIMEOUT),
        ("provider_error", "the request timed out", True, ErrorCode.TIMEOUT),
        ("provider_unavailable", "Gateway Timeout", True, ErrorCode.TIMEOUT),
        ("llm_timeout", "", True, ErrorCode.TIMEOUT),
        ("busy", "too many requests", True, ErrorCode.RATE_LIMITED),
        ("odd", "who knows", True, ErrorCode.PROVIDER_UNAVAILABLE),
        ("stalled", "nothing more came", True, ErrorCode.STALLED),
    ],
)
async def test_an_error_means_what_it_says_whatever_its_code(code: str, message: str, meant: ErrorCode, *, retryable: bool) -> None:
    error = pb.ErrorInfo(code=code, message=message, retryable=retryable)

    assert await received(pb.GenerateResponse(error=error, is_final=True)) == [ErrorChunk(message, meant, retryable)]


@pytest.mark.parametrize(
    ("code", "message", "meant"),
    [
        ("provider_error", "Generation failed: peer closed connection", ErrorCode.PROVIDER_UNAVAILABLE),
        ("provider_error", "Generation failed: Error code: 529 - overloaded", ErrorCode.PROVIDER_UNAVAILABLE),
        ("max_retries", "Generation failed after 3 retries: Generation timed out after 300s", ErrorCode.TIMEOUT),
        ("max_retries", "Generation failed after 3 retries: Error code: 429", ErrorCode.RATE_LIMITED),
        ("internal", "Internal error during generation", ErrorCode.PROVIDER_UNAVAILABLE),
        ("partial_stream_error", "Stream failed after partial output (3 chunks)", ErrorCode.PARTIAL_STREAM),
    ],
)
async def test_faults_that_the_go_service_does_not_retry_itself_are_retried_by_their_code(
    code: str, message: str, meant: ErrorCode
) -> None:
    error = pb.ErrorInfo(code=code, message=message, retryable=False)

    assert await received(pb.GenerateResponse(error=error, is_final=True)) == [ErrorChunk(message, meant, retryable=True)]


async def test_a_service_that_breaks_down_over_a_timeout_is_a_timeout() -> None:
    (error,) = await received(TimeoutError("the vendor timed out"))

    assert isinstance(error, ErrorChunk)
    assert (error.code, error.retryable) == (ErrorCode.TIMEOUT, True)


async def test_code_and_result_that_come_apart_are_one_execution() -> None:
    thinking = pb.GenerateResponse(thinking=pb.ThinkingDelta(content="Hm."))

    assert await received(execution(code="6 * 7"), thinking, execution(result="42"), execution(code="1"), text("42."), LAST) == [
        ThinkingChunk("Hm."),
        CodeExecutionChunk("6 * 7", "42"),
        CodeExecutionChunk("1", ""),
        TextChunk("42."),
    ]


async def test_an_answer_that_ends_with_its_last_words_may_say_that_it_was_cut() -> None:
    assert await received(text("Bec", is_final=True, finish_reason="length")) == [TextChunk("Bec"), FinishChunk(FinishReason.LENGTH)]
    assert await received(text("Because.", is_final=True, finish_reason="stop")) == [TextChunk("Because.")]
    assert await received(text("Because."), LAST) == [TextChunk("Because.")]
