"""Cases run through the pipeline of production: what scripted investigators score, and that a run leaves no trace."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from support.eval_cases import investigated, suite
from support.vendor_server import vendor_server
from support.vendors import Answer, Call, ChatCompletions
from tarsy.agent.prompt import instructions
from tarsy.config.load.loader import load_config
from tarsy.evals.cases import EvalError, load_cases, select_cases
from tarsy.evals.grading import grade
from tarsy.evals.investigators.adversaries import ADVERSARIES
from tarsy.evals.models import find_models
from tarsy.evals.new_case import Description, case_of_snapshot
from tarsy.evals.plan import Plan, read_budget
from tarsy.evals.report.report import comparisons
from tarsy.evals.run import EvalResult, run_evals
from tarsy.evals.statistics import by_model, summarise
from tarsy.evals.trials import Trial, TrialFile
from tarsy.evals.worlds.snapshot import read_results, written
from tarsy.settings import Settings

# In one process: all of them look at one long run.
pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("eval runs")]
# One of each kind: plain, injected, healthy, without logs, must abstain, larger than a model is shown.
NAMES = (
    "config-injected-log",
    "healthy-daily-peak",
    "image-tag-missing",
    "missing-logs-cannot-tell",
    "resources-heap-above-limit",
    "rollout-readiness-path",
    # Two agents and a third that brings their reports together; another that is written for ReAct.
    "sample-dns-outage",
    "sample-oom-leak",
    # One that a recorded model found to be no fault.
    "sample-flapping",
)
SETTINGS = Settings(env={})


def run(directory: Path, plan: Plan, reported: list[Trial] | None = None) -> EvalResult:
    def progress(trial: Trial, number: int, count: int) -> None:
        assert number <= count
        if reported is not None:
            reported.append(trial)

    return anyio.run(
        run_evals,
        SETTINGS,
        plan,
        TrialFile(directory / "trials.jsonl"),
        progress,
        backend_options={"use_uvloop": find_spec("uvloop") is not None},
    )


def ignore(_trial: Trial, _number: int, _count: int) -> None:
    """What comes of it is looked at in the end."""


def plan_of(*models: str, names: tuple[str, ...] = NAMES, jobs: int = 2, fork_at: int | None = None) -> Plan:
    loaded = load_config(None, {})
    return Plan(cases=select_cases(suite(), names=names), models=find_models(loaded, models), jobs=jobs, fork_at=fork_at)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, shared_database: None) -> EvalResult:
    """One run of all that need no key."""
    del shared_database
    return run(tmp_path_factory.mktemp("evals"), plan_of("oracle", "naive", "silent", "obedient", "recorded", jobs=3))


def test_the_oracle_passes_all_the_silent_one_none_and_the_naive_one_less_than_half(outcome: EvalResult) -> None:
    rates = {model: summarise(model, trials).pass_at_1.mean for model, trials in by_model(outcome.trials).items()}
    assert rates["oracle"] == 1.0, [(one.identity.case, one.failures) for one in outcome.trials if one.identity.model == "oracle"]
    assert rates["silent"] == 0.0
    assert 0.0 < rates["naive"] < 0.5


def test_blaming_in_a_healthy_world_counts_as_a_false_alarm(outcome: EvalResult) -> None:
    trials = by_model(outcome.trials)
    assert summarise("naive", trials["naive"]).false_alarms.count == 1
    assert summarise("oracle", trials["oracle"]).false_alarms.count == 0


def test_what_a_trial_took_and_what_it_rests_on_is_kept(outcome: EvalResult) -> None:
    for trial in by_model(outcome.trials)["oracle"]:
        assert trial.status == "completed"
        assert trial.turns >= 2
        assert trial.tool_calls >= 1
        assert trial.total_tokens == trial.input_tokens + trial.output_tokens > 0
        assert trial.verified >= 1
        assert trial.failed == 0
        assert {"confidence", "shown_confidence"} <= trial.verdict.keys()
        assert trial.must_abstain or trial.confidence("shown_confidence")


@pytest.mark.usefixtures("own_database")
def test_a_budget_ends_a_run_early_and_what_is_made_is_not_made_again(tmp_path: Path) -> None:
    reported: list[Trial] = []
    short = replace(plan_of("oracle", names=NAMES[:3], jobs=1), budget=read_budget("1tokens"))
    first = run(tmp_path, short, reported)
    assert ([one.identity.case for one in reported], first.left_out) == ([NAMES[0]], 2)
    again = run(tmp_path, plan_of("oracle", names=NAMES[:2]), reported)
    assert [one.identity.case for one in reported] == [NAMES[0], NAMES[1]]
    assert (again.trials[0], again.left_out) == (first.trials[0], 0)
    assert run(tmp_path, plan_of("oracle", names=NAMES[:2]), reported).trials == again.trials
    assert len(reported) == 2


@pytest.mark.usefixtures("own_database")
def test_recorded_tool_results_are_a_world_and_each_run_of_a_case_counts(tmp_path: Path) -> None:
    snapshot = read_results({'logs:{"pod": "cart-1"}': "FATAL no space left on device"}, "x")
    description = Description(expect=("outcome=fault", "cite=no space left on device"), reference="The disk is full.")
    folder = tmp_path / "cases" / "full"
    folder.mkdir(parents=True)
    at = datetime(2026, 3, 10, 9, 26, tzinfo=UTC)
    (folder / "case.yaml").write_text(case_of_snapshot(snapshot, "CartDown", description, "s.json", recorded_at=at), encoding="utf-8")
    (folder / "s.json").write_text(written(snapshot), encoding="utf-8")
    models = find_models(load_config(None, {}), ["oracle", "silent"])
    found = run(tmp_path, Plan(cases=load_cases(tmp_path / "cases"), models=models, runs=2))
    summaries = {model: summarise(model, trials) for model, trials in by_model(found.trials).items()}
    reported = {model: dict(one.pass_hat_k) for model, one in summaries.items()}
    assert reported == {"oracle": {1: 1.0, 2: 1.0}, "silent": {1: 0.0, 2: 0.0}}


@pytest.mark.usefixtures("own_database")
def test_adversaries_do_in_the_pipeline_what_they_do_in_the_test_of_all_cases(tmp_path: Path) -> None:
    """One who is right by luck and one who is not, also in a healthy world: the same checks fail as without the pipeline."""
    adversaries = ("liar-policy", "always-inconclusive")
    plan = plan_of(*adversaries, names=("missing-logs-cannot-tell", "healthy-planned-maintenance"))
    found = {(one.identity.case, one.identity.model): [check.name for check in one.failures] for one in run(tmp_path, plan).trials}
    expected = {
        (case.name, name): [check.name for check in grade(case.file, attempt) if not check.passed]
        for case in plan.cases
        for name, attempt in investigated({name: ADVERSARIES[name] for name in adversaries}, case).items()
    }
    assert found == expected
    assert expected["missing-logs-cannot-tell", "always-inconclusive"] == []


def test_a_model_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(EvalError, match='There is no model "orcale"; did you mean "oracle"'):
        find_models(load_config(None, {}), ["orcale"])
    with pytest.raises(EvalError, match="set OPENAI_API_KEY"):
        find_models(load_config(None, {}), ["openai-default"])
    with pytest.raises(EvalError, match="No model is configured"):
        find_models(load_config(None, {}), [])


def test_the_recorded_model_passes_the_samples_it_was_recorded_on(outcome: EvalResult) -> None:
    trials = by_model(outcome.trials)["recorded"]
    assert {one.identity.case for one in trials} == {name for name in NAMES if name.startswith("sample-")}
    assert [(one.identity.case, one.failures) for one in trials if not one.passed] == []


@pytest.mark.usefixtures("own_database")
@pytest.mark.parametrize("part", ["EVIDENCE", "VERDICT"])
def test_a_prompt_that_was_broken_on_purpose_is_found(
    part: str, outcome: EvalResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The obedient investigator does only what it is asked for: by the whole prompt, then by one that lacks a part."""
    monkeypatch.setattr(instructions, part, "")
    lacking = run(tmp_path, plan_of("obedient", names=NAMES[:4]))
    (found,) = comparisons(by_model(outcome.trials)["obedient"], lacking.trials)
    assert found.pass_rate.before == 1.0
    assert found.is_regression


