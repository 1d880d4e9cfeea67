"""Ids of traces and spans. A session's id is its trace's id, whichever process works on it: a resumed session continues its trace."""

from random import getrandbits

_LOW_64_BITS = (1 << 64) - 1


def trace_id_of(session_id: str) -> int:
    return int(session_id.replace("-", ""), 16)


def span_id_of(noun_id: str) -> int:
    """The span of a session, a stage or an execution: its id's random half."""
    return trace_id_of(noun_id) & _LOW_64_BITS


def new_span_id() -> int:
    """The span of a call. Zero is no id."""
    return getrandbits(64) or 1


def new_trace_id() -> int:
    """The trace of a call that belongs to none."""
    return getrandbits(128) or 1
