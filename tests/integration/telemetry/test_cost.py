"""The cost of each model call, stored with it, and summed wherever it is shown."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from anyio import to_thread

from support.agent_scenario import PROVIDER, SESSION_ID, SUMMARY, Scenario, agent, calls, chain, says, stage, thinks
from support.api_world import serving
from support.scraped import value
from tarsy.agent.ports import LLMClient
from tarsy.cli.main import app
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, ProviderType
from tarsy.llm.in_process import in_process_client

TRACK = "0.look/1.Investigator"
RATES = """
system:
  cost_estimation:
    model_rates:
      model-1: {input_per_million: 1000, output_per_million: 4000}
"""
INCIDENT = """
    INSERT INTO incidents (id, key, route, title, severity, source, alert_type, opened_at, heard_at, firing, alerts, deliveries)
    VALUES (:id, 'k', 'r', 'Down', 'warning', 's', 't', now(), now(), 1, 1, 1)
"""
# 10 tokens in and 5 out, as every recorded answer here.
EACH = 0.03


def story(directory: Path, *models: str, texts: Sequence[str] = ("It is the disk.",)) -> Scenario:
    directory.joinpath("tarsy.yaml").write_text(RATES)
    agents = [
        agent(
            f"Agent{number}",
            mcp_servers=(),
            provider=PROVIDER.model_copy(update={"model": model, "type": ProviderType.OPENAI, "recording": None}),
        )
        for number, model in enumerate(models, 1)
    ]
    tracks = [f"0.look/{number}.Agent{number}" for number, _ in enumerate(models, 1)]
    calls = [says(track, turn, text) for track in tracks for turn, text in enumerate(texts)]
    reported = Scenario(chain(stage(*agents), scoring=None), [*calls, *_later(len(models))], config_dir=directory)
    return replace(reported, llm=Played(in_process_client(env={}, recordings=lambda _: reported.recording)))


@dataclass(frozen=True)
class Played:
    """A recording that stands for a vendor's model."""

    inner: LLMClient

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        recorded = request.provider.model_copy(update={"type": ProviderType.REPLAY, "recording": "it"})
        return self.inner.generate(replace(request, provider=recorded))

    async def health(self) -> LLMHealth:
        return await self.inner.health()

    async def aclose(self) -> None:
        await self.inner.aclose()


def _later(agents: int) -> Sequence[Any]:
    if agents == 1:
        return [says(f"1.{SUMMARY}", 0, "Disk.")]
    return [says("1.look synthesis/1.SynthesisAgent", 0, "It is the disk."), says(f"2.{SUMMARY}", 0, "Disk.")]


async def test_cost_is_shown_per_call_agent_and_session_in_detail_trace_list_and_metrics(database_url: str, tmp_path: Path) -> None:
    async with story(tmp_path, "model-1", "unheard-of").running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        async with serving(running.services) as api:
            detail = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}")).json()
            trace = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}/trace")).json()["llm"]
            listed = (await api.client.get("/api/v1/sessions")).json()["sessions"][0]
        reported = running.services.health.metrics()
    # The synthesis and the summary are recordings of a model that has a rate.
    assert detail["cost"] == {"usd": pytest.approx(3 * EACH), "unpriced_calls": 1, "estimated_calls": 0}
    assert [one["cost"] for one in detail["stages"][0]["executions"]] == [
        {"usd": EACH, "unpriced_calls": 0, "estimated_calls": 0},
        {"usd": None, "unpriced_calls": 1, "estimated_calls": 0},
    ]
    assert max(((call["model"], call["cost_usd"]) for call in trace), key=str) == ("unheard-of", None)
    assert sum(call["cost_usd"] or 0 for call in trace) == pytest.approx(3 * EACH)
    assert listed["cost"] == detail["cost"]
    assert value(reported, "tarsy_model_unpriced_calls_total", provider=PROVIDER.name, model="unheard-of") == 1
    assert value(reported, "tarsy_model_cost_usd_total", provider=PROVIDER.name, model="model-1") == pytest.approx(3 * EACH)


