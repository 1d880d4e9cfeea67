"""The way to the collector, for spans and for the metrics that the conventions ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.util.types import AttributeValue

from tarsy import __version__
from tarsy.telemetry.traces.exporters import exporters, seen_by_the_library
from tarsy.telemetry.traces.histograms import Instruments, MetricSender
from tarsy.telemetry.traces.ids import new_span_id, new_trace_id, span_id_of, trace_id_of
from tarsy.telemetry.traces.span import OpenSpan, Sender
from tarsy.telemetry.traces.span_sender import SpanExporter, SpanSender

# Of the sessions that a process works on at the same time, and then some.
KNOWN_PARENTS = 1_024

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

    def __init__(self, spans: SpanExporter | None, metrics: MetricExporter | None, env: Mapping[str, str]) -> None:
        origin = _origin()
        # It knows the sampler that the environment asks for; its spans are not for calls as many as ours.
        self._sampler = TracerProvider(resource=origin, shutdown_on_exit=False).sampler if spans else ALWAYS_OFF
        self._spans = SpanSender(spans, env) if spans else None
        self._unsampled = Sender(origin, _drop)
        self._sender = Sender(origin, self._spans.send) if self._spans else self._unsampled
        self.instruments = Instruments()
        self._metrics = MetricSender(metrics, self.instruments, origin, env) if metrics else None
        # Each call of an execution has the same parent.
        self.parent = lru_cache(maxsize=KNOWN_PARENTS)(self._parent)
        self._flags = lru_cache(maxsize=KNOWN_PARENTS)(self._decided)

    def _parent(self, session_id: str, noun_id: str) -> SpanContext:
        """The span of a session, a stage or an execution, which is told of when it ends, perhaps by another process: enough to be a parent."""
        return SpanContext(trace_id_of(session_id), span_id_of(noun_id), is_remote=True, trace_flags=self._flags(session_id))

    def begin(
        self, name: str, parent: SpanContext | None, told: dict[str, AttributeValue], *, kind: SpanKind = SpanKind.INTERNAL
    ) -> OpenSpan:
        """Begin the span of a call; it may be written to until it is ended. Without a parent it is a trace of its own."""
        trace_id = parent.trace_id if parent else new_trace_id()
        flags = parent.trace_flags if parent else self._sampled(trace_id)
        return OpenSpan(name, trace_id, new_span_id(), flags, parent, told, self._sender_of(flags), kind)

    def tell(self, noun: NounSpan) -> None:
        own = self.parent(noun.session_id, noun.noun_id)
        span = OpenSpan(
            noun.name,
            own.trace_id,
            own.span_id,
            own.trace_flags,
            self.parent(noun.session_id, noun.parent_id) if noun.parent_id else None,
            dict(noun.attributes),
            self._sender_of(own.trace_flags),
            begun=nanoseconds(noun.begun),
            events=[Event(one.name, one.attributes, nanoseconds(one.at)) for one in noun.events],
        )
        if noun.error:
            span.fail(noun.error)
        span.end(nanoseconds(noun.ended))

    def _sender_of(self, flags: TraceFlags) -> Sender:
        return self._sender if flags & TraceFlags.SAMPLED else self._unsampled

    def _decided(self, session_id: str) -> TraceFlags:
        """Whether the session's trace is sampled: every process comes to the same answer, for it depends on the trace's id alone."""
        return self._sampled(trace_id_of(session_id))

    def _sampled(self, trace_id: int) -> TraceFlags:
        decision = self._sampler.should_sample(None, trace_id, "session").decision
        return TraceFlags(TraceFlags.SAMPLED if decision.is_sampled() else TraceFlags.DEFAULT)

    def close(self) -> None:
        """Send what is left; may take seconds where the collector does not answer."""
        if self._spans:
            self._spans.close()
        if self._metrics:
            self._metrics.close()


def _drop(span: OpenSpan) -> None:
    """What becomes of spans that are not sampled."""
    del span


def nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1e9)


def tracing_to(env: Mapping[str, str]) -> Tracing:
    """Tracing to the collector that the environment names."""
    with seen_by_the_library(env):
        return Tracing(*exporters(env), env)


def _origin() -> Resource:
    """Where all spans of this process come from; what the environment says of it goes before what we do."""
    own = {"service.name": "tarsy", "service.version": __version__}
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})
