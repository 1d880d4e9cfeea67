"""A storm of alerts on three replicas at once: one incident and one investigation for each problem, and every alert counted."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import anyio
import httpx
import pytest

from support.queue_ground import LONG, Ground
from support.tarsy_process import Served, served
from tarsy.domain.recording import RecordedCall, RecordedChunk, Recording

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(900 if LONG else 170)]

REPLICAS = 3
CONNECTIONS = 64 if LONG else 24
PROBLEMS = 40 if LONG else 4
ALERTS = 10_000 if LONG else 64
MEMBERS = 4
CONFIG = """
queue: {worker_count: 2, max_concurrent_sessions: 12, poll_interval: 1s, graceful_shutdown_timeout: 1s}
defaults: {llm_provider: recorded, alert_type: storm}
agents:
  Investigator: {description: answers at once}
agent_chains:
  storm:
    alert_types: [storm]
    stages:
      - {name: investigation, agents: [{name: Investigator}]}
routes:
  - {name: storm, group_by: [problem], group_wait: 1s}
"""
PROVIDERS = "llm_providers: {{recorded: {{type: replay, model: recorded, recording: {recording}}}}}"


def _recording() -> Recording:
    """A model that knows the answer without looking, and repeats it when more alerts arrive while it answers."""
    says = (RecordedChunk(text="The new release leaks connections; roll it back."),)
    reported = [("0.investigation/1.Investigator", turn) for turn in range(ALERTS // PROBLEMS)]
    calls = [*reported, ("1.executive summary/1.ExecSummaryAgent", 0)]
    return Recording(calls=tuple(RecordedCall(track=track, turn=turn, chunks=says) for track, turn in calls))


@pytest.fixture
def replicas(ground: Ground) -> Iterator[list[str]]:
    """The addresses of three servers on one database."""
    config = ground.directory / "config"
    config.mkdir()
    (config / "tarsy.yaml").write_text(CONFIG)
    (config / "recording.json").write_text(_recording().model_dump_json(exclude_none=True))
    (config / "llm-providers.yaml").write_text(PROVIDERS.format(recording=config / "recording.json"))
    with ExitStack() as stack:
        yield [stack.enter_context(_server(config, ground, number)).url for number in range(REPLICAS)]


def _server(config: Path, ground: Ground, number: int) -> AbstractContextManager[Served]:
    return served(
        ground.directory,
        "--config",
        str(config),
        env={"DATABASE_URL": ground.url},
        log=ground.directory / f"replica-{number}.log",
    )


def _body(number: int) -> str:
    """One notification: an alert of one of the problems."""
    problem, member = number % PROBLEMS, number // PROBLEMS % MEMBERS
    labels = {"alertname": f"Problem{problem}", "problem": str(problem), "pod": f"pod-{member}", "severity": "critical"}
    alert = {"status": "firing", "labels": labels, "fingerprint": f"{problem}-{member}", "startsAt": "2026-11-15T10:00:00Z"}
    return json.dumps({"groupKey": str(problem), "groupLabels": {}, "commonLabels": {}, "alerts": [alert]})


async def _storm(addresses: list[str]) -> list[int]:
    """Send everything; the statuses of the answers."""
    statuses, left = list[int](), iter(range(ALERTS))

    async def sender(client: httpx.AsyncClient, address: str) -> None:
        for number in left:
            answer = await client.post(f"{address}/api/v1/webhook/alertmanager", content=_body(number))
            statuses.append(answer.status_code)

    # Each sender has a connection of its own in the pool of this client.
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client, anyio.create_task_group() as tasks:
        for number in range(CONNECTIONS):
            tasks.start_soon(sender, client, addresses[number % len(addresses)])
    return statuses


async def test_a_storm_is_one_incident_and_one_investigation_for_each_problem(ground: Ground, replicas: list[str]) -> None:
    assert set(await _storm(replicas)) == {202}
    [reported] = await ground.fetch(
        "SELECT count(*) AS incidents, count(DISTINCT key) AS keys, sum(deliveries) AS deliveries, sum(firing) AS firing FROM incidents"
    )
    assert reported == {"incidents": PROBLEMS, "keys": PROBLEMS, "deliveries": ALERTS, "firing": PROBLEMS * MEMBERS}
    [counted] = await ground.fetch("SELECT sum(count) AS said, count(*) AS alerts FROM alerts")
    assert counted == {"said": ALERTS, "alerts": PROBLEMS * MEMBERS}
    [received] = await ground.fetch("SELECT sum(firing) AS n FROM incident_activity")
    assert received["n"] == ALERTS
    await ground.until("SELECT count(*) = $1 FROM alert_sessions WHERE status = 'completed'", PROBLEMS, within=300 if LONG else 90)
    [checked] = await ground.fetch("SELECT count(*) AS sessions, count(DISTINCT incident_id) AS incidents FROM alert_sessions")
    assert checked == {"sessions": PROBLEMS, "incidents": PROBLEMS}