async def test_an_incident_costs_what_its_investigations_do_in_api_and_terminal(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, incident = story(tmp_path, "model-1"), str(uuid4())
    async with scenario.continued(database_url) as running, serving(running.services) as api:
        async with running.engine.begin() as connection:
            await connection.execute(sa.text(INCIDENT), {"id": incident})
        sessions = [replace(scenario.session(), id=str(uuid4()), incident_id=incident) for _ in range(2)]
        for session in sessions:
            await running.services.repositories.sessions.insert(session)
        await running.pool.run_waiting(INVESTIGATION)
        shown = (await api.client.get(f"/api/v1/incidents/{incident}")).json()
        (listed,) = (await api.client.get("/api/v1/incidents")).json()["incidents"]
        reports = [(await api.client.get(f"/api/v1/sessions/{one.id}/report", params={"format": "md"})).text for one in sessions]
    # The agent that runs second, whichever that is, repeats what the first one had found: it is not summed up.
    assert shown["cost"] == listed["cost"] == {"usd": pytest.approx(3 * EACH), "unpriced_calls": 0, "estimated_calls": 0}
    assert [sum(f"- Cost: {cost}" in report for report in reports) for cost in ("$0.0600", "$0.0300")] == [1, 1]
    at = ["--database-url", database_url]
    for command in (["incidents", "list", *at], ["incidents", "show", incident, *at], ["sessions", "list", *at]):
        await to_thread.run_sync(partial(app, command, standalone_mode=False))
    reported = capsys.readouterr().out
    assert "$0.0900  Down" in reported
    assert "investigations cost $0.0900" in reported
    assert (reported.count("$0.0600"), reported.count("$0.0300")) == (1, 1)


async def test_an_incident_whose_model_has_no_price_does_not_cost_nothing(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, incident = story(tmp_path, "unheard-of"), str(uuid4())
    scenario = replace(scenario, chain=scenario.chain.model_copy(update={"executive_summary": None}))
    async with scenario.continued(database_url) as running, serving(running.services) as api:
        async with running.engine.begin() as connection:
            await connection.execute(sa.text(INCIDENT), {"id": incident})
        await running.services.repositories.sessions.insert(replace(scenario.session(), incident_id=incident))
        await running.pool.run_waiting(INVESTIGATION)
        detail = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}")).json()
        (listed,) = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert detail["cost"] == listed["cost"] == {"usd": None, "unpriced_calls": 1, "estimated_calls": 0}
    await to_thread.run_sync(partial(app, ["incidents", "list", "--database-url", database_url], standalone_mode=False))
    assert "$0.00" not in capsys.readouterr().out


async def test_a_cost_with_an_answer_that_was_cut_off_is_marked_as_an_estimate(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, incident = story(tmp_path, "model-1", texts=("Let me check the pods again. " * 400, "It is the disk.")), str(uuid4())
    async with scenario.continued(database_url) as running, serving(running.services) as api:
        async with running.engine.begin() as connection:
            await connection.execute(sa.text(INCIDENT), {"id": incident})
        await running.services.repositories.sessions.insert(replace(scenario.session(), incident_id=incident))
        await running.pool.run_waiting(INVESTIGATION)
        detail = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}")).json()
        trace = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}/trace")).json()["llm"]
        (listed,) = (await api.client.get("/api/v1/sessions")).json()["sessions"]
        (of_incident,) = (await api.client.get("/api/v1/incidents")).json()["incidents"]
        report = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}/report", params={"format": "md"})).text
    assert [call["turn"] for call in trace if call["usage_estimated"]] == [0]
    assert trace[0]["cost_usd"] > EACH
    assert detail["cost"] == listed["cost"] == of_incident["cost"]
    assert detail["cost"]["estimated_calls"] == 1
    assert "- Cost: ≈ $" in report
    await to_thread.run_sync(partial(app, ["sessions", "list", "--database-url", database_url], standalone_mode=False))
    assert "≈ $" in capsys.readouterr().out


async def test_an_answer_that_is_cut_off_in_its_thoughts_after_a_tool_call_is_estimated(database_url: str, tmp_path: Path) -> None:
    scenario = story(tmp_path, "model-1", texts=())
    track, loops = "0.look/1.Agent1", (calls("c", "k8s.pods"), thinks("Let me check the pods again. " * 400))
    played = replace(scenario, calls=[says(track, 0, *loops), says(track, 1, "It is the disk."), *scenario.calls])
    played = replace(played, llm=Played(in_process_client(env={}, recordings=lambda _: played.recording)))
    async with played.running(database_url) as running, serving(running.services) as api:
        await running.pool.run_waiting(INVESTIGATION)
        trace = (await api.client.get(f"/api/v1/sessions/{SESSION_ID}/trace")).json()["llm"]
    assert [call["turn"] for call in trace if call["usage_estimated"]] == [0]
    assert trace[0]["cost_usd"] > EACH


async def test_the_price_that_was_used_stays_with_the_call(database_url: str, tmp_path: Path) -> None:
    async with story(tmp_path, "model-1").running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        call = (await running.services.repositories.interactions.trace(SESSION_ID)).llm[0]
        stored = (await running.services.repositories.interactions.llm_call(SESSION_ID, call.id)).interaction
    assert stored.price is not None
    assert (stored.price.input, stored.price.output) == (1000, 4000)
    assert stored.cost_usd == call.cost_usd
