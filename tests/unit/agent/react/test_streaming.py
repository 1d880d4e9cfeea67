"""A turn in pieces: every character reaches the section that the parser will give it to."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.react.parser import ReActAction, ReActFinalAnswer, parse
from tarsy.agent.react.streaming import ReActRouter
from tarsy.domain.timeline import TimelineEventType

THINKING, ANALYSIS = TimelineEventType.LLM_THINKING, TimelineEventType.FINAL_ANALYSIS


def split(pieces: list[str]) -> dict[TimelineEventType, str]:
    router = ReActRouter()
    texts: dict[TimelineEventType, str] = {}
    for kind, text in [part for piece in pieces for part in router.route(piece)] + router.finish():
        texts[kind] = texts.get(kind, "") + text
    return texts


def cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[begin:end] for begin, end in pairwise(edges)]


# Words and lines that are no headers; a sentence may mention an action.
SENTENCE = st.sampled_from(
    [
        "The pod restarts.",
        "- item one",
        "**bold** start",
        "Actions taken so far: none",
        "thought-provoking",
        "1. first",
        "# Title",
        "Final remark",
        "",
        "  code",
    ]
)
PROSE = st.lists(SENTENCE, min_size=1, max_size=6).map("\n".join).filter(lambda text: bool(text.strip()))
DECORATION = st.sampled_from(["{}: ", "{}:\n", "**{}:** ", "**{}**: ", "## {}\n", "{}:", "- {}: "])


# Anything, and often what the router has to look at twice.
TURNS = st.lists(
    st.sampled_from(
        ["Thought:", "**Action:**", "Action Input", "Final Answer:", "<think>", "</think>", "\n", "\r\n", " ", ":", "1. ", "*", "\x0b"]
    )
    | st.text(max_size=8),
    max_size=30,
).map("".join)


@st.composite
def header(draw: st.DrawFn, name: str) -> str:
    return draw(DECORATION).format(name)


@given(header("Thought"), PROSE, header("Final Answer"), PROSE, st.lists(st.integers(0, 400)))
def test_an_answering_turn_is_split_as_it_is_parsed(h1: str, thought: str, h2: str, answer: str, places: list[int]) -> None:
    turn = f"{h1}{thought}\n{h2}{answer}"
    parsed = parse(turn)
    assert isinstance(parsed, ReActFinalAnswer)
    expected = {THINKING: parsed.thought, ANALYSIS: parsed.answer}
    assert split(cut(turn, places)) == expected


@given(header("Thought"), PROSE, st.lists(st.integers(0, 400)))
def test_a_calling_turn_is_split_as_it_is_parsed(h1: str, thought: str, places: list[int]) -> None:
    turn = f'{h1}{thought}\nAction: k8s.pods_list\nAction Input: {{"namespace": "a"}}\nObservation: made up\nFinal Answer: made up'
    parsed = parse(turn)
    assert isinstance(parsed, ReActAction)
    texts = split(cut(turn, places))
    assert texts[THINKING] == parsed.thought
    assert ANALYSIS not in texts


@given(TURNS, st.lists(st.integers(0, 400)))
def test_how_a_turn_is_cut_makes_no_difference(turn: str, places: list[int]) -> None:
    assert split(cut(turn, places)) == split([turn])


def test_a_thought_is_given_out_while_it_is_written() -> None:
    router = ReActRouter()
    assert router.route("Thou") == []
    assert router.route("ght: I look") == [(THINKING, "I look")]
    assert router.route(" at the pods") == [(THINKING, " at the pods")]
    assert router.route(".\nFinal") == [(THINKING, ".")]
    assert router.route(" Answer: it is") == [(ANALYSIS, "it is")]
    assert router.route(" DNS\n") == [(ANALYSIS, " DNS")]
    assert router.finish() == []


def test_plain_prose_is_not_held_back() -> None:
    router = ReActRouter()
    assert router.route("I ") == [(THINKING, "I")]
    assert router.route("look") == [(THINKING, " look")]


def test_an_answer_keeps_headings_that_look_like_sections() -> None:
    texts = split(["Final Answer: DNS\nAction: restart it\nObservation: n", "one"])
    assert texts == {ANALYSIS: "DNS\nAction: restart it\nObservation: none"}


def test_reasoning_tags_are_thought_without_the_tags() -> None:
    texts = split(["<th", "ink>hm\nAction: no.no\n</thi", "nk>\nThought: t\nFinal Answer: a"])
    assert texts == {THINKING: "hm\nAction: no.no\n\nt", ANALYSIS: "a"}
