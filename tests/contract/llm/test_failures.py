"""Failures of a vendor: what is tried again, how often, and which error the caller gets in the end."""

from urllib.parse import urlsplit

import anyio
import pytest

from support.asking import Asking, without_words
from support.vendor_server import Act, Reply
from support.vendors import USAGE, Answer
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, TextChunk, ThinkingChunk
from tarsy.domain.usage import TokenUsage

ANSWER: list[Chunk] = [TextChunk("Because."), USAGE]
PARTIAL = ErrorChunk("", ErrorCode.PARTIAL_STREAM, retryable=True)
TOO_LONG = {
    "google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "vertexai": "prompt is too long: the input token count exceeds the maximum number of tokens allowed",
    "openai": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "xai": "This model's maximum prompt length is exceeded: maximum context length is 131072",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
}


def good(asking: Asking) -> Reply:
    return asking.vendor.reply(Answer(text=("Because.",)))


def opening(asking: Asking) -> tuple[bytes, ...]:
    """An answer up to its first word."""
    return tuple(asking.vendor.events(Answer(text=("Bec",), ends=False)))


async def test_a_rate_limit_is_waited_out_as_long_as_the_vendor_asks(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = anyio.sleep

    async def noted(delay: float) -> None:
        pauses.append(delay)
        await sleep(0)

    monkeypatch.setattr(anyio, "sleep", noted)
    asking.server.replies.extend([asking.vendor.error(429, "Slow down.", {"Retry-After": "7.5"}), good(asking)])

    assert await asking.receive() == ANSWER
    assert 7.5 in pauses
    asking.assert_asked("plain", "plain")


async def test_a_lasting_rate_limit_is_reported_after_three_retries(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.error(429, "Slow down.")] * 4)

    assert await asking.receive() == [ErrorChunk("HTTP 429: Slow down.", ErrorCode.RATE_LIMITED, retryable=True)]
    asking.assert_asked(*["plain"] * 4)


async def test_a_server_error_is_retried(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.error(500, "Oops."), good(asking)])

    assert await asking.receive() == ANSWER
    asking.assert_asked("plain", "plain")


async def test_a_lasting_server_error_is_reported(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.error(500, "Oops.")] * 4)

    assert await asking.receive() == [ErrorChunk("HTTP 500: Oops.", ErrorCode.PROVIDER_UNAVAILABLE, retryable=True)]
    asking.assert_asked(*["plain"] * 4)


async def test_a_vendor_that_never_begins_is_given_up(asking: Asking) -> None:
    asking.server.replies.append(Reply((Act.HANG,)))

    assert await asking.receive(first_chunk_timeout=0.5) == [ErrorChunk("no answer within 0.5 s", ErrorCode.TIMEOUT, retryable=True)]
    asking.assert_asked("plain")


async def test_a_vendor_that_falls_silent_is_given_up(asking: Asking) -> None:
    asking.server.replies.append(Reply((*opening(asking), Act.HANG)))

    assert await asking.receive(stall_timeout=0.3) == [
        TextChunk("Bec"),
        ErrorChunk("the answer stalled for 0.3 s", ErrorCode.STALLED, retryable=True),
    ]
    asking.assert_asked("plain")


async def test_a_connection_lost_before_the_first_word_is_tried_again(asking: Asking) -> None:
    asking.server.replies.extend([Reply((Act.CUT,)), good(asking)])

    assert await asking.receive() == ANSWER
    asking.assert_asked("plain", "plain")


async def test_an_answer_that_breaks_off_is_never_begun_again(asking: Asking) -> None:
    asking.server.replies.append(Reply((*opening(asking), Act.CUT)))

    assert without_words(await asking.receive()) == [TextChunk("Bec"), PARTIAL]
    asking.assert_asked("plain")


async def test_an_answer_without_an_end_is_not_taken_for_a_whole_one(asking: Asking) -> None:
    asking.server.replies.append(Reply(opening(asking)))

    assert await asking.receive() == [
        TextChunk("Bec"),
        ErrorChunk(
            "the answer was interrupted: the connection closed before the answer was complete", ErrorCode.PARTIAL_STREAM, retryable=True
        ),
    ]
    asking.assert_asked("plain")


