"""What is made of an answer: its text for people, what it is worth, and whether its author is asked once more."""

import re

import pytest

from tarsy.agent.evidence.review import Review, read_answer
from tarsy.agent.folding import fold
from tarsy.agent.prompt.nudges import correction_task, failed_points
from tarsy.domain.evidence import Evidence

LOG = Evidence(id="A1", text="2026-03-10T10:00:00Z disk /data is full\n2026-03-10T10:01:00Z web-1 evicted", tool="cluster.log")
VERDICT = (
    "```verdict\noutcome: fault\nobject: Pod/web-1\nmechanism: full\nconfidence: high\nsince: 2026-03-10T10:00:00Z\nevidence: [A1]\n"
    "ruled_out:\n  - {hypothesis: load, evidence: [A1]}\n```"
)
GOOD = f"""## Why

It is full [A1: "disk /data is full"].

## Ruled out
- a restart of it [A1: "Z web-1 evicted"]

{VERDICT}"""


def review(answer: str, evidence: list[Evidence]) -> Review:
    return read_answer(answer).review(evidence)


def test_the_text_is_kept_without_the_verdict_and_places_are_places_in_it() -> None:
    found = review(GOOD, [LOG])
    citation = found.checked.citations[0]
    assert found.text == GOOD.partition("\n\n```")[0]
    assert found.text[citation.citation.start : citation.citation.end] == '[A1: "disk /data is full"]'
    assert found.metadata()["confidence"] == {"shown": "high", "reason": ""}


def test_an_answer_that_is_nothing_but_its_verdict_says_that() -> None:
    assert review(VERDICT, [LOG]).text == "full"


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (GOOD, False),
        (GOOD.replace("is full]", "is empty]").replace('full"]', 'empty"]'), True),
        (GOOD.partition("```")[0], True),
        (f"It is full.\n{VERDICT}", True),
        (GOOD.replace("It is full [", "It is `db-9` [", 1), True),
        (GOOD.replace("Pod/web-1", "Pod/web-9"), True),
        (GOOD.replace("confidence: high", "confidence: certain"), True),
        (GOOD + "\n## Impact\nAll pods are gone.", False),
    ],
    ids=[
        "clean",
        "a wrong quotation",
        "no verdict",
        "no citation",
        "a name that was never seen",
        "an object that was never seen",
        "an invalid value",
        "a remark",
    ],
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
        (GOOD.replace("disk /data is full", "the cat ate it all"), False),
    ],
    ids=["a better one", "a remark", "one that lost the verdict", "one with more that fails", "the draft again"],
)
def test_a_correction_takes_the_place_of_its_draft_only_if_it_is_no_worse(corrected: str, *, better: bool) -> None:
    draft = review(GOOD.replace("disk /data is full", "the cat ate it all"), [LOG])
    assert review(corrected, [LOG]).improves(draft) is better


def test_a_correction_that_loses_a_verified_citation_does_not_take_the_place_of_its_draft() -> None:
    draft = review(GOOD + '\n\n## Impact\n\nNone [A1: "the cat ate it all"].', [LOG])
    assert draft.counts.failed
    assert not review(re.sub(r"\[A1: .*\]", "", GOOD), [LOG]).improves(draft)


def test_a_line_that_a_fold_keeps_can_be_quoted_and_its_notice_cannot() -> None:
    text = "".join(f"10:{n:02} connection refused\n" for n in range(50))
    shown = fold(text).text
    assert "49 more lines like this one are folded" in shown
    log = Evidence(id="A1", text=text, tool="cluster.log")
    assert review('[A1: "10:00 connection refused"]', [log]).counts.verified == 1
    assert review('[A1: "49 more lines like this one are folded"]', [log]).counts.failed == 1


def test_a_correction_shows_the_statements_that_failed_with_the_nearest_real_line_and_what_is_missing() -> None:
    found = review('## Why\n\nAll pods are gone. It is full [A1: "disk /data was full"].', [LOG])
    assert failed_points(found).splitlines() == [
        "1: All pods are gone.",
        "   - neither cites a result nor is marked (inference)",
        '2: It is full [A1: "disk /data was full"].',
        '   - [A1: "disk /data was full"]: these words are not in A1; the nearest line there is: 2026-03-10T10:00:00Z disk /data is full',
    ]
    assert "The verdict is missing." in correction_task(found, asks_verdict=True)
    assert "verdict" not in correction_task(found, asks_verdict=False)


def test_a_correction_names_the_result_that_has_the_words() -> None:
    found = review('## Why\n\nIt is full [A2: "disk /data is full"].', [LOG, Evidence(id="A2", text="nothing here", tool="cluster.log")])
    assert "these words are not in A2; they are in A1" in failed_points(found)
