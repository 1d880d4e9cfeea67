"""Names, figures, sweeping words and uncited links of an analysis, and the confidence they leave."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.evidence.checker import Seen, check, shown_confidence
from tarsy.domain.evidence import Evidence
from tarsy.domain.verdict import AffectedObject, Confidence, Verdict, VerdictOutcome

RESULT = "pod cart-7f exceeded its memory limit of 512Mi at 93% after 1200s; restarts 14"
WHY = '## Why\n- `cart-7f` ran out of memory [A1: "exceeded its memory limit"]\n'


def seen(**texts: str) -> Seen:
    return Seen({name: Evidence(id=name, text=text) for name, text in texts.items()})


def complaints(analysis: str, verdict: Verdict | None = None) -> list[str]:
    return [one.complaint for one in check(analysis, seen(A1=RESULT, ALERT="CartDown in shop"), verdict).problems]


def verdict(**fields: object) -> Verdict:
    whole: dict[str, object] = {
        "outcome": VerdictOutcome.FAULT,
        "confidence_object": Confidence.HIGH,
        "confidence_mechanism": Confidence.HIGH,
        "evidence": ("A1",),
    }
    return Verdict(**{**whole, **fields})  # type: ignore[arg-type]


def test_what_is_in_the_cited_result_or_the_alert_is_no_problem() -> None:
    assert complaints(WHY + "- `CartDown` fired after 1,200 seconds at 93 % of 512Mi [A1]\n") == []


def test_a_name_in_the_chain_of_causes_that_was_never_seen_is_a_problem() -> None:
    assert complaints(WHY + "- `checkout-db` was slow [A1]\n") == ["`checkout-db` is in nothing that is cited, nor in the alert"]


def test_a_name_elsewhere_is_not_looked_for() -> None:
    assert complaints(WHY + "## Do now\nRun `kubectl rollout undo deploy/cart`.\n") == []


def test_a_figure_that_is_not_in_what_its_sentence_cites_is_a_problem() -> None:
    assert complaints("Latency rose to 250ms [A1].") == ["250ms is not in what is cited"]
    assert complaints("Latency rose to 250ms.") == []
    assert complaints("Latency rose to 250ms [A1] (inference).") == []


def test_sweeping_words_need_a_citation() -> None:
    assert complaints("All other routes work. Every call waits [A1].") == [
        "says all, every, none, only, always or never without citing what covers it"
    ]


def test_links_of_the_chain_without_citation_or_inference_are_counted() -> None:
    checked = check(WHY + "- The node was full.\n- So it was evicted *(inference)*\n", seen(A1=RESULT))
    assert checked.uncited == ("The node was full.",)


def test_a_citation_after_the_full_stop_belongs_to_its_sentence() -> None:
    checked = check('## Why\nIt ran out of memory. [A1: "exceeded its memory limit"] It restarted. [A1]\n', seen(A1=RESULT))
    assert checked.uncited == ()


def test_the_object_of_the_verdict_must_have_been_seen() -> None:
    assert complaints(WHY, verdict(object=AffectedObject(kind="Pod", namespace="shop", name="cart-7f"))) == []
    assert complaints(WHY, verdict(object=AffectedObject(name="ledger"))) == ["`ledger` is in nothing that is cited, nor in the alert"]


def test_confidence_stays_where_the_root_cause_is_quoted() -> None:
    checked = check(WHY, seen(A1=RESULT))
    assert shown_confidence(verdict(), checked) == (Confidence.HIGH, "")


def test_a_failed_citation_under_the_root_cause_caps_confidence() -> None:
    checked = check('## Why\n- it burned [A1: "the house was on fire"] [A1: "exceeded its memory limit"]', seen(A1=RESULT))
    assert shown_confidence(verdict(), checked) == (
        Confidence.MEDIUM,
        "a citation of A1, which the verdict rests on, could not be verified",
    )


def test_a_verdict_that_rests_on_what_was_never_seen_is_told_and_caps_confidence() -> None:
    rests_on_nothing = verdict(evidence=("A1", "A99"))
    checked = check(WHY, seen(A1=RESULT), rests_on_nothing)
    assert [one.complaint for one in checked.problems] == ["there is no A99 that shows anything"]
    assert shown_confidence(rests_on_nothing, checked) == (Confidence.MEDIUM, "the verdict rests on A99, which shows nothing")


def test_a_model_that_cites_nothing_is_told_as_such() -> None:
    checked = check("The cart is broken.", seen(A1=RESULT))
    assert shown_confidence(verdict(), checked) == (Confidence.MEDIUM, "no citation could be verified")
    assert shown_confidence(verdict(confidence_mechanism=Confidence.LOW), checked) == (Confidence.LOW, "")


@given(st.integers(10_000, 99_999), st.sampled_from(["ms", "%", "Mi", "GB", "seconds"]))
def test_an_invented_figure_is_flagged(number: int, unit: str) -> None:
    assert complaints(f"It took {number}{unit} [A1].") == [f"{number}{unit} is not in what is cited"]


@given(st.from_regex(r"[a-z]{3,12}-[0-9a-f]{8}", fullmatch=True))
def test_an_invented_name_is_flagged(name: str) -> None:
    assert complaints(f"{WHY}- `{name}` did it [A1]\n") == [f"`{name}` is in nothing that is cited, nor in the alert"]
