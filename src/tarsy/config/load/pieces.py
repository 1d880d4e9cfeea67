"""A configuration that is split over several files, put together as if it were one. Pure module.

A section may stand in several files, each of its entries in one only; lists at the top, where the order counts, continue
in the order of the files.
"""

from collections.abc import Iterable
from typing import Any

from tarsy.config.load.source import Source
from tarsy.config.parsed_data import listing, mapping
from tarsy.config.problems import Path, Problem, dotted


def put_together(first: Source, further: Iterable[Source]) -> Source:
    """One source out of several; each part keeps the place where it was written."""
    whole = Source(first.file, dict(mapping(first.data) or {}), dict(first.places), list(first.problems))
    for piece in further:
        whole.problems += piece.problems
        for key, value in (mapping(piece.data) or {}).items():
            whole.data[key] = _joined(whole, piece, key, value)
    return whole


def _joined(whole: Source, piece: Source, key: str, value: Any) -> Any:
    mine = whole.data.get(key)
    if value is None or mine is None:
        _keep_places(whole, piece, (key,))
        return mine if value is None else value
    if (entries := mapping(value)) is not None and mapping(mine) is not None:
        return {**mine, **_new_entries(whole, piece, key, entries)}
    if (items := listing(value)) is not None and listing(mine) is not None:
        _keep_places(whole, piece, (key,), moved_by=len(mine))
        return [*mine, *items]
    whole.problems.append(_twice(whole, piece, (key,)))
    return mine


def _new_entries(whole: Source, piece: Source, section: str, entries: dict[str, Any]) -> dict[str, Any]:
    new = {name: entry for name, entry in entries.items() if name not in whole.data[section]}
    whole.problems += [_twice(whole, piece, (section, name)) for name in entries if name not in new]
    for name in new:
        _keep_places(whole, piece, (section, name))
    return new


def _keep_places(whole: Source, piece: Source, around: Path, *, moved_by: int = 0) -> None:
    """Remember where everything within `around` stands; items of a list that was continued come `moved_by` places later."""
    for path, place in piece.places.items():
        if path[: len(around)] == around:
            whole.places.setdefault(_moved(path, moved_by), place)


def _moved(path: Path, by: int) -> Path:
    match path:
        case (section, int() as index, *rest):
            return (section, index + by, *rest)
        case _:
            return path


def _twice(whole: Source, piece: Source, path: Path) -> Problem:
    first = whole.place_of(path)
    return piece.problem(path, f"{dotted(path)} is already set in {first.file}:{first.line}", "keep one of the two")
