"""Filling in `{{.VAR}}` at load, in the values that are no secrets. Pure module.

What leads to a tool server or a model may be secret and is left for the moment of use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tarsy.config.parsed_data import listing, mapping
from tarsy.config.problems import Path
from tarsy.config.templates import expand, names_session, variables

_LATE_TRANSPORT_KEYS = frozenset({"command", "args", "env", "url", "bearer_token", "custom_headers", "session_cleanup_url"})


@dataclass(slots=True)
class Filled:
    """Parsed data with its values filled in, and what was wanting."""

    data: Any = None
    missing: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])
    session_ids: list[Path] = field(default_factory=list[Path])


def fill_in(data: Any, env: Mapping[str, str]) -> Filled:
    """Replace the templates of every value that is read at load."""
    filled = Filled()
    filled.data = _fill(data, (), env, filled)
    return filled


def _fill(value: Any, path: Path, env: Mapping[str, str], filled: Filled) -> Any:
    if _is_late(path):
        return value
    if (entries := mapping(value)) is not None:
        return {key: _fill(item, (*path, key), env, filled) for key, item in entries.items()}
    if (items := listing(value)) is not None:
        return [_fill(item, (*path, index), env, filled) for index, item in enumerate(items)]
    return _fill_text(value, path, env, filled) if isinstance(value, str) and "{{" in value else value


def _fill_text(value: str, path: Path, env: Mapping[str, str], filled: Filled) -> Any:
    if names_session(value):
        filled.session_ids.append(path)
        return value
    wanting = sorted(name for name in variables(value) if name not in env)
    filled.missing.extend((path, name) for name in wanting)
    return value if wanting else _number_again(expand(value, env), whole=value.startswith("{{") and value.endswith("}}"))


def _number_again(text: str, *, whole: bool) -> str | int:
    """A variable that is the whole value of a number's key gives the number."""
    return int(text) if whole and text.isascii() and text.isdecimal() and str(int(text)) == text else text


def _is_late(path: Path) -> bool:
    match path:
        case ("mcp_servers", _, "transport", str() as key):
            return key in _LATE_TRANSPORT_KEYS
        case ("llm_providers", _, "base_url"):
            return True
        case _:
            return False
