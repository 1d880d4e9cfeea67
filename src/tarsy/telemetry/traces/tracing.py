"""The way to the collector: a provider of spans and one of the metrics that the conventions ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from opentelemetry.context import Context
from opentelemetry.metrics import Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TraceFlags, set_span_in_context
from opentelemetry.util.types import AttributeValue

from tarsy import __version__
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.ids import NounIds, span_of, trace_id_of

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"

Attributes = Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    at: datetime
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class NounSpan:
    """What is told of a session, a stage or an execution that has ended. Without a parent it is the session, the root of its trace."""

    name: str
    session_id: str
    noun_id: str
    parent_id: str | None
    begun: datetime
    ended: datetime
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None


class Tracing:
    """Makes spans. All of a session are of one trace, in whichever process they are made."""

    def __init__(self, spans: SpanExporter, metrics: MetricExporter) -> None:
        resource = Resource.create({"service.name": "tarsy", "service.version": __version__})
        self._ids = NounIds()
        # Not the global one: two applications in one process each have their own.
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(spans))
        self._tracer = self._provider.get_tracer("tarsy", __version__)
        self._meters = MeterProvider([PeriodicExportingMetricReader(metrics)], resource=resource, shutdown_on_exit=False)
        self.instruments = Instruments(self._meters)

    def parent(self, session_id: str, noun_id: str) -> Context:
        """Below the span of a stage or an execution, which is told of when it ends."""
        return set_span_in_context(span_of(session_id, noun_id, self._flags(session_id)))

    def begin(self, name: str, parent: Context, attributes: Attributes, *, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        return self._tracer.start_span(name, parent, kind, attributes)

    def tell(self, noun: NounSpan) -> None:
        context = self.parent(noun.session_id, noun.parent_id) if noun.parent_id else Context()
        token = self._ids.noun.set((noun.session_id, noun.noun_id))
        try:
            span = self._tracer.start_span(noun.name, context, attributes=noun.attributes, start_time=nanoseconds(noun.begun))
        finally:
            self._ids.noun.reset(token)
        for event in noun.events:
            span.add_event(event.name, event.attributes, nanoseconds(event.at))
        if noun.error:
            fail(span, noun.error)
        span.end(nanoseconds(noun.ended))

    def _flags(self, session_id: str) -> TraceFlags:
        """Whether the session's trace is sampled: every process comes to the same answer, for it depends on the trace's id alone."""
        decision = self._provider.sampler.should_sample(None, trace_id_of(session_id), "session").decision
        return TraceFlags(TraceFlags.SAMPLED if decision.is_sampled() else TraceFlags.DEFAULT)

    def close(self) -> None:
        """Send what is left; may take seconds where the collector does not answer."""
        self._provider.shutdown()
        self._meters.shutdown()


class Instruments:
    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter("tarsy", __version__)

        def duration(name: str, told: str) -> Histogram:
            return meter.create_histogram(name, "s", told, explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS)

        self.operation = duration("gen_ai.client.operation.duration", "GenAI operation duration.")
        self.workflow = duration("gen_ai.workflow.duration", "Duration of sessions and stages.")
        self.agent = duration("gen_ai.invoke_agent.duration", "Duration of agent executions.")
        self.tool = duration("gen_ai.execute_tool.duration", "Duration of tool calls.")
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )


def nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e9)


def fail(span: Span, error: str) -> None:
    """Mark a span as failed. `error` is a kind of error: its words may hold what was said."""
    span.set_attribute(names.ERROR, error)
    span.set_status(Status(StatusCode.ERROR, error))


def tracing_to(env: Mapping[str, str]) -> Tracing:
    """Tracing to the collector that the environment names; the SDK reads the other OTEL_ variables itself."""
    endpoint = env[ENDPOINT]
    if env.get(PROTOCOL) == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import (  # noqa: PLC0415 - one of two transports
            OTLPMetricExporter as GrpcMetrics,
        )
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415 - one of two transports
            OTLPSpanExporter as GrpcSpans,
        )

        return Tracing(GrpcSpans(endpoint), GrpcMetrics(endpoint))
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - one of two transports
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - one of two transports

    base = endpoint.rstrip("/")
    return Tracing(OTLPSpanExporter(f"{base}/v1/traces"), OTLPMetricExporter(f"{base}/v1/metrics"))
