"""Ids of traces and spans. A session's id is its trace's id, whichever process works on it: a resumed session continues its trace."""

from contextvars import ContextVar
from uuid import UUID

from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

_LOW_64_BITS = (1 << 64) - 1


def trace_id_of(session_id: str) -> int:
    return UUID(session_id).int


def span_id_of(noun_id: str) -> int:
    """The span of a session, a stage or an execution: its id's random half."""
    return UUID(noun_id).int & _LOW_64_BITS


def span_of(session_id: str, noun_id: str, flags: TraceFlags) -> NonRecordingSpan:
    """A span that is told of when its noun ends, perhaps by another process: enough to be a parent."""
    return NonRecordingSpan(SpanContext(trace_id_of(session_id), span_id_of(noun_id), is_remote=True, trace_flags=flags))


class NounIds(IdGenerator):
    """Random ids, except for the span that is being made for a noun."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        # The session and the noun, which are the same for a session's own span.
        self.noun: ContextVar[tuple[str, str] | None] = ContextVar("noun", default=None)

    def generate_span_id(self) -> int:
        noun = self.noun.get()
        return span_id_of(noun[1]) if noun else self._random.generate_span_id()

    def generate_trace_id(self) -> int:
        noun = self.noun.get()
        return trace_id_of(noun[0]) if noun else self._random.generate_trace_id()
