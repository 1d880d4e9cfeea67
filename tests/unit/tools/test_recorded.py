"""The result of a recording that a call gets."""

import pytest

from tarsy.config.resolve.resolved import ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.tools.recorded import RecordedTools, RecordedToolServers

TRACK = "0.look/1.Investigator"
SERVER = ResolvedMcpServer(
    name="shop",
    transport=ResolvedTransport(type="stdio"),
    masking=ResolvedMasking(enabled=True, pattern_groups=("all",), custom_patterns=((r"CUST-\d+", "[CUSTOMER]"),)),
)


def recorded(call_id: str, arguments: str, content: str) -> RecordedTool:
    return RecordedTool(track=TRACK, call_id=call_id, name="shop.orders", arguments=arguments, content=content)


RECORDING = Recording(
    tools=(
        recorded("react-3", '{"pod": "a"}', "pod a"),
        recorded("react-5", '{"pod": "b"}', "pod b"),
        recorded("react-7", '{"of": "[CUSTOMER]", "by": "[MASKED_EMAIL ~k4f]"}', "two orders"),
        # Some vendors number the calls of each turn anew.
        recorded("call-0", '{"pod": "c"}', "pod c"),
        recorded("call-0", '{"pod": "d"}', "pod d"),
    )
)


def tools(*, live_model: bool) -> RecordedTools:
    return RecordedToolServers(RECORDING, live_model=live_model).tools(TRACK, {"shop": SERVER})


async def content_of(call_id: str, arguments: str, *, live_model: bool = True) -> str | None:
    result = await tools(live_model=live_model).execute(ToolCall(call_id, "shop.orders", arguments), lambda _: None)
    return None if result.is_error else result.content


async def test_a_live_model_gets_the_result_of_the_call_that_it_made_and_not_of_the_one_with_its_id() -> None:
    assert await content_of("react-3", '{"pod": "b"}') == "pod b"
    assert await content_of("react-3", '{"pod": "z"}') is None
    assert await content_of("react-99", '{ "pod": "a" }') == "pod a"


async def test_calls_with_the_same_id_are_told_apart_by_their_arguments() -> None:
    assert [await content_of("call-0", f'{{"pod": "{pod}"}}') for pod in "cd"] == ["pod c", "pod d"]


async def test_a_call_whose_arguments_were_masked_as_its_server_asks_is_found_by_its_id() -> None:
    made = '{"of": "CUST-123", "by": "ann@example.com"}'
    assert await content_of("react-7", made) == "two orders"
    # Of another call it is not known whether it was about the same customer.
    assert await content_of("react-9", made) is None
    assert await content_of("react-7", '{"of": "CUST-123", "by": "nobody"}') is None


@pytest.mark.parametrize("arguments", ['{"pod": "z"}', "not JSON"])
async def test_the_recorded_model_gets_the_recorded_result_by_the_id_alone(arguments: str) -> None:
    assert await content_of("react-3", arguments, live_model=False) == "pod a"