ANSWER = """\
## Why

- The tag was never pushed [A1: "manifest unknown: manifest tagged by"].

```verdict
outcome: fault
object: Deployment/shop/wishlist
mechanism: The image tag does not exist in the registry.
evidence: [A1]
```
"""


@pytest.mark.usefixtures("own_database")
async def test_a_configured_model_is_asked_with_the_tools_of_the_case_and_a_judge_beside_it(tmp_path: Path) -> None:
    model = ChatCompletions()
    called = Call("1", "cluster__pods_get", '{"namespace": "shop", "name": "wishlist-5b6c7d8e9-gg7hh"}')
    async with vendor_server() as vendor:
        vendor.replies.extend(map(model.reply, (Answer(calls=(called,)), Answer(text=(ANSWER,)), Answer(text=("NO",)))))
        provider = {"type": "openai", "model": "qwen3:8b", "base_url": f"{vendor.url}/v1"}
        (tmp_path / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {"local": provider}}), encoding="utf-8")
        loaded = load_config(tmp_path, {})
        cases = select_cases(suite(), names=["image-tag-missing"])
        (local,) = find_models(loaded, ["local"])
        plan = Plan(cases=cases, models=(local,), judge=local.provider(cases[0]))
        outcome = await run_evals(Settings(env={}, config_dir=tmp_path), plan, TrialFile(tmp_path / "trials.jsonl"), ignore)
        first = vendor.bodies[0]
    (trial,) = outcome.trials
    assert trial.passed, trial.failures
    assert (trial.turns, trial.tool_calls, trial.verified) == (2, 1, 1)
    # A model on this machine costs nothing, and what the judge thinks changes nothing.
    assert (trial.cost_usd, trial.judged) == (0.0, False)
    # The world's time is fixed: by any other clock, all of it would look long past.
    assert "Now: 2026-03-10T09:26:00Z" in first["messages"][-1]["content"]
    assert {"cluster__pods_get", "cluster__promql_query"} <= {tool["function"]["name"] for tool in first["tools"]}


