"""Spans encoded here are the message that the library would make of them."""

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from tarsy.telemetry.traces.encoding import SCOPE, encoded
from tarsy.telemetry.traces.span import OpenSpan, Place, Sender

ORIGIN = Resource({"service.name": "tarsy", "host.cpus": 2}, "https://example.org/schema")
NANOSECONDS = st.integers(0, 2**63)
WORDS = st.text(max_size=5)
# Few and small, so that values which are equal and not of the same type meet: 1, True, 1.0.
SINGLE = st.one_of(st.booleans(), st.integers(-2, 2), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), WORDS)
LISTS = st.one_of(*(st.lists(one, max_size=3) for one in (st.booleans(), st.integers(-2, 2), st.floats(-2, 2), WORDS)))
VALUES: st.SearchStrategy[AttributeValue] = st.one_of(SINGLE, LISTS, LISTS.map(tuple))
ATTRIBUTES = st.dictionaries(st.sampled_from("abc"), VALUES)
TRACE_IDS = st.integers(1, 2**128 - 1)
SPAN_IDS = st.integers(1, 2**64 - 1)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
EVENTS = st.builds(Event, WORDS, ATTRIBUTES, NANOSECONDS)


@st.composite
def ended(draw: st.DrawFn) -> OpenSpan:
    taken: list[OpenSpan] = []
    place = Place(draw(TRACE_IDS), draw(st.none() | SPAN_IDS), SAMPLED, Sender(ORIGIN, taken.append), is_remote=draw(st.booleans()))
    span = OpenSpan(
        draw(WORDS),
        place,
        draw(SPAN_IDS),
        draw(st.sampled_from(SpanKind)),
        begun=draw(NANOSECONDS),
        common=tuple(draw(st.dictionaries(st.sampled_from("xyz"), WORDS)).items()),
        told=draw(ATTRIBUTES),
        events=draw(st.lists(EVENTS, max_size=2)),
        error=draw(st.none() | WORDS.filter(bool)),
    )
    span.end(draw(NANOSECONDS))
    return taken[0]


def readable(span: OpenSpan) -> ReadableSpan:
    """The span as the SDK's own tracer would have made it."""
    place = span.place
    return ReadableSpan(
        span.name,
        SpanContext(place.trace_id, span.span_id, is_remote=False, trace_flags=SAMPLED),
        SpanContext(place.trace_id, place.parent_id, is_remote=place.is_remote, trace_flags=SAMPLED) if place.parent_id else None,
        ORIGIN,
        {**dict(span.common), **span.told},
        span.events,
        kind=span.kind,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=span.begun,
        end_time=span.ended,
        instrumentation_scope=SCOPE,
    )


@given(st.lists(ended(), min_size=1, max_size=5))
def test_a_batch_is_encoded_as_the_library_does(spans: list[OpenSpan]) -> None:
    assert ExportTraceServiceRequest.FromString(encoded(spans)) == encode_spans([readable(span) for span in spans])
