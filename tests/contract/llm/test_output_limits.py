"""A call that is limited by a ceiling says so in its vendor's own words; one that is not says nothing."""

from dataclasses import replace
from typing import Any

import pytest

from support.asking import Asking, Route, routes
from support.vendors import Answer, Anthropic, ChatCompletions, Gemini, GeminiByDefault, Responses


def limit_in(body: dict[str, Any]) -> Any:
    return next(
        (found[name] for found in (body, body.get("generationConfig", {})) for name in _NAMES if name in found),
        None,
    )


_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")


VENDORS = (ChatCompletions(), Responses(), Anthropic(), Gemini(), GeminiByDefault())


@pytest.fixture(params=routes(VENDORS, over_grpc=(ChatCompletions(),)), ids=str)
def route(request: pytest.FixtureRequest) -> Route:
    return request.param


async def test_the_limit_of_a_call_reaches_its_vendor(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))
    await asking.receive(replace(asking.request(), max_output_tokens=3_000))
    assert limit_in(asking.server.bodies[0]) == 3_000


async def test_a_call_without_a_limit_has_the_vendors(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Because.",))))
    await asking.receive(asking.request())
    assert limit_in(asking.server.bodies[0]) not in {3_000, 16_000}
