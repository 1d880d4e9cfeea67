"""Label values are bounded, and several processes of one server answer as one."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from support.scraped import value
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.step import Step
from tarsy.domain.tool import ServerHealth, ServerState
from tarsy.domain.usage import TokenUsage
from tarsy.telemetry.exposition import ProcessGauges
from tarsy.telemetry.measured_requests import CountedIntake
from tarsy.telemetry.measured_work import StepMetrics
from tarsy.telemetry.metrics import MOST_VALUES, OTHER, BoundedLabel, Metrics

WRITE = """
import sys
from tarsy.telemetry.exposition import exposition
from tarsy.telemetry.metrics import Metrics
metrics = Metrics()
metrics.sessions.submitted.labels("disk").inc(int(sys.argv[1]))
metrics.process.connections.set(int(sys.argv[1]))
metrics.sessions.wait.observe(1)
sys.stdout.buffer.write(exposition(metrics.registry))
"""


@given(st.lists(st.text(max_size=8), max_size=60))
def test_a_label_has_no_more_values_than_it_may(values: list[str]) -> None:
    label = BoundedLabel(most=5)
    shown = {label(value) for value in values}
    assert len(shown - {OTHER}) <= 5
    assert all(label(value) == value for value in list(dict.fromkeys(values))[:5])


def test_names_that_strangers_make_up_do_not_replace_those_of_senders() -> None:
    metrics = Metrics()
    counted = CountedIntake(metrics)
    for number in range(MOST_VALUES + 1):
        counted.count_refusal(f"invented-{number}", "missing")
    counted.count_alerts("alertmanager", "opened", 1)
    assert value(generate_latest(metrics.registry), "tarsy_alerts_total", source="alertmanager", action="opened") == 1


def test_processes_that_share_a_directory_are_one_endpoint(tmp_path: Path) -> None:
    def scrape(number: int) -> bytes:
        command = [sys.executable, "-P", "-c", WRITE, str(number)]
        return subprocess.run(command, env={"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}, capture_output=True, timeout=60, check=True).stdout

    scrape(2)
    reported = scrape(3)
    assert value(reported, "tarsy_sessions_submitted_total", alert_type="disk") == 5
    assert value(reported, "tarsy_session_wait_seconds_count") == 2
    assert value(reported, "tarsy_live_connections") == 5


def test_a_process_tells_of_its_connections_its_pool_and_its_tool_servers() -> None:
    metrics = Metrics()
    servers = [
        ServerHealth(name="up", transport="stdio", state=ServerState.CONNECTED),
        ServerHealth(name="down", transport="http", state=ServerState.FAILED),
        ServerHealth(name="new", transport="http"),
    ]
    gauges = ProcessGauges(metrics=metrics, version="1", connections=lambda: 3, pool=lambda: (2, 1), servers=lambda: servers)
    reported = gauges.scrape()
    assert value(reported, "tarsy_live_connections") == 3
    assert [value(reported, "tarsy_database_connections", state=state) for state in ("in_use", "idle")] == [2, 1]
    assert [value(reported, "tarsy_tool_server_up", server=one.name) for one in servers] == [1, 0, None]
    del servers[1]
    assert value(gauges.scrape(), "tarsy_tool_server_up", server="down") is None


def test_a_result_that_a_model_summarised_is_counted() -> None:
    metrics = Metrics()
    call = LLMInteraction(
        id="i",
        session_id="s",
        stage_id="t",
        execution_id="e",
        kind=LLMInteractionKind.SUMMARIZATION,
        track="0.look/1.A",
        turn=0,
        provider="p",
        model="m",
        request_hash="",
        message_count=0,
        request={},
        response=None,
        usage=TokenUsage(),
        error_code=None,
        error_message=None,
        started_at=datetime.now(UTC),
        duration_ms=5,
    )
    claim = Claim(id="w", kind=INVESTIGATION, subject_id="s", token="t", session="s")
    StepMetrics(metrics).count(Step(claim=claim, llm_interactions=(call,)))
    assert value(generate_latest(metrics.registry), "tarsy_tool_results_shortened_total", how="summarised") == 1
