"""The OpenTelemetry SDK of one process: providers, exporters and the ids of spans.

The OTEL_ variables have their standard meaning, with one exception: spans and metrics are exported only if their endpoint is set.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from importlib.metadata import entry_points
from typing import Any, Literal

import structlog
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context
from opentelemetry.util.types import AttributeValue

from tarsy import __version__
from tarsy.telemetry import conventions as names

log = structlog.get_logger(__name__)

Signal = Literal["TRACES", "METRICS"]
# The names of the SDK's exporters, by protocol. Each imports only its own encoding.
DEFAULT_PROTOCOL = "http/protobuf"
EXPORTERS = {"grpc": "otlp_proto_grpc", DEFAULT_PROTOCOL: "otlp_proto_http", "http/json": "otlp_json_http"}

# The trace and span id of the run whose span is being started.
_run_ids: ContextVar[tuple[int, int] | None] = ContextVar("run_ids", default=None)


def is_traced(env: Mapping[str, str]) -> bool:
    """Return whether a collector is configured and at least one of spans and metrics is exported to it."""
    if env.get(OTEL_SDK_DISABLED, "").strip().lower() == "true":
        return False
    return _is_exported(env, "TRACES") or _is_exported(env, "METRICS")


def _is_exported(env: Mapping[str, str], signal: Signal) -> bool:
    exporters = (env.get(f"OTEL_{signal}_EXPORTER") or "otlp").lower().split(",")
    return "otlp" in map(str.strip, exporters) and _setting(env, signal, "ENDPOINT") != ""


def _setting(env: Mapping[str, str], signal: Signal, name: str) -> str:
    """Return a setting of one signal, or else that of all signals."""
    return (env.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}") or env.get(f"OTEL_EXPORTER_OTLP_{name}") or "").strip()


class Tracing:
    """Starts spans and records the metrics of the conventions. All spans of a session are in one trace, in any process.

    The exporters run in threads: create it after the process has forked, and close it.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        with _visible_to_the_sdk(env):
            # What the environment says about the resource overrides our own attributes.
            own = {"service.name": "tarsy", "service.version": __version__}
            resource = Resource.create({**own, **OTELResourceDetector().detect().attributes})
            exports_spans = _is_exported(env, "TRACES")
            self._tracer_provider = TracerProvider(
                sampler=None if exports_spans else ALWAYS_OFF, resource=resource, id_generator=_RunIds(), shutdown_on_exit=False
            )
            if exports_spans:
                self._tracer_provider.add_span_processor(BatchSpanProcessor(_exporter(env, "TRACES")))
            readers = [PeriodicExportingMetricReader(_exporter(env, "METRICS"))] if _is_exported(env, "METRICS") else []
            self._meter_provider = MeterProvider(readers, resource, shutdown_on_exit=False)
        self.tracer = self._tracer_provider.get_tracer("tarsy", __version__)
        meter = self._meter_provider.get_meter("tarsy", __version__)
        self.operation_seconds = _duration(meter, "gen_ai.client.operation.duration", "GenAI operation duration.")
        self.workflow_seconds = _duration(meter, "gen_ai.workflow.duration", "Duration of sessions and stages.")
        self.agent_seconds = _duration(meter, "gen_ai.invoke_agent.duration", "Duration of agent executions.")
        self.tool_seconds = _duration(meter, "gen_ai.execute_tool.duration", "Duration of tool calls.")
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )

    def context_of(self, session_id: str, run_id: str) -> Context:
        """Return the context below a session, stage or execution, whose own span is exported when it ends, perhaps by another process."""
        trace_id = _trace_id(session_id)
        # The sampler decides by the trace id alone, so every process comes to the same decision.
        sampled = self._tracer_provider.sampler.should_sample(None, trace_id, "session").decision.is_sampled()
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        parent = SpanContext(trace_id, _span_id(run_id), is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(parent), Context())

    def start_run(
        self,
        name: str,
        attributes: Mapping[str, AttributeValue],
        *,
        session_id: str,
        run_id: str,
        parent_id: str | None,
        started_at: datetime,
    ) -> Span:
        """Start the span of a session, which has no parent, of a stage or of an execution; its ids are derived from theirs."""
        token = _run_ids.set((_trace_id(session_id), _span_id(run_id)))
        try:
            context = self.context_of(session_id, parent_id) if parent_id else Context()
            return self.tracer.start_span(name, context, attributes=attributes, start_time=nanoseconds(started_at))
        finally:
            _run_ids.reset(token)

    def close(self) -> None:
        """Export what is left; may take seconds where the collector does not answer."""
        self._tracer_provider.shutdown()
        self._meter_provider.shutdown()


def fail(span: Span, error: str | None) -> None:
    """Mark a span as failed. `error` is the kind of error, never its text, which may quote the conversation."""
    if error:
        span.set_attribute(names.ERROR, error)
        span.set_status(Status(StatusCode.ERROR, error))


def nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e9)


class _RunIds(RandomIdGenerator):
    """A session's id is the id of its trace, and the random half of a run's id is the id of its span: a resumed session continues its trace."""

    def generate_trace_id(self) -> int:
        ids = _run_ids.get()
        return ids[0] if ids else super().generate_trace_id()

    def generate_span_id(self) -> int:
        ids = _run_ids.get()
        return ids[1] if ids else super().generate_span_id()


def _trace_id(session_id: str) -> int:
    return int(session_id.replace("-", ""), 16)


def _span_id(run_id: str) -> int:
    return _trace_id(run_id) & ((1 << 64) - 1)


def _exporter(env: Mapping[str, str], signal: Signal) -> Any:
    """Load the exporter of the configured protocol as the SDK does, by its entry point: the others are not imported."""
    protocol = _setting(env, signal, "PROTOCOL").lower() or DEFAULT_PROTOCOL
    if protocol not in EXPORTERS:
        log.warning("telemetry.protocol.unknown", protocol=protocol, used=DEFAULT_PROTOCOL, known=", ".join(EXPORTERS))
        protocol = DEFAULT_PROTOCOL
    (found,) = entry_points(group=f"opentelemetry_{signal.lower()}_exporter", name=EXPORTERS[protocol])
    return found.load()()


def _duration(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(name, unit="s", description=description, explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS)


@contextmanager
def _visible_to_the_sdk(env: Mapping[str, str]) -> Generator[None]:
    """Show the SDK the OTEL_ variables of a `.env` file while its parts are created: it reads the environment of the process."""
    added = {name: value for name, value in env.items() if name.startswith("OTEL_") and name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
