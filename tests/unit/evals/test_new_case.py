"""Cases made of sessions and of recorded results."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tarsy.domain.recording import RecordedAlert, RecordedOutcome, RecordedTool, Recording
from tarsy.domain.review import Accuracy
from tarsy.domain.verdict import AffectedObject, RuledOut, Verdict, VerdictOutcome, verdict_fields
from tarsy.evals.cases import EvalError, load_cases
from tarsy.evals.grading import parse_opinion
from tarsy.evals.investigators.oracle import oracle
from tarsy.evals.investigators.script import Calls, Conversation
from tarsy.evals.new_case import Description, case_of_session, case_of_snapshot, reviewed_answers, suggested_answers
from tarsy.evals.plan import read_budget
from tarsy.evals.worlds.loading import open_world
from tarsy.evals.worlds.snapshot import read_results, written

RECORDED_AT = datetime(2026, 3, 10, 9, 26, tzinfo=UTC)
VERDICT = Verdict(
    outcome=VerdictOutcome.FAULT, object=AffectedObject(kind="Deployment", namespace="shop", name="cart"), mechanism="The volume is full."
)
SESSION = Recording(
    alert=RecordedAlert(alert_type="kubernetes", data="[FIRING] CartDown\nnamespace: shop"),
    tools=(RecordedTool(track="t", call_id="1", name="kube.logs", arguments='{"pod": "cart-1"}', content="write failed:  no space left"),),
    outcome=RecordedOutcome(status="completed", final_analysis="It is full.", verdict=verdict_fields(VERDICT)),
)


def made(directory: Path, text: str, file: str, world: str) -> None:
    directory.mkdir()
    (directory / "case.yaml").write_text(text, encoding="utf-8")
    (directory / file).write_text(world, encoding="utf-8")


def test_a_session_becomes_a_case_that_expects_what_a_person_wrote_and_else_what_it_concluded(tmp_path: Path) -> None:
    description = Description(expect=("cite=No space left", "mechanism=full,volume", "turns=9"))
    text = case_of_session(SESSION, description, "recording.json")
    made(tmp_path / "one", text, "recording.json", SESSION.model_dump_json())
    (case,) = load_cases(tmp_path)
    assert case.file.expect.outcome == ("fault",)
    assert case.file.expect.object == ("Deployment/shop/cart",)
    assert case.file.expect.ceilings.turns == 9
    assert case.file.reference == "The volume is full."
    assert oracle(case, Conversation(("kube.logs",), 0, ())) == Calls((("logs", {"pod": "cart-1"}),))
    assert open_world(case).answer("kube.logs", {"pod": "cart-1"}).text == "write failed:  no space left"


def test_what_a_person_expects_goes_before_what_the_session_concluded() -> None:
    found = yaml.safe_load(case_of_session(SESSION, Description(expect=("outcome=no_fault",)), "r.json"))
    assert found["expect"]["outcome"] == ["no_fault"]


def test_a_session_whose_verdict_was_wrong_becomes_a_case_of_the_actual_cause() -> None:
    suggested = suggested_answers(SESSION)
    reviewed = reviewed_answers(suggested, Accuracy.WRONG, "The node lost its network.")
    assert (reviewed.outcome, reviewed.reference, reviewed.quotations) == ("fault", "The node lost its network.", ())
    assert reviewed.must_not_say == ("The volume is full.",)
    description = Description(reference=reviewed.reference, expect=("mechanism=network", "cite=no space left"))
    found = yaml.safe_load(case_of_session(SESSION, description, "r.json", accuracy=Accuracy.WRONG))
    assert (found["reference"], found["expect"]["outcome"], "object" in found["expect"]) == ("The node lost its network.", "fault", False)
    assert reviewed_answers(suggested, Accuracy.ACCURATE, "") == suggested
    with pytest.raises(EvalError, match="add the actual cause"):
        reviewed_answers(suggested, Accuracy.WRONG, "")


def test_the_verdict_of_a_session_suggests_its_mechanism_and_its_evidence() -> None:
    ruled_out = RuledOut("a leak, or more load", ("A1",))
    verdict = replace(VERDICT, mechanism="The volume has no space left.", evidence=("A1",), ruled_out=(ruled_out,))
    analysis = 'Disk [A1: "no space left"; A1: "write failed:  no space"; A1: "all is well here"].'
    outcome = RecordedOutcome(
        status="completed",
        final_analysis=analysis,
        verdict=verdict_fields(verdict),
        conversations={"0.a/0.b": ({"tool_calls": [{"id": "1"}]},)},
    )
    tools = (SESSION.tools[0].model_copy(update={"track": "0.a/0.b"}),)
    suggested = suggested_answers(SESSION.model_copy(update={"outcome": outcome, "tools": tools}))
    assert (suggested.outcome, suggested.reference) == ("fault", "The volume has no space left.")
    assert suggested.quotations == ("no space left", "write failed:  no space")
    assert suggested.must_not_say == ("a leak  or more load",)
    # Words that are in the evidence too say more than others; a sentence without any has only others.
    assert suggested.must_say(suggested.reference) == ("space", "left")
    assert suggested.must_say("Somebody deleted it.") == ("somebody", "deleted")


def test_a_mechanism_is_described_by_what_it_must_and_must_not_say() -> None:
    expect = ("mechanism=full,volume", "not=leak, more load", "seconds=90")
    found = yaml.safe_load(case_of_session(SESSION, Description(expect=expect), "r.json"))["expect"]
    assert found["mechanism"] == {"any_of": [["full", "volume"]], "none_of": [["leak"], ["more load"]]}
    assert found["ceilings"] == {"seconds": 90}
    with pytest.raises(EvalError, match="This is not a valid case"):
        case_of_session(SESSION, Description(expect=("not=leak",)), "r.json")


def test_recorded_results_become_a_case(tmp_path: Path) -> None:
    snapshot = read_results({'logs:{"pod": "cart-1"}': "no space left"}, "x")
    description = Description(expect=("outcome=fault", "cite=no space left"), reference="Full.")
    text = case_of_snapshot(snapshot, "CartDown", description, "snapshot.json", recorded_at=RECORDED_AT)
    made(tmp_path / "one", text, "snapshot.json", written(snapshot))
    (case,) = load_cases(tmp_path)
    call = case.file.expect.must_cite[0].call
    assert call is not None
    assert not open_world(case).answer(f"snapshot.{call.tool}", call.arguments).is_error
    # Whenever it is run, it is that time to its investigators.
    assert open_world(case).now == RECORDED_AT


@pytest.mark.parametrize(
    ("expect", "reported"),
    [
        ((), "--expect outcome="),
        (("outcome",), "write KEY=VALUE"),
        (("outcme=fault",), "write KEY=VALUE"),
        (("outcome=fault", "cite=not there"), 'No tool result holds "not there"'),
        (("outcome=fault", "turns=many"), '"many" is no number of turns'),
        (("outcome=broken",), "This is not a valid case"),
    ],
)
def test_what_makes_no_case_is_refused_in_words(expect: tuple[str, ...], reported: str) -> None:
    with pytest.raises(EvalError, match=reported):
        case_of_snapshot(read_results({"a:{}": "x"}, "x"), "alert", Description(expect=expect), "snapshot.json", recorded_at=RECORDED_AT)


def test_a_session_without_a_verdict_needs_an_expected_outcome() -> None:
    silent = SESSION.model_copy(update={"outcome": RecordedOutcome(status="completed", final_analysis="nothing")})
    with pytest.raises(EvalError, match="--expect outcome="):
        case_of_session(silent, Description(), "recording.json")
    assert json.loads(SESSION.model_dump_json())["alert"]


@pytest.mark.parametrize(
    ("text", "amount", "in_tokens"),
    [("5usd", 5, False), ("$2.5", 2.5, False), ("7", 7, False), ("2Mtokens", 2e6, True), ("500 k tokens", 5e5, True)],
)
def test_a_budget_is_dollars_or_tokens(text: str, amount: float, in_tokens: bool) -> None:  # noqa: FBT001 - a parameter
    found = read_budget(text)
    assert (found.amount, found.in_tokens) == (amount, in_tokens)


def test_a_budget_in_dollars_needs_a_model_whose_price_is_known() -> None:
    with pytest.raises(EvalError, match="The price of m is not known"):
        read_budget("5usd").spent_by("m", 120, None)
    assert read_budget("5usd").spent_by("m", 120, 0.25) == 0.25
    assert read_budget("5ktokens").spent_by("m", 120, None) == 120


def test_what_is_no_budget_is_refused() -> None:
    with pytest.raises(EvalError, match="is no budget"):
        read_budget("plenty")


@pytest.mark.parametrize(
    ("answer", "expected"), [("YES", True), ("**No.**", False), ("yes, the same", True), ("", None), ("* *", None), ("Maybe", None)]
)
def test_a_judge_says_yes_or_no_or_nothing(answer: str, expected: bool | None) -> None:  # noqa: FBT001 - a parameter
    assert parse_opinion(answer) is expected
