"""What switches tracing on and off, and which sessions it follows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.execution import AgentExecution
from tarsy.domain.session import AlertSession
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step
from tarsy.llm.in_process import in_process_client
from tarsy.telemetry.traced_calls import traced_models
from tarsy.telemetry.traced_runs import RunSpans
from tarsy.telemetry.tracing import Tracing, is_traced

COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
NONE = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "None"}
OFF = [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, COLLECTOR | {"OTEL_SDK_DISABLED": "True"}, COLLECTOR | NONE]


NO_ENDPOINT_FOR_SPANS = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4318/v1/metrics", "OTEL_METRICS_EXPORTER": "console"}


@pytest.mark.parametrize("env", [*OFF, NO_ENDPOINT_FOR_SPANS])
async def test_where_it_is_off_the_models_of_the_llm_service_stay_as_they_are(env: dict[str, str]) -> None:
    assert not is_traced(env)
    models = in_process_client(env={})
    assert traced_models(models, env) is models
    await models.aclose()


@pytest.mark.parametrize(
    "answered", [{}, {"OTEL_SDK_DISABLED": "false"}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_TRACES_EXPORTER": "otlp"}]
)
def test_a_collector_that_is_named_is_sent_to(answered: dict[str, str]) -> None:
    assert is_traced(COLLECTOR | answered)


def test_the_loss_of_a_claim_leaves_the_spans_of_a_session_that_the_same_process_has_claimed_again() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    session = AlertSession(
        id="s",
        alert_data="",
        alert_type="test",
        chain_id="chain",
        chain_snapshot={},
        author="ada",
        nonce="",
        created_at=at,
        status=SessionStatus.IN_PROGRESS,
    )
    execution = AgentExecution(
        id="e",
        session_id="s",
        stage_id="st",
        agent_name="Investigator",
        agent_index=1,
        llm_backend="langchain",
        llm_provider="one",
        model_name="m",
        tool_calling="native",
        status=RunStatus.ACTIVE,
        started_at=at,
    )
    lost = Claim(INVESTIGATION, "w", "s", "first", "s")
    again = replace(lost, token="second")
    spans = RunSpans(Tracing(NONE))
    spans.claimed(lost, session)
    spans.claimed(again, session)
    spans.committed(Step(claim=again, executions=(execution,)))
    spans.released(lost)
    assert spans.session_of("e") == "s"
    spans.released(again)
    assert spans.session_of("e") is None
