"""A span as it is kept until it is sent, made without the locks, limits and copies of the SDK's tracer.

What the tracer adds is for spans that any code may write to from any thread. Ours are written by the one task that makes the call, with a
dozen attributes of our own choice, and cost a fraction of the tracer's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import time_ns

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event
from opentelemetry.trace import SpanContext, SpanKind
from opentelemetry.util.types import AttributeValue

from tarsy.telemetry.traces import conventions as names


@dataclass(frozen=True, slots=True)
class Sender:
    """Where all spans of a process come from, and what takes those that have ended."""

    origin: Resource
    send: Callable[["OpenSpan"], None]


@dataclass(slots=True, eq=False)
class OpenSpan:
    """A span that has begun. `told` may be written to until it has ended. Times are nanoseconds since 1970."""

    name: str
    trace_id: int
    span_id: int
    flags: int
    parent: SpanContext | None
    told: dict[str, AttributeValue]
    sender: Sender
    kind: SpanKind = SpanKind.INTERNAL
    begun: int = field(default_factory=time_ns)
    events: Sequence[Event] = ()
    error: str | None = None
    ended: int = 0

    @property
    def header(self) -> str:
        """The span as the header `traceparent` names it."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"

    def fail(self, error: str) -> None:
        """Mark the span as failed. `error` is a kind of error: its words may hold what was said."""
        self.error = self.told[names.ERROR] = error

    def end(self, at: int | None = None) -> None:
        self.ended = time_ns() if at is None else at
        self.sender.send(self)
