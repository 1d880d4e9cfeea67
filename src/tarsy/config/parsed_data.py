"""Looking into parsed data of unknown shape: mappings and lists where they are, nothing where they are not."""

from typing import Any


def mapping(value: object) -> dict[str, Any] | None:
    """The value as a mapping with text keys, if it is one; the reader makes no others."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - the reader makes text keys only


def listing(value: object) -> list[Any] | None:
    """The value as a list, if it is one."""
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType] - items may be anything


def mapping_at(data: object, key: str) -> dict[str, Any]:
    """The mapping under `key`, or an empty one."""
    return mapping((mapping(data) or {}).get(key)) or {}


def listing_at(data: object, key: str) -> list[Any]:
    """The list under `key`, or an empty one."""
    return listing((mapping(data) or {}).get(key)) or []
