"""A ceiling in dollars cannot hold for a model of unknown price: every place where its operator may look says so, with the remedy."""

from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread

from support.agent_scenario import Scenario, agent, chain, stage
from support.api_world import serving
from support.runaway import PRICED, Runaway, endless_tools, priced_chain, runaway, runaway_agent, with_ceiling
from tarsy.cli.main import app
from tarsy.domain.budget import Ceiling

MODEL = "unheard-of (ours)"
REMEDY = "give its price under system.cost_estimation.model_rates (with cost estimation enabled), or set a ceiling in tokens"
CONFIG = """
defaults: {llm_provider: ours}
agent_chains:
  own: {alert_types: [own], budget: {usd: 0.5}, stages: [{name: look, agents: [{name: KubernetesAgent, mcp_servers: []}]}]}
system:
  budgets: [{per: day, usd: 5}, {per: month, usd: 9, chain: own}]
"""
PROVIDERS = "llm_providers: {ours: {type: openai, model: unheard-of}}\n"
KEYS = {"OPENAI_API_KEY": "k"}


def configured(directory: Path, more: str = "") -> None:
    directory.joinpath("tarsy.yaml").write_text(CONFIG + more, encoding="utf-8")
    directory.joinpath("llm-providers.yaml").write_text(PROVIDERS, encoding="utf-8")


async def test_ceilings_that_do_not_count_a_model_are_warned_of_in_the_system_and_in_the_usage(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path)
    story = Scenario(chain(stage(agent())), [], config_dir=tmp_path, env=KEYS)
    async with story.continued(database_url) as running, serving(running.services) as api:
        reported = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
        budgets = (await api.client.get("/api/v1/usage")).json()["budgets"]
    remarks = [one["message"] for one in reported if "does not count" in one["message"]]
    assert [remark.partition(" does not count calls of ")[0] for remark in remarks] == [
        'agent_chains.own: the ceiling of chain "own" in US dollars',
        "system.budgets[0]: the ceiling of $5.00 a day",
        "system.budgets[1]: the ceiling of $9.00 a month for chain own",
    ]
    assert all(remark.endswith(f"{MODEL}, whose price is not known; {REMEDY}") for remark in remarks)
    assert [one["unpriced_models"] for one in budgets] == [[MODEL], [MODEL]]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    usage = ["usage", "--config", str(tmp_path), "--database-url", database_url]
    await to_thread.run_sync(partial(app, usage, standalone_mode=False))
    assert f"The ceiling of $5.00 a day does not count calls of {MODEL}" in capsys.readouterr().out


def _check(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str = "does not count"
) -> list[str]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    partial(app, ["config", "check", "--config", str(directory)], standalone_mode=False)()
    return [line for line in capsys.readouterr().err.splitlines() if words in line]


async def test_the_check_of_the_configuration_names_the_line_and_a_rate_cures_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path)
    remarks = await to_thread.run_sync(_check, tmp_path, monkeypatch, capsys)
    of_budget = f"{tmp_path}/tarsy.yaml:6: system.budgets[0]: the ceiling of $5.00 a day does not count calls of {MODEL}, whose price is not known; {REMEDY}"
    assert of_budget in remarks
    configured(tmp_path, "  cost_estimation: {model_rates: {unheard-of: {input_per_million: 1, output_per_million: 2}}}\n")
    assert await to_thread.run_sync(_check, tmp_path, monkeypatch, capsys) == []


async def test_the_check_says_which_models_are_priced_by_their_name_and_free_ends_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path)
    gateway = "llm_providers:\n  ours: {type: openai, model: gpt-5.2, base_url: 'http://litellm:4000'"
    tmp_path.joinpath("llm-providers.yaml").write_text(f"{gateway}}}\n", encoding="utf-8")
    (remark,) = await to_thread.run_sync(_check, tmp_path, monkeypatch, capsys, "priced like")
    assert remark == (
        f"{tmp_path}/llm-providers.yaml:2: llm_providers.ours.model: at an address that is not the vendor's, it is priced like OpenAI gpt-5.2; "
        "give its own price under system.cost_estimation.model_rates, or set `free: true`"
    )
    tmp_path.joinpath("llm-providers.yaml").write_text(f"{gateway}, free: true}}\n", encoding="utf-8")
    assert await to_thread.run_sync(_check, tmp_path, monkeypatch, capsys, "priced like") == []


async def test_the_doctor_says_it_too(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path)
    for name, value in {**KEYS, "DATABASE_URL": database_url}.items():
        monkeypatch.setenv(name, value)
    examine = partial(app, ["doctor", "--config", str(tmp_path), "--port", "0"], standalone_mode=False)
    # A model and no working tools: it cannot investigate yet.
    assert await to_thread.run_sync(examine) == 1
    remarks = [line for line in capsys.readouterr().out.splitlines() if "does not count" in line]
    assert len(remarks) == 3
    assert remarks[1].startswith("warn")
    assert f"the ceiling of $5.00 a day does not count calls of {MODEL}, whose price is not known; {REMEDY}" in remarks[1]
    configured(tmp_path, "  cost_estimation: {model_rates: {unheard-of: {input_per_million: 1, output_per_million: 2}}}\n")
    await to_thread.run_sync(examine)
    assert "does not count" not in capsys.readouterr().out


async def test_a_session_under_such_a_ceiling_says_so_once(database_url: str, tmp_path: Path) -> None:
    unlisted = PRICED.model_copy(update={"model": "unheard-of", "name": "ours"})
    limited = with_ceiling(
        priced_chain(runaway_agent().model_copy(update={"provider": unlisted})), Ceiling(usd=Decimal("0.5"), model_calls=3)
    )
    story = runaway(Runaway(endless_tools), tmp_path, limited)
    found = await story.play(database_url)
    assert found.outcome
    reported = [event["content"] for event in found.outcome.timeline if event["event_type"] == "warning" and "dollars" in event["content"]]
    assert reported == [
        f"A ceiling in dollars does not hold here: calls of {MODEL}, whose price is not known, are not counted. To have it hold, {REMEDY}."
    ]
