"""Access to parsed YAML of unknown shape: mappings and lists, or nothing where there are none."""

from typing import Any


def as_mapping(value: object) -> dict[str, Any] | None:
    """Return the value if it is a mapping, else None; parsed YAML has text keys only."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - parsed YAML has text keys only


def as_list(value: object) -> list[Any] | None:
    """Return the value if it is a list, else None."""
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType] - items may be anything


def mapping_at(data: object, key: str) -> dict[str, Any]:
    """Return the mapping under `key`, or an empty one."""
    return as_mapping((as_mapping(data) or {}).get(key)) or {}


def list_at(data: object, key: str) -> list[Any]:
    """Return the list under `key`, or an empty one."""
    return as_list((as_mapping(data) or {}).get(key)) or []
