"""What readers see of an answer while it is written never holds its verdict, in whatever pieces the answer comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.answer_text import WholeText, WithoutVerdict
from tarsy.agent.evidence.verdict import VerdictFilter, without_verdict
from tarsy.agent.react.streaming import ReActRouter
from tarsy.domain.timeline import TimelineEventType

BLOCK = "```verdict\noutcome: fault\nobject: Deployment/shop/cart\n```\n"
# What borders of blocks are made of, so that the texts that are tried are full of them.
WORDS = st.sampled_from(
    ["```", "````", "~~~", "``", "`", "verdict", "Verdict", "yaml", " ", "    ", "\n", "\r\n", "outcome: fault", "text", ">", "\t"]
)
TEXTS = st.lists(WORDS | st.text(max_size=3), max_size=40).map("".join)


def shown(pieces: list[str]) -> str:
    held = VerdictFilter()
    return "".join((*map(held.feed, pieces), held.finish()))


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces, position = list[str](), 0
    for size in sizes:
        pieces.append(text[position : position + size])
        position += size
    return [*pieces, text[position:]]


@given(TEXTS, st.lists(st.integers(1, 6), max_size=60))
def test_the_pieces_in_which_an_answer_comes_do_not_matter(text: str, sizes: list[int]) -> None:
    assert shown(cut(text, sizes)) == shown([text])


@given(TEXTS)
def test_what_is_shown_is_what_is_stored(text: str) -> None:
    assert shown(list(text)).split() == without_verdict(text).split()


@given(TEXTS, TEXTS, st.lists(st.integers(1, 6), max_size=60))
def test_no_piece_shows_a_word_of_the_verdict(before: str, after: str, sizes: list[int]) -> None:
    answer = f"{without_verdict(before)}\n\n~~~\n~~~\n{BLOCK}{after}"
    reported = shown(cut(answer, sizes))
    # Where the text before leaves a block of its own open, the verdict is a quotation in that.
    assert "Deployment/shop/cart" not in reported or "Deployment/shop/cart" in without_verdict(answer)


def test_text_goes_out_at_once_and_only_what_may_be_the_fence_waits() -> None:
    held = VerdictFilter()
    assert held.feed("The limit is too low. `cart` ") == "The limit is too low. `cart` "
    assert held.feed("restarts.\n\n``") == "restarts.\n\n"
    assert held.feed("`ver") == ""
    assert held.feed("sion\n1\n```\n") == "```version\n1\n```\n"
    assert held.feed("```verdict\nout") == ""
    assert held.feed("come: fault\n```\nMore") == "More"


def test_the_rest_of_a_verdict_that_the_output_limit_cut_is_held_back_too() -> None:
    router = WithoutVerdict(WholeText(TimelineEventType.FINAL_ANALYSIS), ["Why: the limit.\n```verdict\noutcome: fa"])
    reported = [*router.route("ult\nobject: x\n"), *router.route("```\nThe end."), *router.finish()]
    assert "".join(text for _, text in reported) == "The end."


@pytest.mark.parametrize("shown_as", [None, TimelineEventType.FINAL_ANALYSIS], ids=["by another worker", "in the same event"])
def test_the_rest_of_a_streamed_answer_is_published_as_the_answer_it_is(shown_as: TimelineEventType | None) -> None:
    router = WithoutVerdict(ReActRouter(), ["Thought: So.\nFinal Answer: ```verdict\noutcome: fa"], shown_as)
    reported = [*router.route("ult\n```\nThe"), *router.route(" end."), *router.finish()]
    assert {kind for kind, text in reported if text} == {TimelineEventType.FINAL_ANALYSIS}
    assert "".join(text for _, text in reported).strip() == "The end."


def test_what_a_thought_held_back_is_published_before_the_answer_begins() -> None:
    class Sections:
        def route(self, delta: str) -> list[tuple[TimelineEventType, str]]:
            return [(TimelineEventType.LLM_THINKING, "a\n``"), (TimelineEventType.FINAL_ANALYSIS, delta)]

        def finish(self) -> list[tuple[TimelineEventType, str]]:
            return []

    router = WithoutVerdict(Sections())
    assert [text for _, text in [*router.route("answer"), *router.finish()] if text] == ["a\n", "``", "answer"]
