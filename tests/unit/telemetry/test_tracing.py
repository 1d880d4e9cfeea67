"""What switches tracing on and off."""

import pytest

from tarsy.llm.in_process import in_process_client
from tarsy.telemetry.traced_calls import traced_models
from tarsy.telemetry.tracing import is_traced

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
