"""When a model goes round in circles: over several turns, and within one answer."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.repetition import (
    COMPARED_TURNS,
    LOOP_NOTE,
    NUDGE_AFTER,
    STOP_AFTER,
    LoopWatch,
    RepetitionKind,
    StoredTurn,
    find_loop,
    find_repetition,
    without_loop,
)
from tarsy.domain.conversation import ToolCall

PODS, LOGS = ToolCall("", "k8s.pods", "{}"), ToolCall("", "k8s.logs", "{}")
PARAGRAPH = (
    "I still do not know why the pods of the shop are evicted, so I look at the node once more to see what its disk is filled with. "
)


def judgements(turns: list[StoredTurn]) -> list[str]:
    """What is decided after each turn."""
    circles = [find_repetition(turns[: count + 1]) for count in range(len(turns))]
    return ["go on" if circle is None else "stop" if circle.stop else "nudge" for circle in circles]


def call(arguments: str, words: str = "", tool: str = "k8s.pods") -> StoredTurn:
    return StoredTurn(words, (ToolCall("", tool, arguments),))


ONE_NUDGE_THEN_STOP = ["go on", "go on", "nudge", "go on", "stop", "stop"]


@pytest.mark.parametrize(
    "turns",
    [
        [call("{}")] * 6,
        [call('{"a": 1, "b": 2}'), call('{"b":2,"a":1}'), call('{ "a": 1,\n"b": 2}')] * 2,
        [call("{}", words=f"Attempt {number}.") for number in range(6)],
        [StoredTurn("", (PODS, LOGS)), StoredTurn("", (LOGS, PODS))] * 3,
        [StoredTurn("I would like to see the pods.")] * 6,
        [StoredTurn("I would like\nto see the pods. "), StoredTurn("I would like to see the pods.")] * 3,
        [StoredTurn("")] * 6,
        [call(f'{{"limit": {number}}}', words=PARAGRAPH * 2) for number in range(6)],
    ],
    ids=[
        "calls",
        "calls written differently",
        "calls with other words",
        "calls in another order",
        "words",
        "words spaced differently",
        "silence",
        "words beside calls that differ",
    ],
)
def test_saying_the_same_again_is_nudged_once_then_stopped(turns: list[StoredTurn]) -> None:
    assert judgements(turns) == ONE_NUDGE_THEN_STOP


@pytest.mark.parametrize("length", [2, 3])
def test_a_few_calls_over_and_over_are_a_circle_too(length: int) -> None:
    turns = [call("{}", tool=f"k8s.tool{number % length}") for number in range(length * STOP_AFTER)]
    decided = judgements(turns)
    assert [place for place, what in enumerate(decided, start=1) if what == "nudge"] == [length * NUDGE_AFTER]
    assert [place for place, what in enumerate(decided, start=1) if what == "stop"] == [length * STOP_AFTER]
    circle = find_repetition(turns[: length * NUDGE_AFTER])
    assert circle is not None
    assert (circle.kind, circle.times, len(circle.tools)) == (RepetitionKind.CALLS, NUDGE_AFTER, length)


def test_a_second_answer_cut_off_in_a_loop_is_the_last() -> None:
    cut = StoredTurn(f"Let me check.\n\n{LOOP_NOTE}")
    assert judgements([cut, cut]) == ["nudge", "stop"]
    assert judgements([cut, call("{}"), cut]) == ["nudge", "go on", "nudge"]


def test_going_through_a_list_with_the_same_short_phrase_is_no_circle() -> None:
    turns = [call(f'{{"pod": "web-{number}"}}', words="Let me check the next pod.") for number in range(40)]
    assert set(judgements(turns)) == {"go on"}


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=40))
def test_what_lies_further_back_than_matters_changes_nothing(long_ago: list[int], lately: list[int]) -> None:
    old, new = ([call(str(number)) for number in numbers] for numbers in (long_ago, lately))
    if len(new) >= COMPARED_TURNS:
        assert find_repetition([*old, *new]) == find_repetition(new)


@given(st.lists(st.integers(0, 1_000_000), unique=True, max_size=40))
def test_turns_that_all_differ_are_never_a_circle(numbers: list[int]) -> None:
    assert set(judgements([call(f'{{"n": {number}}}', words=f"Now {number}.") for number in numbers])) <= {"go on"}


PASSAGES = st.text(min_size=1, max_size=300).filter(lambda text: text.strip())
INTRODUCTIONS = st.text(max_size=400)


@given(INTRODUCTIONS, PASSAGES, st.integers(0, 299))
def test_a_passage_over_and_over_is_a_loop_wherever_it_stops(before: str, passage: str, odd: int) -> None:
    times = max(7, 3_000 // len(passage) + 2)
    text = before + passage * times + passage[: odd % len(passage)]
    loop = find_loop(text)
    assert loop is not None
    assert loop.period <= len(passage)
    assert loop.start <= len(before)
    assert without_loop(text) == without_loop(before + passage * (times + 5)), "however late it was cut off, the same is left"
    assert len(without_loop(text)) <= len(before) + len(passage) + len(LOOP_NOTE) + 2


LINES = st.sampled_from(["connection refused", "- name: web", "  image: shop:1", "| web | Running |", "----", "retrying", "", "Evidence:"])


@given(st.lists(LINES, max_size=60))
def test_a_short_text_is_never_a_loop(lines: list[str]) -> None:
    """As much repetition as an answer may quote: dozens of lines, all the same if need be."""
    assert find_loop("\n".join(lines)) is None


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"| web-{number} | Running | {number % 7} |" for number in range(2_000)),
        "\n".join(f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}Z ERROR connection refused" for number in range(3_000)),
        "items:\n" + "\n".join(f"- name: web-{number}\n  image: shop:1\n  ready: true" for number in range(2_000)),
        "\n".join(f"{number}. Check the pods of namespace n{number}." for number in range(2_000)),
        "\n".join(["connection refused by 10.0.0.1:5432"] * 80),
        "=" * 2_000,
        " ".join(f"Finding {number}: {PARAGRAPH}" for number in range(300)),
        (PARAGRAPH * 5 + "\n") * 2 + "So the disk is full.",
        "Let me check the pods again. " * 400 + "Enough of that: the disk is full, because log rotation was switched off last week.",
    ],
    ids=["table", "log", "yaml", "list", "quoted log", "rule", "numbered findings", "said twice", "recovered"],
)
def test_an_ordinary_text_is_no_loop(text: str) -> None:
    assert find_loop(text) is None
    assert without_loop(text) == text
    watch = LoopWatch()
    seen = [watch.sees_loop(text[start : start + 37]) for start in range(0, len(text), 37)]
    # A model that finds its way out of a loop by itself may be cut off before; nobody else is.
    assert not any(seen) or "Enough of that" in text


@given(st.integers(1, 900), st.lists(st.integers(1, 600), min_size=1, max_size=6))
def test_a_loop_is_seen_while_it_is_written_and_leaves_the_same_however_it_came(period: int, sizes: list[int]) -> None:
    text = "It began well. " + "".join(chr(0x4E00 + number) for number in range(period)) * (20_000 // period + 8)
    watch, written = LoopWatch(), ""
    while not watch.sees_loop(delta := text[len(written) : len(written) + sizes[len(written) % len(sizes)]]):
        written += delta
        assert len(written) < max(3_000, 6 * period) + 2_000, "long before it would end by itself"
    assert without_loop(written + delta) == without_loop(text)


@pytest.mark.growth
@pytest.mark.parametrize(
    "make",
    [
        lambda: "a" * 1_000_000,
        lambda: "a" * 500_000 + "b" + "a" * 499_999,
        lambda: ("a" * 1_999 + "b") * 500,
        lambda: ("ab" * 700 + "c") * 600,
        lambda: "".join(chr(97 + number * number % 25) for number in range(1_000_000)),
        lambda: "\n" * 1_000_000,
    ],
    ids=["one letter", "broken", "long period", "two periods", "squares", "new lines"],
)
def test_a_megabyte_is_watched_to_its_end(make: Callable[[], str]) -> None:
    """Under a second's work; were it not linear, the time that every test has would not be enough."""
    text = make()
    watch = LoopWatch()
    for start in range(0, len(text), 100):
        watch.sees_loop(text[start : start + 100])
    find_loop(text)
