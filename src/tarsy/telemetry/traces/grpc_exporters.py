"""The same over gRPC. Loaded only where it is asked for: gRPC is large."""

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.trace.export import SpanExporter


def exporters(spans: str, metrics: str) -> tuple[SpanExporter, MetricExporter]:
    return OTLPSpanExporter(spans), OTLPMetricExporter(metrics)