async def test_an_empty_answer_is_asked_for_again(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.reply(Answer()), good(asking)])

    # What the empty answer cost is counted too.
    assert await asking.receive() == [TextChunk("Because."), TokenUsage(40, 24, 64, 14, 10)]
    asking.assert_asked("plain", "plain")


async def test_a_model_that_stays_silent_is_reported_after_three_retries(asking: Asking) -> None:
    asking.server.replies.extend([asking.vendor.reply(Answer())] * 4)

    assert without_words(await asking.receive()) == [
        TokenUsage(80, 48, 128, 28, 20),
        ErrorChunk("", ErrorCode.EMPTY_RESPONSE, retryable=True),
    ]
    asking.assert_asked(*["plain"] * 4)


async def test_thinking_without_an_answer_is_reported_not_repeated(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(thinking=("Hm.",))))

    assert without_words(await asking.receive()) == [
        ThinkingChunk("Hm."),
        USAGE,
        ErrorChunk("", ErrorCode.EMPTY_RESPONSE, retryable=True),
    ]
    asking.assert_asked("plain")


async def test_an_unreadable_answer_is_asked_for_again(asking: Asking) -> None:
    asking.server.replies.extend([Reply((asking.vendor.unreadable(),)), good(asking)])

    assert await asking.receive() == ANSWER
    asking.assert_asked("plain", "plain")


async def test_an_answer_that_becomes_unreadable_is_partial(asking: Asking) -> None:
    asking.server.replies.append(Reply((*opening(asking), asking.vendor.unreadable())))

    assert without_words(await asking.receive()) == [TextChunk("Bec"), PARTIAL]
    asking.assert_asked("plain")


async def test_a_refused_key_is_reported_at_once_and_not_quoted(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.error(401, "The key sk-secret is not valid."))

    chunks = await asking.receive()

    assert without_words(chunks) == [ErrorChunk("", ErrorCode.CREDENTIALS)]
    # Vertex AI is reached with a token, so there the words are nobody's secret.
    assert ("sk-secret" in str(chunks)) == (asking.vendor.type == "vertexai")
    asking.assert_asked("plain")


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (200, "text/html; charset=utf-8", b"<!doctype html><title>Welcome</title>"),
        (404, "text/html", b"<html>404 Not Found</html>"),
        (404, "text/plain", b"404 page not found"),
        (404, "application/json", b'{"detail": "Not Found"}'),
    ],
)
async def test_a_wrong_base_url_is_reported_at_once_with_the_address(asking: Asking, status: int, kind: str, body: bytes) -> None:
    asking.server.replies.append(Reply((body,), status, {}, kind))

    chunks = await asking.receive()

    assert without_words(chunks) == [ErrorChunk("", ErrorCode.INVALID_REQUEST)]
    message = "".join(chunk.message for chunk in chunks if isinstance(chunk, ErrorChunk))
    assert f"{asking.server.url}{urlsplit(asking.server.seen[0].path).path}" in message
    assert f"HTTP {status}" in message
    assert "<" not in message
    asking.assert_asked("plain")


async def test_a_page_from_a_gateway_in_trouble_is_waited_out(asking: Asking) -> None:
    asking.server.replies.extend([Reply((b"<html>Bad Gateway</html>",), 502, {}, "text/html"), good(asking)])

    assert await asking.receive() == ANSWER
    asking.assert_asked("plain", "plain")


async def test_a_gateway_that_did_not_wait_is_a_timeout(asking: Asking) -> None:
    asking.server.replies.extend([Reply((b"upstream request timeout",), 504, {}, "text/plain")] * 4)

    assert without_words(await asking.receive()) == [ErrorChunk("", ErrorCode.TIMEOUT, retryable=True)]
    asking.assert_asked(*["plain"] * 4)


async def test_a_conversation_that_has_grown_too_long_has_an_error_of_its_own(asking: Asking) -> None:
    message = TOO_LONG[asking.vendor.type]
    asking.server.replies.append(asking.vendor.error(400, message))

    assert await asking.receive() == [ErrorChunk(f"HTTP 400: {message}", ErrorCode.CONTEXT_TOO_LONG)]
    asking.assert_asked("plain")


async def test_a_bad_request_is_reported_at_once(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.error(400, "No such thing."))

    assert await asking.receive() == [ErrorChunk("HTTP 400: No such thing.", ErrorCode.INVALID_REQUEST)]
    asking.assert_asked("plain")
