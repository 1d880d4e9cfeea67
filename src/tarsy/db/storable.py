"""Pure module: what PostgreSQL cannot store, replaced. Its text and JSON hold every character but NUL and half a surrogate pair."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

_SUBSTITUTE = "\ufffd"


def storable(text: str) -> str:
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", _SUBSTITUTE) if "\x00" in text else text


def storable_json(value: Any) -> Any:
    """A JSON value with every string storable, copied only as far as needed."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, Sequence):
        return [storable_json(item) for item in cast("Sequence[Any]", value)]
    return value
