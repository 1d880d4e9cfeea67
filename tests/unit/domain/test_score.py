"""Reading a reviewer's answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.followup import Judgement, parse_score

ANSWER = """\
## Analysis
**Evidence** 20: the log line is quoted.

## Missing tools
- loki.query: would have shown the first error

SCORE: 78"""


def test_score_analysis_and_missing_tools_are_separated() -> None:
    assert parse_score(ANSWER) == Judgement(
        78, "**Evidence** 20: the log line is quoted.", "- loki.query: would have shown the first error"
    )


@pytest.mark.parametrize(
    ("ending", "total"),
    [
        ("SCORE: 0", 0),
        ("SCORE: 100", 100),
        ("**SCORE: 85**", 85),
        ("**SCORE:** 85", 85),
        ("Score: 85/100", 85),
        ("score = 85 / 100.", 85),
        ("## SCORE: 85", 85),
        ("`SCORE: 85`", 85),
        ("> SCORE: 85\n\n", 85),
        ("SCORE: 10\nOn reflection:\nSCORE: 20", 20),
    ],
)
def test_the_ending_may_be_decorated(ending: str, total: int) -> None:
    score = parse_score(f"Good work.\n{ending}")
    assert score is not None
    assert score.total_score == total
    assert score.analysis.startswith("Good work.")


@pytest.mark.parametrize(
    "text", ["", "Good work.", "SCORE: 101", "SCORE: 999", "SCORE: -5", "SCORE: high", "A score: 90 would be too much here"]
)
def test_no_valid_score_is_no_score(text: str) -> None:
    assert parse_score(text) is None


def test_without_the_section_no_tools_are_missing() -> None:
    score = parse_score("fine\nSCORE: 90")
    assert score == Judgement(90, "fine", "")


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    score = parse_score(text)
    assert score is None or 0 <= score.total_score <= 100


@pytest.mark.parametrize("filling", [" ", "*", "_ ", "` "])
def test_a_line_that_only_begins_like_a_score_is_read_to_its_end(filling: str) -> None:
    """A tenth of a second's work; in quadratic time it would be an hour's, which no test has."""
    assert parse_score("SCORE: 80" + filling * 1_000_000 + "x") is None
