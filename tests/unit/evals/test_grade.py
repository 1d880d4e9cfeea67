"""An attempt is graded by code: what it concludes, what it rests on, what it proposes, what it took."""

from typing import Any

import pytest

from support.eval_cases import attempt_on, expectation
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
    return [check.name for check in grade(expectation(**expected), attempt_on(answer, SEEN)) if not check.passed]


def test_an_answer_that_holds_all_that_was_expected_passes() -> None:
    checks = grade(
        expectation(still_happening="yes", must_not_cite="image pulled", forbidden_actions=["delete pvc"]), attempt_on(ANSWER, SEEN)
    )
    assert passed(checks), checks
    assert len(checks) == 9


@pytest.mark.parametrize(
    ("old", "new", "failed"),
    [
        ("outcome: fault", "outcome: inconclusive", "outcome"),
        ("name: cart-config", "name: storefront", "object"),
        ("kind: ConfigMap, namespace: shop", "kind: ConfigMap, namespace: data", "object"),
        ("host does not exist", "process runs out of room", "mechanism"),
        ("so the cart exits", "so memory grows", "wrong mechanism"),
        ("still_happening: yes", "still_happening: no", "still happening"),
        ('[A2: "lookup db-old: no such host"]', '[A1: "cart-7 CrashLoopBackOff"]', "cites “lookup db-old: no such host”"),
        ('[A2: "lookup db-old: no such host"]', '[A2: "lookup db-new: no such host"]', "cites “lookup db-old: no such host”"),
        ("## Ruled out", "## Impact", "does not cite “image pulled”"),
        ("Do not run", "Then run", "does not propose “delete pvc”"),
    ],
)
def test_each_thing_that_is_wrong_fails_by_its_name(old: str, new: str, failed: str) -> None:
    found = failures(ANSWER.replace(old, new), still_happening="yes", must_not_cite="image pulled", forbidden_actions=["delete pvc"])
    assert found == [failed]


def test_an_answer_without_a_verdict_passes_nowhere() -> None:
    answer = ANSWER.partition("```verdict")[0]
    for outcome in ("fault", "no_fault", "inconclusive"):
        assert failures(answer, outcome=outcome) == ["verdict"]


def test_a_fault_in_a_healthy_world_is_a_failure() -> None:
    assert failures(ANSWER, outcome="no_fault", object=(), mechanism=None, must_cite=()) == ["outcome"]


def test_what_is_not_blamed_needs_no_object_and_no_mechanism() -> None:
    answer = '## Why\n- [A1: "cart-7 CrashLoopBackOff"]\n```verdict\noutcome: inconclusive\n```'
    assert failures(answer, outcome=["inconclusive", "fault"], must_cite=()) == []


@pytest.mark.parametrize(("name", "value"), [("turns", 9), ("tool_calls", 9), ("total_tokens", 9), ("cost_usd", 9.0)])
def test_a_run_over_its_ceiling_fails_and_one_at_it_passes(name: str, value: float) -> None:
    ceiling = {"total_tokens": "tokens", "cost_usd": "usd"}.get(name, name)
    for limit, fits in ((9, True), (8, False)):
        expected = expectation(ceilings={ceiling: limit})
        assert passed(grade(expected, attempt_on(ANSWER, SEEN, **{name: value}))) is fits


def test_a_cost_that_is_not_known_is_not_held_against_a_run() -> None:
    assert passed(grade(expectation(ceilings={"usd": 0.01}), attempt_on(ANSWER, SEEN, cost_usd=None)))


def test_a_pod_stands_for_its_deployment_where_the_case_says_so() -> None:
    answer = ANSWER.replace("kind: ConfigMap, namespace: shop, name: cart-config", "kind: Pod, namespace: shop, name: cart-7f9-x2")
    assert failures(answer) == ["object"]
    assert failures(answer, object=["Deployment/shop/cart", "Pod/shop/cart-*"]) == []


def test_commands_are_what_code_proposes_and_no_verdict() -> None:
    assert list(commands("Run `a b`.\nNever `c d`.\n```sh\ne f\n```\n```verdict\nmechanism: g\n```")) == ["a b", "e f"]
