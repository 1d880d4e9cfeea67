"""How long the shipped suite takes with the oracle, and how the scripted investigators score: every case through the whole pipeline."""

import logging
import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tarsy.config.load.loader import load_config
from tarsy.evals.cases import SUITE, load_cases
from tarsy.evals.models import find_models
from tarsy.evals.plan import Plan
from tarsy.evals.run import run_evals
from tarsy.evals.statistics import by_model, summarise
from tarsy.evals.trials import Trial, TrialFile
from tarsy.kit.logs import configure_logs
from tarsy.settings import Settings

LIMIT_SECONDS = 120.0
FEWEST_CASES = 40


def ignore(_trial: Trial, _number: int, _count: int) -> None:
    """The figures at the end are enough."""


def cpu_seconds() -> float:
    """What this process and those that it has seen end, the database among them, have computed so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(*models: str, challenge: bool | None = None) -> tuple[float, float, tuple[Trial, ...]]:
    """The seconds that it took, those that were computed, and the trials."""
    plan = Plan(cases=load_cases(SUITE), models=find_models(load_config(None, {}), models), challenge=challenge)
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as directory:
        started, computed = time.monotonic(), cpu_seconds()
        outcome = anyio.run(run_evals, Settings(env={}), plan, TrialFile(Path(directory) / "trials.jsonl"), ignore)
        return time.monotonic() - started, cpu_seconds() - computed, outcome.trials


def main() -> bool:
    configure_logs(level=logging.WARNING)
    seconds, computed, trials = measured("oracle")
    print(f"{len(trials)} cases with the oracle   {seconds:6.1f} s (limit {LIMIT_SECONDS:.0f}), {computed:.1f} s of them CPU time")
    *_, others = measured("naive", "silent")
    rates = {model: summarise(model, found).pass_at_1.mean for model, found in by_model([*trials, *others]).items()}
    print("   ".join(f"{model} {rate:.0%}" for model, rate in rates.items()))
    for challenge in (False, True):
        *_, found = measured("overconfident", challenge=challenge)
        tokens = sum(trial.total_tokens for trial in found) / len(found)
        passed = sum(trial.passed for trial in found)
        print(f"overconfident, {'challenged' if challenge else 'unchallenged'}: {passed} of {len(found)}, {tokens:.0f} tokens each")
    separated = rates["oracle"] == 1.0 and rates["silent"] == 0.0 and rates["naive"] < 0.5
    return seconds < LIMIT_SECONDS and len(trials) >= FEWEST_CASES and separated


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
