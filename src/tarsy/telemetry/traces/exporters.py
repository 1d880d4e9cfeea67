"""The way to the collector that the environment names. How it is reached is the library's; what is sent of spans is encoded here."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from tarsy.telemetry.switch import ENDPOINT, METRICS_EXPORTER, TRACES_EXPORTER, is_sent
from tarsy.telemetry.traces.encoding import encoded
from tarsy.telemetry.traces.span import OpenSpan
from tarsy.telemetry.traces.span_sender import SpanExporter

PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
METRICS_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"


class HttpSpans(OTLPSpanExporter):
    def export(self, spans: Sequence[OpenSpan]) -> SpanExportResult:  # pyright: ignore[reportIncompatibleMethodOverride] - of our own kind
        sent = self._client.export(encoded(spans))
        return SpanExportResult.SUCCESS if sent.success else SpanExportResult.FAILURE


def exporters(env: Mapping[str, str]) -> tuple[SpanExporter | None, MetricExporter | None]:
    """None for what the environment wants none of."""
    spans, metrics = _both(env)
    return spans if is_sent(env, TRACES_EXPORTER) else None, metrics if is_sent(env, METRICS_EXPORTER) else None


def _both(env: Mapping[str, str]) -> tuple[SpanExporter, MetricExporter]:
    endpoint = env[ENDPOINT]
    if env.get(PROTOCOL) == "grpc":
        from tarsy.telemetry.traces import grpc_exporters  # noqa: PLC0415 - one of two transports

        return grpc_exporters.exporters(env.get(TRACES_ENDPOINT) or endpoint, env.get(METRICS_ENDPOINT) or endpoint)
    base = endpoint.rstrip("/")
    return (
        HttpSpans(env.get(TRACES_ENDPOINT) or f"{base}/v1/traces"),
        OTLPMetricExporter(env.get(METRICS_ENDPOINT) or f"{base}/v1/metrics"),
    )


@contextmanager
def seen_by_the_library(env: Mapping[str, str]) -> Generator[None]:
    """The library reads the process's own environment while its parts are made; what a file `.env` adds is not there."""
    added = {name: value for name, value in env.items() if name.startswith("OTEL_") and name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
