"""The way to the collector, for spans and for the metrics that the conventions ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.util.types import AttributeValue

from tarsy import __version__
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.exporters import exporters, seen_by_the_library
from tarsy.telemetry.traces.histograms import Instruments, MetricSender
from tarsy.telemetry.traces.ids import new_trace_id, span_id_of, trace_id_of
from tarsy.telemetry.traces.span import OpenSpan, Place, Sender
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


@dataclass(slots=True, kw_only=True)
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
        # All calls of an execution stand at the same place.
        self.below = lru_cache(maxsize=KNOWN_PARENTS)(self._below)

    def _below(self, session_id: str, noun_id: str | None) -> Place:
        """Below the span of a session, a stage or an execution, which is told of when it ends, perhaps by another process; None: the root."""
        if noun_id is None:
            return self._root(trace_id_of(session_id))
        root = self.below(session_id, None)
        return Place(root.trace_id, span_id_of(noun_id), root.flags, root.sender, is_remote=True)

    def below_caller(self, caller: SpanContext | None) -> Place:
        """Below the span that came with a request; without one, a trace of its own."""
        if caller is None:
            return self._root(new_trace_id())
        return Place(caller.trace_id, caller.span_id, caller.trace_flags, self._sender_of(caller.trace_flags), is_remote=True)

    def tell(self, noun: NounSpan) -> None:
        """The span of a noun that has ended."""
        OpenSpan(
            noun.name,
            self.below(noun.session_id, noun.parent_id),
            span_id_of(noun.noun_id),
            begun=nanoseconds(noun.begun),
            told={**noun.attributes, names.ERROR: noun.error} if noun.error else noun.attributes,
            events=[Event(one.name, one.attributes, nanoseconds(one.at)) for one in noun.events],
            error=noun.error,
        ).end(nanoseconds(noun.ended))

    def _root(self, trace_id: int) -> Place:
        """Whether a trace is sampled depends on its id alone: every process comes to the same answer."""
        decision = self._sampler.should_sample(None, trace_id, "session").decision
        flags = TraceFlags.SAMPLED if decision.is_sampled() else TraceFlags.DEFAULT
        return Place(trace_id, None, flags, self._sender_of(flags))

    def _sender_of(self, flags: int) -> Sender:
        return self._sender if flags & TraceFlags.SAMPLED else self._unsampled

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
