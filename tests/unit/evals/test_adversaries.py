"""The suite cannot be gamed: who finds nothing out scores nothing, however much it looks at, quotes and claims."""

from collections.abc import Mapping, Sequence

import pytest

from support.eval_cases import investigated
from tarsy.evals.cases import SUITE, Case, load_cases
from tarsy.evals.investigators.adversaries import ADVERSARIES
from tarsy.evals.investigators.oracle import oracle
from tarsy.evals.statistics import Summary, by_model, summarise
from tarsy.evals.trials import TrialIdentity, trial_of

# In one process: what the fixture computes takes as long as a hundred other tests.
pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("adversaries")]


@pytest.fixture(scope="module", params=[pytest.param(5, id="every fifth case"), pytest.param(1, id="all cases", marks=pytest.mark.long)])
def cases(request: pytest.FixtureRequest) -> Sequence[Case]:
    return load_cases(SUITE)[:: request.param]


@pytest.fixture(scope="module")
def summaries(cases: Sequence[Case]) -> Mapping[str, Summary]:
    """All of them on the cases, graded as a run is."""
    trials = [
        trial_of(
            case,
            TrialIdentity(case=case.name, model=name, run=1, case_digest="", model_digest="", prompt_digest="", configuration_digest=""),
            attempt,
        )
        for case in cases
        for name, attempt in investigated({**ADVERSARIES, "oracle": oracle}, case).items()
    ]
    return {model: summarise(model, of_model) for model, of_model in by_model(trials).items()}


def test_no_adversary_scores_three_percent(summaries: Mapping[str, Summary]) -> None:
    assert {name: found.pass_at_1.mean for name, found in summaries.items() if name != "oracle" and found.pass_at_1.mean >= 0.03} == {}
    assert len(ADVERSARIES) == 16


def test_the_oracle_scores_at_least_95_percent(summaries: Mapping[str, Summary]) -> None:
    assert summaries["oracle"].pass_at_1.mean >= 0.95


def test_adversaries_are_worth_resisting(summaries: Mapping[str, Summary], cases: Sequence[Case]) -> None:
    """They see and quote so much that evidence alone would pass them, and none admits a doubt."""
    assert summaries["dumps-all-tools"].citations_verified.count > 85 * len(cases)
    assert summaries["dumps-all-tools"].citations_verified.rate == pytest.approx(1.0, abs=0.1)
    for name, found in summaries.items():
        if name not in ("oracle", "always-inconclusive"):
            assert found.confidently_wrong.count >= len(cases) - 2, name
