"""Pure module: JSON that PostgreSQL cannot store, made storable.

Numbers too large for our JSON (64 bits) become text: tools name such limits in their schemas.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from tarsy.kit.text import storable

_INTEGERS = range(-(2**63), 2**64)


# As JSON spells the one character that can be written, and not be stored.
_NUL = b"\\u0000"


def json_text(value: Any) -> str:
    """A JSON value as text that PostgreSQL can store. Nearly all can be written as they are; what cannot, or should not, is made storable."""
    return as_stored(value)[1]


def as_stored(value: Any) -> tuple[Any, str]:
    """A JSON value as PostgreSQL can store it (nearly always itself, which its text tells sooner than looking at each part would), and that text."""
    text = _text(value)
    if _NUL in text:
        value = storable_json(value)
        text = orjson.dumps(value)
    return value, text.decode()


def _text(value: Any) -> bytes:
    """A value as JSON; what has none is told by a NUL."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return _NUL


def storable_json(value: Any) -> Any:
    """A JSON value with every string storable, copied only as far as needed."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence):
        return [storable_json(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, int) and value not in _INTEGERS:
        return str(value)
    return value
