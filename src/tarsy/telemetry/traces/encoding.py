"""Spans as messages of OTLP: what the exporters' own encoder makes of them, at a tenth of its cost.

That one makes two messages for every attribute of every span. Nearly all attributes of a span stood in the one before: here their bytes
are kept, and a span is the bytes of its parts in a row.
"""

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, SpanFlags, Status
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanKind
from opentelemetry.util.types import AttributeValue

from tarsy import __version__
from tarsy.telemetry.traces.span import OpenSpan, Place

# The names and ids of the sessions that a process works on at the same time, and then some.
KNOWN_ATTRIBUTES = 4_096
KNOWN_NAMES = 512
KNOWN_PLACES = 1_024
KNOWN_ERRORS = 64

SCOPE = InstrumentationScope("tarsy", __version__)

# Of what is behind a field's number on the wire: a number of eight bytes, bytes with their length, a number of four bytes.
_FIXED64, _BYTES, _FIXED32 = 1, 2, 5


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    return _SMALL[number] if number < len(_SMALL) else bytes((number & 127 | 128,)) + _varint(number >> 7)


_SMALL = tuple(bytes((number,)) for number in range(128))


def _tag(name: str, wire: int) -> bytes:
    return _varint(Span.DESCRIPTOR.fields_by_name[name].number << 3 | wire)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


_SPAN = _varint(ScopeSpans.DESCRIPTOR.fields_by_name["spans"].number << 3 | _BYTES)
_SCOPE = _varint(ResourceSpans.DESCRIPTOR.fields_by_name["scope_spans"].number << 3 | _BYTES)
_RESOURCE = _varint(ExportTraceServiceRequest.DESCRIPTOR.fields_by_name["resource_spans"].number << 3 | _BYTES)
_VALUE = _varint(KeyValue.DESCRIPTOR.fields_by_name["value"].number << 3 | _BYTES)
_TEXT = _varint(AnyValue.DESCRIPTOR.fields_by_name["string_value"].number << 3 | _BYTES)
_NAME, _ATTRIBUTE, _EVENT, _STATUS = (_tag(name, _BYTES) for name in ("name", "attributes", "events", "status"))
_TRACE_ID = _tag("trace_id", _BYTES) + _varint(16)
_SPAN_ID = _tag("span_id", _BYTES) + _varint(8)
_PARENT_ID = _tag("parent_span_id", _BYTES) + _varint(8)
_KINDS = {kind: _tag("kind", 0) + _varint(Span.SpanKind.Value(f"SPAN_KIND_{kind.name}")) for kind in SpanKind}
(_BEGUN,), (_ENDED,) = _tag("start_time_unix_nano", _FIXED64), _tag("end_time_unix_nano", _FIXED64)
_times = Struct("<BQBQ").pack
_float = Struct("<d").pack
_IS_OWN = SpanFlags.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK
_IS_REMOTE = _IS_OWN | SpanFlags.SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK
_OWN_PARENT, _REMOTE_PARENT = (_tag("flags", _FIXED32) + flags.to_bytes(4, "little") for flags in (_IS_OWN, _IS_REMOTE))


def encoded(spans: Sequence[OpenSpan]) -> bytes:
    """One message of one process's spans: one resource, one scope, no links, nothing dropped."""
    # The library says where spans come from; they stand behind that, in its one scope.
    origin = encode_spans([ReadableSpan("", INVALID_SPAN_CONTEXT, resource=spans[0].place.sender.origin, instrumentation_scope=SCOPE)])
    resource = origin.resource_spans[0]
    scope = resource.scope_spans.pop()
    del scope.spans[:]
    all_spans = b"".join([_field(_SPAN, _span(span)) for span in spans])
    scoped = _field(_SCOPE, scope.SerializeToString() + all_spans)
    return _field(_RESOURCE, resource.SerializeToString() + scoped)


def _span(span: OpenSpan) -> bytes:
    parts = [
        _placed(span.place),
        _SPAN_ID,
        span.span_id.to_bytes(8),
        _times(_BEGUN, span.begun, _ENDED, span.ended),
        _named(span.name, span.kind, span.common),
        _status(span.error),
    ]
    parts += [_known(key, value) if isinstance(value, _SINGLE) else _measured_or_list(key, value) for key, value in span.told.items()]
    if span.events:
        parts += [_field(_EVENT, _event(one).SerializeToString()) for one in span.events]
    return b"".join(parts)


@lru_cache(KNOWN_PLACES)
def _placed(place: Place) -> bytes:
    trace = _TRACE_ID + place.trace_id.to_bytes(16)
    if place.parent_id is None:
        return trace + _OWN_PARENT
    return trace + _PARENT_ID + place.parent_id.to_bytes(8) + (_REMOTE_PARENT if place.is_remote else _OWN_PARENT)


@lru_cache(KNOWN_NAMES)
def _named(name: str, kind: SpanKind, common: tuple[tuple[str, str], ...]) -> bytes:
    return _field(_NAME, name.encode()) + _KINDS[kind] + b"".join(_attribute(key, value) for key, value in common)


def _event(event: Event) -> Span.Event:
    attributes = [_key_value(key, value) for key, value in (event.attributes or {}).items()]
    return Span.Event(name=event.name, time_unix_nano=event.timestamp, attributes=attributes)


@lru_cache(KNOWN_ERRORS)
def _status(error: str | None) -> bytes:
    status = Status() if error is None else Status(code=Status.STATUS_CODE_ERROR, message=error)
    return _field(_STATUS, status.SerializeToString())


def _measured_or_list(key: str, value: AttributeValue) -> bytes:
    """A measured time does not come again; a list of words does, and other lists cannot be told apart by comparing: (1,) equals (True,)."""
    if isinstance(value, float):
        return _before_float(key) + _float(value)
    return _known(key, value) if isinstance(value, tuple) and {str}.issuperset(map(type, value)) else _attribute(key, value)


@lru_cache(KNOWN_NAMES)
def _before_float(key: str) -> bytes:
    return _attribute(key, 0.0)[: -len(_float(0.0))]


def _attribute(key: str, value: AttributeValue) -> bytes:
    if isinstance(value, str):
        # Ids, which do not come again.
        return _field(_ATTRIBUTE, _key(key) + _field(_VALUE, _field(_TEXT, value.encode())))
    return _field(_ATTRIBUTE, _key_value(key, value).SerializeToString())


@lru_cache(KNOWN_NAMES)
def _key(key: str) -> bytes:
    return KeyValue(key=key).SerializeToString()


# What comes again.
_SINGLE = (str, int)
# By their types too: 1 equals True.
_known = lru_cache(KNOWN_ATTRIBUTES, typed=True)(_attribute)


def _key_value(key: str, value: AttributeValue) -> KeyValue:
    return KeyValue(key=key, value=_value(value))


def _value(value: AttributeValue) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case str():
            return AnyValue(string_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case tuple() | list():
            return AnyValue(array_value=ArrayValue(values=[_value(one) for one in value]))
        case _:
            raise TypeError(f"no attribute of ours is a {type(value).__name__}")
