"""The W3C trace context of what is being done at the moment, for adapters that pass it on. None: nothing is traced."""

from contextvars import ContextVar

# As the header `traceparent` spells it.
traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


def trace_meta() -> dict[str, str]:
    """What the `_meta` of an MCP request says of its trace (SEP-414): nothing where nothing is traced."""
    header = traceparent.get()
    return {} if header is None else {"traceparent": header}
