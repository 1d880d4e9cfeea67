"""Whether there is anything to trace for. Read before anything of OpenTelemetry is loaded."""

from collections.abc import Mapping

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
DISABLED = "OTEL_SDK_DISABLED"
TRACES_EXPORTER = "OTEL_TRACES_EXPORTER"
METRICS_EXPORTER = "OTEL_METRICS_EXPORTER"


def is_traced(env: Mapping[str, str]) -> bool:
    """Where a collector is named, and neither all of it is switched off nor each part."""
    if not env.get(ENDPOINT) or env.get(DISABLED, "").strip().lower() == "true":
        return False
    return is_sent(env, TRACES_EXPORTER) or is_sent(env, METRICS_EXPORTER)


def is_sent(env: Mapping[str, str], exporter: str) -> bool:
    return env.get(exporter, "").strip().lower() != "none"