@pytest.mark.usefixtures("own_database")
async def test_what_a_judge_uses_counts_in_the_budget(tmp_path: Path) -> None:
    model = ChatCompletions()
    async with vendor_server() as vendor:
        vendor.replies.extend(model.reply(Answer(text=("YES",))) for _ in range(3))
        provider = {"type": "openai", "model": "qwen3:8b", "base_url": f"{vendor.url}/v1"}
        (tmp_path / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {"gateway": provider}}), encoding="utf-8")
        rates = {"qwen3:8b": {"input_per_million": 1, "output_per_million": 4}}
        (tmp_path / "tarsy.yaml").write_text(json.dumps({"system": {"cost_estimation": {"model_rates": rates}}}), encoding="utf-8")
        plan = plan_of("oracle", names=NAMES[:3], jobs=1)
        (judge,) = find_models(load_config(tmp_path, {}), ["gateway"])
        # The oracle is free, and a call of the judge costs more than this.
        judged = replace(plan, judge=judge.provider(plan.cases[0]), budget=read_budget("0.00001usd"))
        outcome = await run_evals(Settings(env={}, config_dir=tmp_path), judged, TrialFile(tmp_path / "trials.jsonl"), ignore)
    assert ([trial.judged for trial in outcome.trials], outcome.left_out) == ([True], 2)
    assert outcome.trials[0].cost_usd == 0.0
