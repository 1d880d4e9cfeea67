"""When the reader goes away, so does everything done on its behalf."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

import pytest

from support.asking import Asking, Route, routes
from support.vendor_server import Act, Reply
from support.vendors import Answer, Anthropic, ChatCompletions, Gemini, Responses
from tarsy.domain.llm import TextChunk

# One for each SDK underneath.
SDKS = (Gemini(), ChatCompletions(), Responses(), Anthropic())
# The promise is 0.1 s; a busy machine gets more, a forgotten request would take for ever.
SOON = 15.0


@pytest.fixture(params=routes(SDKS, over_grpc=(ChatCompletions(),)), ids=str)
def route(request: pytest.FixtureRequest) -> Route:
    return request.param


def half_an_answer(asking: Asking) -> Reply:
    return Reply((*asking.vendor.events(Answer(text=("Bec",), ends=False)), Act.HANG))


async def cancelled_after(work: Coroutine[Any, Any, Any], moment: asyncio.Event) -> None:
    task = asyncio.ensure_future(work)
    await asyncio.wait_for(moment.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, SOON)


async def test_cancelling_the_reader_ends_the_request_that_has_not_been_answered(asking: Asking) -> None:
    asking.server.replies.append(Reply((Act.HANG,)))

    await cancelled_after(asking.receive(), asking.server.asked)

    await asyncio.wait_for(asking.server.abandoned.wait(), SOON)


async def test_cancelling_the_reader_ends_the_answer_under_way(asking: Asking) -> None:
    asking.server.replies.append(half_an_answer(asking))
    received = asyncio.Event()

    async def read() -> None:
        async for chunk in asking.client.generate(asking.request()):
            assert chunk == TextChunk("Bec")
            received.set()

    await cancelled_after(read(), received)

    await asyncio.wait_for(asking.server.abandoned.wait(), SOON)


async def test_closing_the_iterator_ends_the_answer_under_way(asking: Asking) -> None:
    asking.server.replies.append(half_an_answer(asking))

    async with aclosing(asking.client.generate(asking.request())) as chunks:
        assert await anext(chunks) == TextChunk("Bec")

    await asyncio.wait_for(asking.server.abandoned.wait(), SOON)


async def test_cancelling_the_reader_ends_the_wait_before_a_retry(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.error(429, "Slow down.", {"Retry-After": "25"}))
    await cancelled_after(asking.receive(), asking.server.answered)

    assert len(asking.server.seen) == 1


async def test_a_hundred_answers_are_under_way_at_once(asking: Asking) -> None:
    events = asking.vendor.events(Answer(text=("Bec", "ause.")))
    asking.server.replies.extend([Reply((*events[:1], Act.WAIT, *events[1:]))] * 100)
    answers = [asyncio.ensure_future(asking.receive(first_chunk_timeout=60)) for _ in range(100)]

    async with asyncio.timeout(60):
        for _ in answers:
            await asking.server.arrivals.acquire()
    asking.server.gate.set()

    whole = ["".join(chunk.content for chunk in chunks if isinstance(chunk, TextChunk)) for chunks in await asyncio.gather(*answers)]
    assert whole == ["Because."] * 100
