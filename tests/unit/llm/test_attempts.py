from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import anyio
import pytest

from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, ProviderType, ResolvedProvider, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.usage import TokenUsage
from tarsy.llm.attempts import CallRetryPolicy, delay_before_retry, stream_answer
from tarsy.llm.failures import Failure, describe, parse_retry_after
from tarsy.llm.signals import Finished, KeepAlive, Signal

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
POLICY = CallRetryPolicy()
LIMITED = Failure(code=ErrorCode.RATE_LIMITED, message="", retryable=True, transient=True)
EMPTY = Failure(code=ErrorCode.EMPTY_RESPONSE, message="", retryable=True)


def test_waits_double_and_end_after_three_retries() -> None:
    assert [delay_before_retry(POLICY, LIMITED, done, jitter=1.0) for done in range(4)] == [1.0, 2.0, 4.0, None]


def test_jitter_takes_up_to_half_of_a_wait() -> None:
    assert [delay_before_retry(POLICY, LIMITED, done, jitter=0.0) for done in range(3)] == [0.5, 1.0, 2.0]


def test_an_empty_answer_waits_three_times_three_seconds() -> None:
    assert [delay_before_retry(POLICY, EMPTY, done, jitter=0.5) for done in range(4)] == [3.0, 3.0, 3.0, None]


def test_what_the_vendor_asks_for_is_waited_exactly_unless_it_is_too_long() -> None:
    def asked(seconds: float) -> Failure:
        return Failure(code=ErrorCode.RATE_LIMITED, message="", transient=True, retry_after=seconds)

    assert delay_before_retry(POLICY, asked(17.0), 0, jitter=0.5) == 17.0
    assert delay_before_retry(POLICY, asked(3600.0), 0, jitter=0.5) is None


def test_what_is_not_transient_is_not_tried_again() -> None:
    assert delay_before_retry(POLICY, Failure(code=ErrorCode.CREDENTIALS, message=""), 0, jitter=0.5) is None


@pytest.mark.parametrize(
    ("milliseconds", "value", "seconds"),
    [
        (None, "7", 7.0),
        ("1500", "7", 1.5),
        (None, "Sun, 15 Nov 2026 12:00:30 GMT", 30.0),
        (None, "Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
        (None, "soon", None),
        (None, None, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(milliseconds: str | None, value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(milliseconds, value, NOW) == seconds


class VendorError(Exception):
    def __init__(self, status: int, message: str, details: object = None) -> None:
        self.status_code = status
        self.details = details
        super().__init__(message)


@pytest.mark.parametrize(
    ("status", "message", "code", "transient"),
    [
        (401, "no", ErrorCode.CREDENTIALS, False),
        (403, "no", ErrorCode.CREDENTIALS, False),
        (400, "API key not valid. Please pass a valid API key.", ErrorCode.CREDENTIALS, False),
        (404, "no such model", ErrorCode.INVALID_REQUEST, False),
        (413, "too large", ErrorCode.CONTEXT_TOO_LONG, False),
        (400, "the request exceeds the available context size", ErrorCode.CONTEXT_TOO_LONG, False),
        (429, "slow down", ErrorCode.RATE_LIMITED, True),
        (429, "insufficient_quota", ErrorCode.RATE_LIMITED, False),
        (408, "request timeout", ErrorCode.PROVIDER_UNAVAILABLE, True),
        (504, "upstream request timeout", ErrorCode.TIMEOUT, True),
        (529, "overloaded", ErrorCode.PROVIDER_UNAVAILABLE, True),
    ],
)
def test_a_status_says_what_it_means(status: int, message: str, code: ErrorCode, *, transient: bool) -> None:
    failure = describe(VendorError(status, message))
    assert (failure.code, failure.transient) == (code, transient)


def test_googles_own_way_to_ask_for_patience_is_understood() -> None:
    details = {"error": {"code": 429, "message": "slow", "details": [{"@type": "RetryInfo", "retryDelay": "12s"}]}}
    assert describe(VendorError(429, "slow", details)).retry_after == 12.0


def test_a_retry_after_that_is_no_number_is_ignored() -> None:
    assert describe(VendorError(429, "slow", {"error": {"details": [{"retryDelay": "1.2.3s"}]}})).retry_after is None


def test_an_error_nobody_knows_is_reported_but_not_repeated() -> None:
    failure = describe(KeyError("surprise"))
    assert (failure.code, failure.retryable, failure.transient) == (ErrorCode.PROVIDER_UNAVAILABLE, True, False)
    assert failure.unexpected


def test_a_page_of_html_is_cut_short() -> None:
    assert len(describe(VendorError(500, "<html>" * 10_000)).message) < 2100


async def streamed(*signals: Signal | float, first_chunk: float = 10, stall: float = 10) -> list[Chunk]:
    """Stream the answer of one attempt with these signals; a number is a pause in seconds."""
    provider = ResolvedProvider(name="one", type=ProviderType.OPENAI, model="model-1", first_chunk_timeout=first_chunk, stall_timeout=stall)

    async def attempt() -> AsyncGenerator[Signal]:
        for signal in signals:
            match signal:
                case float() | int():
                    await anyio.sleep(signal)
                case _:
                    yield signal

    return [chunk async for chunk in stream_answer(attempt, provider, CallRetryPolicy(retries=0))]


async def test_a_vendor_that_shows_signs_of_life_may_take_longer_than_the_first_word_may() -> None:
    call = ToolCallChunk("c", "s.t", "{}")
    assert await streamed(KeepAlive.EVENT, 0.2, call, Finished("stop"), first_chunk=0.1) == [call]


async def test_a_vendor_that_only_counts_has_not_begun() -> None:
    assert await streamed(TokenUsage(1), 0.2, TextChunk("a"), Finished("stop"), stall=0.1) == [TextChunk("a"), TokenUsage(1)]


async def test_signs_of_life_that_cease_are_a_stall() -> None:
    (error,) = await streamed(KeepAlive.EVENT, 10.0, first_chunk=0.01, stall=0.1)
    assert error == ErrorChunk("the answer stalled for 0.1 s", ErrorCode.STALLED, retryable=True)


async def test_a_character_that_comes_in_halves_is_put_together_and_half_a_one_is_replaced() -> None:
    assert await streamed(TextChunk("a\ud83d"), TextChunk("\ude00b"), TextChunk("\ude00c\ud83d"), Finished("stop")) == [
        TextChunk("a"),
        TextChunk("\U0001f600b"),
        TextChunk("\ufffdc"),
    ]
    assert await streamed(ThinkingChunk("\ud83dx"), ToolCallChunk("c", "s.t", "\ud83d"), Finished("stop")) == [
        ThinkingChunk("\ufffdx"),
        ToolCallChunk("c", "s.t", "\ufffd"),
    ]


@pytest.mark.parametrize(("begun", "rest"), [(ThinkingChunk("Hm."), ""), (TextChunk("The cause is"), "the rest of ")])
async def test_an_answer_that_is_withheld_after_it_began_is_neither_whole_nor_worth_another_try(begun: Chunk, rest: str) -> None:
    withheld = ErrorChunk(f"the model withheld {rest}its answer: refusal", ErrorCode.INVALID_REQUEST)
    assert await streamed(begun, Finished("refusal")) == [begun, withheld]
