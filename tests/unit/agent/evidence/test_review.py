"""What is made of an answer: its text for people, what it is worth, and whether its author is asked once more."""

import pytest

from tarsy.agent.evidence.review import Review, read_answer
from tarsy.agent.folding import fold
from tarsy.agent.prompt.nudges import correction_points, correction_task
from tarsy.domain.evidence import Evidence

LOG = Evidence(id="A1", text="10:00 disk /data is full\n10:01 web-1 evicted")
VERDICT = (
    "```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A1]\nruled_out:\n  - {hypothesis: load, evidence: [B2]}\n```"
)
GOOD = f'## Why\n\nIt is full [A1: "disk /data is full"].\n\n{VERDICT}'


def review(answer: str, evidence: list[Evidence]) -> Review:
    return read_answer(answer).review(evidence)


def test_the_text_is_kept_without_the_verdict_and_places_are_places_in_it() -> None:
    found = review(GOOD, [LOG])
    (citation,) = found.checked.citations
    assert found.text == '## Why\n\nIt is full [A1: "disk /data is full"].'
    assert found.text[citation.citation.start : citation.citation.end] == '[A1: "disk /data is full"]'
    assert found.metadata()["confidence"] == {"shown": "high", "reason": ""}


def test_an_answer_that_is_nothing_but_its_verdict_says_that() -> None:
    assert review(VERDICT, [LOG]).text == "full"


def test_what_is_looked_up_is_what_text_and_verdict_name() -> None:
    assert read_answer(f"[Q1.2]\n{GOOD}").cited_ids == {"A1", "B2", "Q1.2"}


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (GOOD, False),
        (GOOD.replace("is full]", "is empty]").replace('full"]', 'empty"]'), True),
        (GOOD.partition("```")[0], True),
        (f"It is full.\n{VERDICT}", True),
        (GOOD.replace("It is full [", "It is `db-9` [", 1), True),
    ],
    ids=["clean", "a wrong quotation", "no verdict", "no citation", "a name that was never seen"],
)
def test_an_analysis_is_asked_for_again_only_where_that_may_help(answer: str, *, wanted: bool) -> None:
    assert review(answer, [LOG]).wants_correction(asks_verdict=True, analyses=True) is wanted


def test_an_answer_to_a_question_need_not_cite() -> None:
    assert not review("Yes.", [LOG]).wants_correction(asks_verdict=False, analyses=False)


@pytest.mark.parametrize(
    ("corrected", "better"),
    [
        (GOOD, True),
        ("Done.", False),
        (GOOD.partition("```")[0], False),
        ('[A7: "a second one that fails"]\n' + GOOD.replace("disk /data is full", "the cat ate it"), False),
    ],
    ids=["a better one", "a remark", "one that lost the verdict", "one with more that fails"],
)
def test_a_correction_takes_the_place_of_its_draft_only_if_it_is_no_worse(corrected: str, *, better: bool) -> None:
    draft = review(GOOD.replace("disk /data is full", "the cat ate it all"), [LOG])
    assert review(corrected, [LOG]).improves(draft) is better


def test_counts_and_folds_that_our_own_code_made_can_be_quoted() -> None:
    text = "".join(f"10:{n:02} refused\n" for n in range(50))
    shown = fold(text).text
    assert "49 more lines like this one are folded" in shown
    answer = '[A1: "49 more lines like this one are folded"]'
    assert review(answer, [Evidence(id="A1", text=text, folded=True)]).counts.verified == 1
    assert review(answer, [Evidence(id="A1", text=text)]).counts.verified == 0


def test_a_correction_names_each_failure_with_the_nearest_real_line_and_what_is_missing() -> None:
    found = review('## Why\n\nAll pods are gone. It is full [A1: "disk /data was full"].', [LOG])
    points = correction_points(found)
    assert '[A1: "disk /data was full"]: these words are not in A1; the nearest line there is: 10:00 disk /data is full' in points
    assert "All pods are gone.: says all, every, none" in points
    assert "The verdict is missing." in correction_task(found, asks_verdict=True)
    assert "verdict" not in correction_task(found, asks_verdict=False)
