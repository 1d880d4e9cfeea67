"""What holds for every text whatever: no exception, no invented name, no more than linear time."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.react.parser import ReActAction, forced_answer, parse
from tarsy.agent.react.streaming import ReActRouter

FRAGMENTS = st.sampled_from(
    [
        "Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "**Action:**", "## Final Answer", "action:", "Tool:",
        "Arguments:", "k8s.pods_list", "`k.x`", "k.x(", ")", '{"a": 1}', "{", "}", "[", "```json\n", "```", '{"tool": "', '", "arguments": {}}',
        "<think>", "</think>", "<tool_call>", "None", "\n", "\n\n", " ", ". ", "\r\n", ":", "\\u0000", "\\ud800", "é", "…", "with", "1. ", "> ",
    ]
)  # fmt: skip
TURNS = st.lists(FRAGMENTS | st.text(max_size=12), max_size=40).map("".join)

MEGABYTE = 1_000_000


@given(TURNS)
def test_no_text_makes_the_parser_raise_or_name_a_tool_that_is_not_in_it(text: str) -> None:
    parsed = parse(text)
    if isinstance(parsed, ReActAction):
        assert parsed.tool
        assert parsed.tool in text


@given(TURNS)
def test_what_is_read_can_be_stored(text: str) -> None:
    parsed = parse(text)
    if isinstance(parsed, ReActAction) and "\0" not in text:
        parsed.tool_input.encode()
        assert "\0" not in parsed.tool_input


@given(TURNS)
def test_a_forced_answer_is_never_lost(text: str) -> None:
    if text.strip():
        assert forced_answer(text).answer


@pytest.mark.parametrize("opening", ['{"action": "k.x", "action_input": ', "Action: k.x\nAction Input: "])
def test_no_depth_of_nesting_makes_the_parser_raise(opening: str) -> None:
    """As deep as the interpreter can just read, it can no longer write."""
    for depth in range(800, 1_010):
        parse(opening + "[" * depth + "]" * depth + "}")


HOSTILE = {
    "one word": "a" * MEGABYTE,
    "dashes": "a-" * (MEGABYTE // 2),
    "dots": "a." * (MEGABYTE // 2),
    "names": "k.x " * (MEGABYTE // 4),
    "names before braces": "k.x {" * (MEGABYTE // 5),
    "emphasis": "*" * MEGABYTE,
    "backticks": "`" * MEGABYTE,
    "hashes": "#" * MEGABYTE,
    "spaces": " " * MEGABYTE,
    "new lines": "\n" * MEGABYTE,
    "open braces": "{" * MEGABYTE,
    "open brackets": "Action: k.x\nAction Input: " + "[" * MEGABYTE,
    "open objects": "Action: k.x\nAction Input: " + '{"a":' * (MEGABYTE // 5),
    "headers": "Action: k.x\n" * (MEGABYTE // 12),
    "answers": "Final Answer:\n" * (MEGABYTE // 14),
    "headers in one line": "Action: k.x Action Input: " * (MEGABYTE // 26),
    "spoken-of headers": "the Action: " * (MEGABYTE // 12),
    "fences": "```json\n{" * (MEGABYTE // 9),
    "think tags": "<think>" * (MEGABYTE // 7),
    "tool calls": "<tool_call>{" * (MEGABYTE // 12),
    "digits": "1. " * (MEGABYTE // 3),
    "call syntax": "k.x(" * (MEGABYTE // 4),
    "observations": "Observation: x\n" * (MEGABYTE // 15),
    "remarks": "Action: k.x " + "(a)" * (MEGABYTE // 3),
    "a real answer": "Thought: t\nFinal Answer: " + "The pod restarted at 10:00. " * (MEGABYTE // 28),
}  # fmt: skip


def read_whole(text: str) -> None:
    parse(text)


def read_in_pieces(text: str) -> None:
    router = ReActRouter()
    for begin in range(0, len(text), 7):
        router.route(text[begin : begin + 7])
    router.finish()


@pytest.mark.growth
@pytest.mark.parametrize("read", [read_whole, read_in_pieces])
@pytest.mark.parametrize("shape", HOSTILE)
def test_a_megabyte_is_read_to_its_end(shape: str, read: Callable[[str], None]) -> None:
    """Time that grows with the square of the text would be minutes, and longer than a test may take."""
    # In pieces a quarter shows the same, and the test stays short.
    read(HOSTILE[shape][: MEGABYTE if read is read_whole else MEGABYTE // 4])
