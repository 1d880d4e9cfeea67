"""The same over gRPC. Loaded only where it is asked for: gRPC is large."""

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import MetricExporter

from tarsy.telemetry.traces.encoding import encoded
from tarsy.telemetry.traces.span import OpenSpan
from tarsy.telemetry.traces.span_sender import SpanExporter


class GrpcSpans(OTLPSpanExporter):
    def _translate_data(self, data: Sequence[OpenSpan]) -> ExportTraceServiceRequest:  # pyright: ignore[reportIncompatibleMethodOverride] - of our own kind
        return ExportTraceServiceRequest.FromString(encoded(data))


def exporters(spans: str, metrics: str) -> tuple[SpanExporter, MetricExporter]:
    return GrpcSpans(spans), OTLPMetricExporter(metrics)  # pyright: ignore[reportReturnType] - it takes what it can translate
