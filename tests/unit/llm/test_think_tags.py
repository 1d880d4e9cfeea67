"""Thinking inside a model's text: separated from it however the text is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.llm import TextChunk, ThinkingChunk
from tarsy.domain.recording import merge_text
from tarsy.llm.signals import ThinkTags

Heard = list[TextChunk | ThinkingChunk]


def received(*pieces: str) -> Heard:
    tags = ThinkTags()
    chunks: Heard = [chunk for piece in pieces for chunk in tags.feed(piece)]
    whole = merge_text([*chunks, *tags.end()])
    return [chunk for chunk in whole if isinstance(chunk, TextChunk | ThinkingChunk)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>Hm.</think>Because.", [ThinkingChunk("Hm."), TextChunk("Because.")]),
        ("\n<think>\nHm.</think>\n\nBecause.", [ThinkingChunk("Hm."), TextChunk("Because.")]),
        ("<think>\n\n</think>\n\nBecause.", [TextChunk("Because.")]),
        ("<think>a</think><think>b</think>c", [ThinkingChunk("ab"), TextChunk("c")]),
        ("<think>cut off", [ThinkingChunk("cut off")]),
        ("Well, <think>hm</think> so.", [TextChunk("Well, "), ThinkingChunk("hm"), TextChunk("so.")]),
        ("The log holds <think> and no more", [TextChunk("The log holds <think> and no more")]),
        ("a < b <thi", [TextChunk("a < b <thi")]),
        ("  indented\n", [TextChunk("  indented\n")]),
        ("", []),
    ],
)
def test_thinking_is_separated_whole_and_character_by_character(text: str, expected: Heard) -> None:
    assert received(text) == expected
    assert received(*text) == expected


@given(st.text(alphabet="<>/think a\n"), st.lists(st.integers(min_value=0, max_value=40), max_size=6))
def test_the_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert received(*(text[start:end] for start, end in pairwise(places))) == received(text)


def test_an_answer_streams_although_a_tag_may_follow() -> None:
    assert list(ThinkTags().feed("Because of <")) == [TextChunk("Because of ")]
