"""Spans encoded here are the message that the library would make of them."""

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from tarsy.telemetry.traces.encoding import SCOPE, encoded
from tarsy.telemetry.traces.span import OpenSpan, Sender

ORIGIN = Resource({"service.name": "tarsy", "host.cpus": 2}, "https://example.org/schema")
NANOSECONDS = st.integers(0, 2**63)
WORDS = st.text(max_size=5)
# Few and small, so that values which are equal and not of the same type meet: 1, True, 1.0.
SINGLE = st.one_of(st.booleans(), st.integers(-2, 2), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), WORDS)
LISTS = st.one_of(*(st.lists(one, max_size=3) for one in (st.booleans(), st.integers(-2, 2), st.floats(-2, 2), WORDS)))
VALUES: st.SearchStrategy[AttributeValue] = st.one_of(SINGLE, LISTS, LISTS.map(tuple))
ATTRIBUTES = st.dictionaries(st.sampled_from("abc"), VALUES)
CONTEXTS = st.builds(
    SpanContext, st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans(), st.just(TraceFlags(TraceFlags.SAMPLED))
)
EVENTS = st.builds(Event, WORDS, ATTRIBUTES, NANOSECONDS)


@st.composite
def ended(draw: st.DrawFn) -> OpenSpan:
    taken: list[OpenSpan] = []
    ids = draw(CONTEXTS)
    parent, kind = draw(st.none() | CONTEXTS), draw(st.sampled_from(SpanKind))
    begun, events = draw(NANOSECONDS), draw(st.lists(EVENTS, max_size=2))
    span = OpenSpan(
        draw(WORDS), ids.trace_id, ids.span_id, ids.trace_flags, parent, draw(ATTRIBUTES), Sender(ORIGIN, taken.append), kind, begun, events
    )
    if error := draw(st.none() | WORDS):
        span.fail(error)
    span.end(draw(NANOSECONDS))
    return taken[0]


def readable(span: OpenSpan) -> ReadableSpan:
    """The span as the SDK's own tracer would have made it."""
    return ReadableSpan(
        span.name,
        SpanContext(span.trace_id, span.span_id, is_remote=False, trace_flags=TraceFlags(span.flags)),
        span.parent,
        ORIGIN,
        span.told,
        span.events,
        kind=span.kind,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
        start_time=span.begun,
        end_time=span.ended,
        instrumentation_scope=SCOPE,
    )


@given(st.lists(ended(), min_size=1, max_size=5))
def test_a_batch_is_encoded_as_the_library_does(spans: list[OpenSpan]) -> None:
    assert encoded(spans) == encode_spans([readable(span) for span in spans])
