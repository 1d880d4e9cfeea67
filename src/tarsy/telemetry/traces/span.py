"""A span as it is kept until it is sent, made without the locks, limits and copies of the SDK's tracer.

What the tracer adds is for spans that any code may write to from any thread. Ours are written by the one task that makes the call, with a
dozen attributes of our own choice, and cost a fraction of the tracer's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import time_ns

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event
from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue


@dataclass(frozen=True, slots=True)
class Sender:
    """Where all spans of a process come from, and what takes those that have ended."""

    origin: Resource
    send: Callable[["OpenSpan"], None]


class Place:
    """Where spans stand in a trace: below the span `parent_id`, or without one at its root. One for all calls of an execution."""

    __slots__ = ("after", "before", "flags", "is_remote", "parent_id", "sender", "trace_id")

    def __init__(self, trace_id: int, parent_id: int | None, flags: int, sender: Sender, *, is_remote: bool = False) -> None:
        self.trace_id = trace_id
        self.parent_id = parent_id
        self.flags = flags
        self.is_remote = is_remote
        self.sender = sender
        # What stands before and after a span's own id in the header `traceparent`.
        self.before, self.after = f"00-{trace_id:032x}-", f"-{flags:02x}"


@dataclass(slots=True, eq=False)
class OpenSpan:
    """A span that has begun. Times are nanoseconds since 1970."""

    name: str
    place: Place
    span_id: int
    kind: SpanKind = SpanKind.INTERNAL
    begun: int = field(default_factory=time_ns)
    # What it has in common with others, and what is told of it alone.
    common: tuple[tuple[str, str], ...] = ()
    told: Mapping[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    events: Sequence[Event] = ()
    # A kind of error: its words may hold what was said.
    error: str | None = None
    ended: int = 0

    @property
    def header(self) -> str:
        """The span as the header `traceparent` names it."""
        return f"{self.place.before}{self.span_id:016x}{self.place.after}"

    def end(self, at: int | None = None) -> None:
        self.ended = time_ns() if at is None else at
        self.place.sender.send(self)
