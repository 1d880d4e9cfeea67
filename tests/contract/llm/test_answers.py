"""A model's answer arrives unchanged, and its vendor got exactly the expected request."""

import pytest

from support.asking import PODS, QUESTION, Asking, results_of
from support.vendor_server import Reply
from support.vendors import USAGE, Answer, Call
from tarsy.domain.llm import FinishChunk, FinishReason, TextChunk, ThinkingChunk, ToolCallChunk

FIRST = Call("call_1", "k8s__pods_list", '{"ns": "a"}')
SECOND = Call("call_2", "k8s__pods_list", '{"ns": "b"}')


async def test_text_arrives_piece_by_piece(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Bec", "ause."))))

    assert await asking.receive() == [TextChunk("Bec"), TextChunk("ause."), USAGE]
    asking.assert_asked("plain")


async def test_thinking_is_kept_apart_from_text(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(thinking=("Let ", "me see."), text=("Because.",))))

    assert await asking.receive() == [ThinkingChunk("Let "), ThinkingChunk("me see."), TextChunk("Because."), USAGE]
    asking.assert_asked("plain")


async def test_a_tool_call_arrives_whole_under_its_own_name(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(calls=(FIRST,))))

    assert await asking.receive(asking.request(tools=(PODS,))) == [ToolCallChunk("call_1", "k8s.pods_list", '{"ns": "a"}'), USAGE]
    asking.assert_asked("with tools")


async def test_several_tool_calls_arrive_in_their_order_after_the_text(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("I look.",), calls=(FIRST, SECOND))))

    assert await asking.receive(asking.request(tools=(PODS,))) == [
        TextChunk("I look."),
        ToolCallChunk("call_1", "k8s.pods_list", '{"ns": "a"}'),
        ToolCallChunk("call_2", "k8s.pods_list", '{"ns": "b"}'),
        USAGE,
    ]
    asking.assert_asked("with tools")


async def test_an_answer_that_is_cut_says_so_with_its_last_chunk(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Bec",), cut=True)))

    assert await asking.receive() == [TextChunk("Bec"), USAGE, FinishChunk(FinishReason.LENGTH)]
    asking.assert_asked("plain")


async def test_tool_results_go_back_with_the_turn_that_asked_for_them(asking: Asking) -> None:
    asking.server.replies.append(asking.vendor.reply(Answer(thinking=("Hm.",), text=("I look.",), calls=(FIRST, SECOND))))
    asking.server.replies.append(asking.vendor.reply(Answer(text=("Done.",))))

    first = await asking.receive(asking.request(tools=(PODS,)))
    second = await asking.receive(asking.request(*QUESTION, *results_of(first, "I look."), tools=(PODS,)))

    assert second == [TextChunk("Done."), USAGE]
    asking.assert_asked("with tools", "with results")


@pytest.mark.parametrize("size", [1, 7])
async def test_characters_split_between_packets_stay_whole(asking: Asking, size: int) -> None:
    whole = b"".join(asking.vendor.events(Answer(text=("Žluťoučký kůň 🐎", "日本語"))))
    asking.server.replies.append(Reply(tuple(whole[start : start + size] for start in range(0, len(whole), size))))

    assert await asking.receive() == [TextChunk("Žluťoučký kůň 🐎"), TextChunk("日本語"), USAGE]
    asking.assert_asked("plain")
