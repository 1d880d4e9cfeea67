"""The figures of a measurement, checked against what they mean."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.eval_cases import trial
from tarsy.evals.grading import GradingCheck
from tarsy.evals.statistics import Share, bootstrap, compare, mean, pass_hat_k, summarise
from tarsy.evals.trials import Trial

runs = st.lists(st.booleans(), min_size=1, max_size=8)


@given(runs)
def test_pass_hat_k_is_the_share_of_choices_that_pass_whole(found: list[bool]) -> None:
    for k in range(1, len(found) + 1):
        choices = list(combinations(found, k))
        assert pass_hat_k(found, k) == sum(all(choice) for choice in choices) / len(choices)
    assert pass_hat_k(found, len(found) + 1) is None


@given(runs)
def test_reliability_never_rises_with_more_runs_and_starts_at_pass_at_1(found: list[bool]) -> None:
    rates = [pass_hat_k(found, k) or 0.0 for k in range(1, len(found) + 1)]
    assert rates == sorted(rates, reverse=True)
    assert abs(rates[0] - mean(map(float, found))) < 1e-12


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_the_interval_is_within_the_values_and_the_same_every_time(values: list[float]) -> None:
    found = bootstrap(values, resamples=200)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found == bootstrap(values, resamples=200)
    assert not (found.is_below_zero and found.is_above_zero)


# Each example draws a hundred thousand times: a few of them show it.
@settings(max_examples=settings().max_examples // 5)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_a_comparison_turned_around_finds_the_opposite(pairs: list[tuple[bool, bool]]) -> None:
    before = [trial(f"case-{number}", passed=one) for number, (one, _) in enumerate(pairs)]
    after = [trial(f"case-{number}", passed=other) for number, (_, other) in enumerate(pairs)]
    there, back = compare(before, after), compare(after, before)
    assert there.pass_rate.difference.mean == -back.pass_rate.difference.mean
    assert {case for case, _ in there.worse} == {case for case, _ in back.better}
    assert not (there.is_regression and there.is_progress)
    assert not compare(before, before).is_regression


def _suite(failing: int) -> list[Trial]:
    return [trial(f"case-{number}", passed=number >= failing) for number in range(40)]


def test_one_case_lost_of_forty_may_be_chance_and_six_are_not() -> None:
    assert not compare(_suite(0), _suite(1)).is_regression
    assert compare(_suite(0), _suite(6)).is_regression
    assert compare(_suite(6), _suite(0)).is_progress


def test_a_case_that_was_changed_in_between_is_not_compared() -> None:
    found = compare([trial("a"), trial("b")], [trial("a", passed=False, case_digest="other"), trial("b")])
    assert (found.cases, found.changed_cases, found.worse) == (1, ("a",), ())


def test_a_summary_counts_by_case_and_not_by_run() -> None:
    trials = [
        *(trial("a", run=run, passed=True, tags=("stale",)) for run in (1, 2)),
        *(trial("b", run=run, passed=run == 1, difficulty="hard", is_healthy=True, outcome="fault") for run in (1, 2)),
    ]
    found = summarise("tested", trials)
    # The healthy case counts double.
    assert (found.cases, found.trials, found.pass_at_1.mean) == (2, 4, pytest.approx(2 / 3))
    assert found.pass_hat_k == pytest.approx({1: 2 / 3, 2: 1 / 3})
    assert [(one.name, one.pass_at_1) for one in found.by_difficulty] == [("easy", 1.0), ("hard", 0.5)]
    assert [(one.name, one.cases, one.pass_at_1) for one in found.by_group] == [("network", 2, pytest.approx(2 / 3)), ("stale", 1, 1.0)]
    assert found.false_alarms == Share(2, 2)
    assert found.cost_usd is None


def test_abstaining_is_right_only_where_the_world_does_not_tell() -> None:
    trials = [
        trial("a", must_abstain=True, outcome="inconclusive"),
        trial("b", outcome="inconclusive", passed=False),
        trial("c", outcome=None, passed=False),
    ]
    found = summarise("tested", trials)
    assert found.abstained_rightly == Share(1, 1)
    assert found.abstained_wrongly == Share(1, 2)
    assert found.without_verdict == Share(1, 3)


def test_a_healthy_case_counts_double_in_a_comparison_too() -> None:
    before = [trial("a"), trial("b", is_healthy=True)]
    found = compare(before, [trial("a"), trial("b", is_healthy=True, passed=False)])
    assert (found.pass_rate.before, found.pass_rate.after) == (1.0, pytest.approx(1 / 3))


def test_calibration_counts_how_often_each_level_was_right_as_stated_and_as_computed() -> None:
    wrong = (GradingCheck("object", passed=False, detail="another"),)
    slow = (GradingCheck("at most 5 turns", passed=False, detail="6 turns"),)
    sure, lowered = {"confidence": "high", "shown_confidence": "high"}, {"confidence": "high", "shown_confidence": "low"}
    found = summarise(
        "tested",
        [
            trial("a", outcome="fault", verdict=sure),
            # Late, and right all the same.
            trial("b", outcome="fault", verdict=sure, checks=slow, passed=False),
            trial("c", outcome="fault", verdict=lowered, checks=wrong, passed=False),
            # What has no confidence is not counted: nothing was concluded, or an earlier version did not store it.
            trial("d", outcome="inconclusive", verdict=sure),
            trial("e", outcome="fault", verdict={"confidence": "medium"}),
        ],
    )
    assert {one.level.value: (one.stated, one.computed) for one in found.calibration} == {
        "high": (Share(2, 3), Share(2, 2)),
        "medium": (Share(1, 1), Share(0, 0)),
        "low": (Share(0, 0), Share(0, 1)),
    }
