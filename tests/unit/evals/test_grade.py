"""An attempt is graded by code: what it concludes, what it rests on, what it proposes, what it took."""

from typing import Any

import pytest

from support.eval_cases import attempt_on, expecting
from tarsy.evals.grading import commands, grade, passed

SEEN = {"A1": "cart-7 CrashLoopBackOff", "A2": "start\nlookup db-old: no such host\nexit", "A3": "image pulled slowly, 80s"}
ANSWER = """\
## Do now
`kubectl rollout undo deployment/cart -n shop`. Do not run `kubectl delete pvc data`.
## Why
- The name does not resolve [A2: "lookup db-old: no such host"].
## Ruled out
- Slow pull [A3: "image pulled slowly"]
```verdict
outcome: fault
object: {kind: ConfigMap, namespace: shop, name: cart-config}
mechanism: The configured host does not exist, so the cart exits.
still_happening: yes
evidence: [A2]
```
"""


def failures(answer: str, **expected: Any) -> list[str]:
    return [check.name for check in grade(expecting(**expected), attempt_on(answer, SEEN)) if not check.passed]


def test_an_answer_that_holds_all_that_was_expected_passes() -> None:
    checks = grade(
        expecting(still_happening="yes", must_not_cite="image pulled", forbidden_actions=["delete pvc"]), attempt_on(ANSWER, SEEN)
    )
    assert passed(checks), checks
    assert len(checks) == 13


@pytest.mark.parametrize(
    ("old", "new", "failed"),
    [
        ("outcome: fault", "outcome: inconclusive", "outcome"),
        ("name: cart-config", "name: storefront", "object"),
        ("kind: ConfigMap, namespace: shop", "kind: ConfigMap, namespace: data", "object"),
        ("host does not exist", "process runs out of room", "mechanism"),
        ("so the cart exits", "or its volume, its certificate or its quota", "one cause"),
        ("so the cart exits", "so it exits and" + " so on" * 40, "one cause"),
        ("so the cart exits", "so memory grows", "wrong mechanism"),
        ("still_happening: yes", "still_happening: no", "still happening"),
        ('[A2: "lookup db-old: no such host"]', '[A1: "cart-7 CrashLoopBackOff"]', "cites “lookup db-old: no such host”"),
        ('[A2: "lookup db-old: no such host"]', '[A2: "lookup db-new: no such host"]', "cites “lookup db-old: no such host”"),
        ('[A2: "lookup db-old: no such host"]', "[A2]", "cites “lookup db-old: no such host”"),
        ('[A2: "lookup db-old: no such host"]', '[A2: "start … exit"]', "cites “lookup db-old: no such host”"),
        ('[A2: "lookup db-old: no such host"]', '[ALERT: "lookup db-old: no such host"]', "cites “lookup db-old: no such host”"),
        ("## Ruled out", "## Impact", "does not cite “image pulled”"),
        ("Do not run", "Then run", "does not propose “delete pvc”"),
    ],
)
def test_each_thing_that_is_wrong_fails_by_its_name(old: str, new: str, failed: str) -> None:
    found = failures(ANSWER.replace(old, new), still_happening="yes", must_not_cite="image pulled", forbidden_actions=["delete pvc"])
    assert found == [failed]


def test_part_of_the_required_words_is_enough_if_it_is_as_long_as_a_quotation_must_be() -> None:
    assert failures(ANSWER.replace("lookup db-old: no such host", "db-old: no such host exit")) == []
    assert failures(ANSWER.replace("lookup db-old: no such host", "no such host")) == []
    assert failures(ANSWER.replace("lookup db-old: no such host", "start lookup")) == ["cites “lookup db-old: no such host”"]


def test_words_are_found_at_the_beginning_of_words() -> None:
    mechanism = {"any_of": [["host", "exist"]]}
    assert failures(ANSWER, mechanism=mechanism) == []
    assert failures(ANSWER.replace("host does", "localhost does"), mechanism=mechanism) == ["mechanism"]


def test_a_wrong_answer_with_high_confidence_fails_for_that_too() -> None:
    sure = ANSWER.replace("still_happening", "confidence: high\nstill_happening")
    assert failures(sure) == []
    assert failures(sure, object="Deployment/shop/search") == ["object", "not wrong with high confidence"]
    assert failures(ANSWER, object="Deployment/shop/search") == ["object"]


def test_a_healthy_world_wants_to_know_why_there_was_an_alert() -> None:
    expected = {"outcome": "no_fault", "object": (), "must_cite": (), "mechanism": {"any_of": [["planned"]]}}
    healthy = "```verdict\noutcome: no_fault\nmechanism: {}\n```"
    assert failures(healthy.format("A planned update."), **expected) == []
    assert failures(healthy.format("All is well."), **expected) == ["mechanism"]


def test_an_answer_without_a_verdict_passes_nowhere() -> None:
    answer = ANSWER.partition("```verdict")[0]
    for outcome in ("fault", "no_fault", "inconclusive"):
        assert failures(answer, outcome=outcome) == ["verdict"]


def test_a_fault_in_a_healthy_world_is_a_failure() -> None:
    assert failures(ANSWER, outcome="no_fault", object=(), mechanism=None, must_cite=()) == ["outcome"]


def test_what_is_not_blamed_needs_no_object_and_no_mechanism() -> None:
    answer = '## Why\n- [A1: "cart-7 CrashLoopBackOff"]\n```verdict\noutcome: inconclusive\n```'
    assert failures(answer, outcome=["inconclusive", "fault"], must_cite=()) == []


@pytest.mark.parametrize(("name", "value"), [("turns", 9), ("tool_calls", 9), ("total_tokens", 9), ("cost_usd", 9.0), ("seconds", 9.0)])
def test_a_run_over_its_ceiling_fails_and_one_at_it_passes(name: str, value: float) -> None:
    ceiling = {"total_tokens": "tokens", "cost_usd": "usd"}.get(name, name)
    for limit, fits in ((9, True), (8, False)):
        expected = expecting(ceilings={ceiling: limit})
        assert passed(grade(expected, attempt_on(ANSWER, SEEN, **{name: value}))) is fits


def test_every_case_has_a_ceiling_of_money_time_and_tokens() -> None:
    attempt = attempt_on(ANSWER, SEEN, total_tokens=9_000_000, cost_usd=90.0, seconds=9_000.0)
    failed = [check for check in grade(expecting(), attempt) if not check.passed]
    assert [check.name for check in failed] == ["at most 1e+06 tokens", "at most 5 usd", "at most 1800 seconds"]
    assert failed[0].detail == "over its ceiling: 9000000 tokens"


def test_a_cost_that_is_not_known_is_not_held_against_a_run() -> None:
    assert passed(grade(expecting(ceilings={"usd": 0.01}), attempt_on(ANSWER, SEEN, cost_usd=None)))


def test_a_pod_stands_for_its_deployment_where_the_case_says_so() -> None:
    answer = ANSWER.replace("kind: ConfigMap, namespace: shop, name: cart-config", "kind: Pod, namespace: shop, name: cart-7f9-x2")
    assert failures(answer) == ["object"]
    assert failures(answer, object=["Deployment/shop/cart", "Pod/shop/cart-*"]) == []


def test_commands_are_what_code_proposes_and_no_verdict() -> None:
    assert list(commands("Run `a b`.\nNever `c d`.\n```sh\ne f\n```\n```verdict\nmechanism: g\n```")) == ["a b", "e f"]
