"""What an executive summary may say: no name, no figure and no certainty that the checked verdict and *Do now* do not hold."""

from dataclasses import replace

import pytest

from tarsy.agent.executive_summary import SummarySource, summary_source
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, StillHappening, Verdict, VerdictOutcome

ANALYSIS = """\
## Do now

1. Run `kubectl rollout undo deployment/cart -n shop` [A3: "revision 7 was deployed"].

## Why

- The heap grew to 99 GiB [A5: "heap 99 GiB"].
"""
VERDICT = Verdict(
    outcome=VerdictOutcome.FAULT,
    object=AffectedObject(kind="Deployment", namespace="shop", name="cart"),
    mechanism="Release 2.1 keeps every session, and cart-5b6c was killed 13 times at 128Mi.",
    confidence_object=Confidence.HIGH,
    confidence_mechanism=Confidence.HIGH,
    since="2026-03-10T09:12:41Z",
    still_happening=StillHappening.YES,
    evidence=("A5",),
)


def source(confidence: Confidence = Confidence.HIGH, reason: str = "", outcome: VerdictOutcome = VerdictOutcome.FAULT) -> SummarySource:
    return summary_source(ANALYSIS, JudgedVerdict(replace(VERDICT, outcome=outcome), confidence, reason), None)


def test_it_is_written_from_the_verdict_and_what_to_do_now() -> None:
    assert source(Confidence.LOW, "no quotation could be verified").text == (
        "Verdict:\n- outcome: fault\n- object: Deployment/shop/cart\n"
        "- mechanism: Release 2.1 keeps every session, and cart-5b6c was killed 13 times at 128Mi.\n- confidence: low\n"
        "- since: 2026-03-10T09:12:41Z\n- still happening: yes\n- confidence is limited because no quotation could be verified\n\n"
        "Do now:\n1. Run `kubectl rollout undo deployment/cart -n shop`."
    )
    assert summary_source(ANALYSIS, None, "A stage failed.").text == f"[The analysis is partial. A stage failed.]\n\n{ANALYSIS}"


@pytest.mark.parametrize(
    "summary",
    [
        "The deployment cart in shop is killed again and again since 09:12 UTC: release 2.1 keeps every session. Undo the rollout.",
        "Confirmed: shop/cart was killed 13 times at 128 MiB on 10 March.",
        "cart-5b6c has run out of memory (134217728 bytes).",
    ],
)
def test_a_summary_that_says_what_the_verdict_holds_stands(summary: str) -> None:
    assert source().objection(summary) == ""


@pytest.mark.parametrize(
    ("summary", "objection"),
    [
        ("The heap grew to 99 GiB.", "99 GiB is not in the verdict"),
        ("cart was killed 14 times.", "14 is not in the verdict"),
        ("payment-7f9c is killed.", "payment-7f9c is not in the verdict"),
        ("It is killed since 11:30 UTC.", "11:30 UTC is not in the verdict"),
    ],
)
def test_a_name_or_figure_that_the_verdict_does_not_hold_is_an_objection(summary: str, objection: str) -> None:
    assert source().objection(summary) == objection


@pytest.mark.parametrize("words", ["It is confirmed that", "The root cause is that", "Certainly,", "It is definitely so that"])
def test_nothing_is_certain_that_is_only_suspected(words: str) -> None:
    summary = f"{words} release 2.1 keeps every session."
    assert source().objection(summary) == ""
    assert "confidence" in source(Confidence.MEDIUM).objection(summary)
    assert "confidence" in source(outcome=VerdictOutcome.INCONCLUSIVE).objection(summary)
    assert source(Confidence.LOW).objection("It is not confirmed that release 2.1 keeps every session.") == ""


@pytest.mark.parametrize("confidence", list(Confidence))
@pytest.mark.parametrize("outcome", list(VerdictOutcome))
def test_what_code_writes_has_no_objection(outcome: VerdictOutcome, confidence: Confidence) -> None:
    found = source(confidence, outcome=outcome)
    assert found.written()
    assert found.objection(found.written()) == ""


def test_code_writes_what_is_wrong_how_sure_that_is_and_what_to_do() -> None:
    assert source(Confidence.LOW).written() == (
        "Suspected fault in Deployment/shop/cart, since 2026-03-10T09:12:41Z: Release 2.1 keeps every session, and cart-5b6c was killed "
        "13 times at 128Mi. It is still happening. To do now: Run kubectl rollout undo deployment/cart -n shop."
    )


@pytest.mark.parametrize(
    ("outcome", "written"),
    [
        (VerdictOutcome.FAULT, "Suspected fault in Deployment/shop/cart. It is still happening."),
        (VerdictOutcome.NO_FAULT, "No fault was found."),
        (VerdictOutcome.INCONCLUSIVE, "The investigation was inconclusive."),
    ],
)
@pytest.mark.parametrize("since", ["", "unknown", "None"])
def test_code_leaves_out_a_mechanism_and_a_time_that_the_verdict_lacks(outcome: VerdictOutcome, written: str, since: str) -> None:
    verdict = replace(VERDICT, outcome=outcome, mechanism=" ", since=since)
    assert summary_source("", JudgedVerdict(verdict, Confidence.LOW), None).written() == written


@pytest.mark.parametrize("step", ["3 pods have to be restarted.", "10.20.11.52 has to be drained."])
def test_a_step_that_begins_with_a_number_keeps_it(step: str) -> None:
    found = summary_source(f"## Do now\n1. {step}", JudgedVerdict(VERDICT, Confidence.HIGH), None)
    assert found.written().endswith(f"To do now: {step}")
