"""The W3C trace context of what is being done at the moment, for adapters that pass it on. None: nothing is traced."""

from contextvars import ContextVar

# As the header `traceparent` spells it.
traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
