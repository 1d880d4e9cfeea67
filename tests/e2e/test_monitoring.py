"""The monitoring that comes along, against the real Prometheus: its rules, its dashboard, and a scrape of a running server."""

import json
import re
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from websockets.sync.client import connect

from support.paths import ROOT
from support.scraped import value
from support.tarsy_process import Served, served
from tarsy.telemetry.metrics import Metrics

pytestmark = pytest.mark.xdist_group("monitoring")

MONITORING = ROOT / "deploy" / "monitoring"
RULES = MONITORING / "tarsy.rules.yaml"
# Prometheus says where it listens, for whoever let the system choose.
LISTENING = re.compile(r'msg="Listening on" address=(\S+)')
OWN = re.compile(r"\btarsy_\w+")
SCRAPING = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - {{job_name: tarsy, static_configs: [{{targets: ["{target}"]}}]}}
"""


def promtool(*arguments: str | Path, stdin: bytes = b"") -> None:
    run = subprocess.run(["promtool", *map(str, arguments)], input=stdin, capture_output=True, timeout=60, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr).decode()


def dashboard_queries() -> list[str]:
    document: dict[str, Any] = json.loads((MONITORING / "tarsy-dashboard.json").read_text())
    return [target["expr"].replace("$__rate_interval", "5m") for panel in document["panels"] for target in panel.get("targets", ())]


def rule_queries() -> list[str]:
    return [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def own_names() -> set[str]:
    """Every name under which a metric of ours can be asked for."""
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    return {f"{family.name}{suffix}" for family in Metrics().registry.collect() for suffix in suffixes[family.type]}


def test_the_alert_rules_are_good_and_fire_when_they_should() -> None:
    promtool("check", "rules", RULES)
    promtool("test", "rules", MONITORING / "tarsy.rules.test.yaml")


def test_what_dashboard_and_rules_ask_for_is_there() -> None:
    queries = [*dashboard_queries(), *rule_queries()]
    assert [query for query in queries if not OWN.search(query)] == []
    assert {name for query in queries for name in OWN.findall(query)} - own_names() == set()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has investigated a sample, while a client followed the list."""
    with (
        served(tmp_path_factory.mktemp("server")) as running,
        running.client() as client,
        connect(running.url.replace("http", "ws", 1) + "/api/v1/ws") as live,
    ):
        live.send(json.dumps({"action": "subscribe", "channel": "sessions"}))
        until(lambda: json.loads(live.recv())["type"] == "subscription.confirmed")
        session_id = client.post("/api/v1/alerts", json=sample(client)).json()["session_id"]
        until(lambda: client.get(f"/api/v1/sessions/{session_id}").json()["status"] == "completed")
        client.get("/api/v1/no/such/thing/at-all")
        yield running


def sample(client: httpx.Client) -> dict[str, str]:
    first = client.get("/api/v1/samples").json()["samples"][0]
    return {"data": first["alert_data"], "alert_type": first["alert_type"]}


def until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def prometheus(directory: Path, target: str) -> Generator[httpx.Client]:
    """The real thing, with our rules, scraping a server."""
    config = directory / "prometheus.yaml"
    config.write_text(SCRAPING.format(rules=RULES, target=target))
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory / 'data'}", "--web.listen-address=127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            address = next(found[1] for line in process.stderr if (found := LISTENING.search(line)))
            with httpx.Client(base_url=f"http://{address}", timeout=30) as client:
                yield client
        finally:
            process.kill()


def asked(client: httpx.Client, query: str) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/query", params={"query": query}).json()
    assert answer["status"] == "success", (query, answer)
    return answer["data"]["result"]


def test_a_real_prometheus_scrapes_a_real_server(server: Served, tmp_path: Path) -> None:
    with prometheus(tmp_path, server.url.removeprefix("http://")) as client:
        until(lambda: asked(client, "tarsy_sessions_ended_total"))
        assert [one["value"][1] for one in asked(client, 'sum(tarsy_sessions_ended_total{status="completed"})')] == ["1"]
        assert [one["value"][1] for one in asked(client, "sum(tarsy_sessions_submitted_total)")] == ["1"]
        assert [one["value"][1] for one in asked(client, "sum(tarsy_alert_to_verdict_seconds_count)")] == ["1"]
        assert float(asked(client, "sum(tarsy_workers)")[0]["value"][1]) > 0
        assert float(asked(client, "sum(tarsy_event_lag_seconds_count)")[0]["value"][1]) > 0
        for query in (*dashboard_queries(), *rule_queries()):
            asked(client, query)
        rules = client.get("/api/v1/rules").json()["data"]["groups"][0]["rules"]
        assert {rule["health"] for rule in rules} <= {"ok", "unknown"}


def test_the_exposition_is_as_prometheus_wants_it(server: Served) -> None:
    with server.client() as client:
        promtool("check", "metrics", stdin=client.get("/metrics").content)


def test_an_invented_path_makes_no_series(server: Served) -> None:
    with server.client() as client:
        reported = client.get("/metrics").text
    assert "no/such/thing" not in reported
    assert 'route="/api/v1/alerts"' in reported
    assert 'route="/api/v1/sessions/{session_id}"' in reported


def test_requests_are_counted_and_timed_by_route(server: Served) -> None:
    with server.client() as client:
        reported = client.get("/metrics").content
    alerts = {"method": "POST", "route": "/api/v1/alerts"}
    assert value(reported, "tarsy_http_requests_total", **alerts, status="202") == 1
    assert value(reported, "tarsy_http_request_seconds_count", **alerts) == 1
