"""Whether a challenge pays: a model that blames the first error in sight, with and without a second agent that tries to refute it."""

from pathlib import Path

import anyio
import pytest

from tarsy.config.load.loader import load_config
from tarsy.evals.case_files import SUITE, chosen, load_cases
from tarsy.evals.model import find_models
from tarsy.evals.plan import Plan
from tarsy.evals.run import run_evals
from tarsy.evals.trial import Trial
from tarsy.evals.trial_file import TrialFile
from tarsy.settings import Settings

pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("own_database")]
# Two that only a second look finds, one that is right at once, one that is wrong either way.
NAMES = ("config-wrong-database-host", "resources-limit-lowered", "image-tag-missing", "network-dns-upstream")


def ignore(_trial: Trial, _number: int, _count: int) -> None:
    """What comes of it is looked at in the end."""


def measured(directory: Path, *, challenge: bool) -> dict[str, Trial]:
    models = find_models(load_config(None, {}), ["overconfident"])
    plan = Plan(cases=chosen(load_cases(SUITE), names=NAMES), models=models, challenge=challenge)
    outcome = anyio.run(run_evals, Settings(env={}), plan, TrialFile(directory / f"{challenge}.jsonl"), ignore)
    return {trial.identity.case: trial for trial in outcome.trials}


def test_an_overconfident_model_scores_better_where_its_verdicts_are_challenged(tmp_path: Path) -> None:
    alone, challenged = measured(tmp_path, challenge=False), measured(tmp_path, challenge=True)
    assert {name for name, trial in alone.items() if trial.passed} == {"image-tag-missing"}
    assert {name for name, trial in challenged.items() if trial.passed} == {*NAMES} - {"network-dns-upstream"}
    # It costs a second, shorter investigation, and one more answer where it was refuted.
    assert all(trial.turns > alone[name].turns for name, trial in challenged.items())
    refuted, upheld = challenged["resources-limit-lowered"], challenged["image-tag-missing"]
    assert refuted.turns == upheld.turns + 1
    assert upheld.analysis == alone["image-tag-missing"].analysis
    # The revised answer cites what the first agent and the challenger saw.
    assert {"A3", "B3"} <= set(refuted.verdict["evidence"])
