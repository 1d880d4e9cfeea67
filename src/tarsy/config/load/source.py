"""Reading YAML with the line of every key, and joining a configuration that is split over several files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tarsy.config.parsed_data import listing, mapping
from tarsy.config.problems import KeyPath, Problem, dotted

_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"


class Place(NamedTuple):
    """Where something stands; line 0: the file does not hold it."""

    file: str
    line: int


@dataclass(slots=True)
class Source:
    """One file, or several that were put together: the data, where each part stands, and what was wrong with the text itself."""

    file: str
    data: Any = None
    places: dict[KeyPath, Place] = field(default_factory=dict[KeyPath, Place])
    problems: list[Problem] = field(default_factory=list[Problem])

    def place_of(self, path: KeyPath) -> Place:
        """The place of `path`, or of the nearest part around it that was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(self.file, 0)

    def holds(self, path: KeyPath) -> bool:
        return path in self.places

    def problem(self, path: KeyPath, message: str, cure: str = "") -> Problem:
        return Problem(*self.place_of(path), dotted(path), message, cure)


def read_source(path: Path) -> Source:
    """Read a file. Trouble with its text becomes problems, with empty data."""
    source = Source(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        source.problems.append(Problem(source.file, 0, "", f"cannot be read: {reason}"))
        return source
    return parse_source(source, text)


def parse_source(source: Source, text: str) -> Source:
    """Parse `text` into `source`."""
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is not None:
            source.data = _Reader(loader, source).read_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        source.problems.append(
            Problem(source.file, mark.line + 1 if mark else 0, "", f"this is not YAML: {error.problem or error.context}")
        )
    except yaml.YAMLError as error:
        source.problems.append(Problem(source.file, 0, "", f"this is not YAML: {error}"))
    finally:
        loader.dispose()
    return source


class _Reader:
    def __init__(self, loader: yaml.CSafeLoader, source: Source) -> None:
        self._loader = loader
        self._source = source

    def read_document(self, node: yaml.Node) -> Any:
        return self._item(node, (), frozenset())

    def read(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in around:
            self._source.problems.append(self._source.problem(path, "this alias contains itself"))
            return None
        within = around | {id(node)}
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path, within)
            case yaml.SequenceNode():
                return [self._item(item, (*path, index), within) for index, item in enumerate(node.value)]
            case _:
                return None

    def _item(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Any:
        self._source.places.setdefault(path, self._place(node))
        return self.read(node, path, around)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, around: frozenset[int]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged |= self._merged(value_node, path, around)
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.start_mark)
            here = (*path, key)
            place = self._place(key_node)
            if key in entries:
                first = self._source.places[here].line
                message = f'the key "{key}" stands here a second time (first in line {first})'
                self._source.problems.append(Problem(*place, dotted(here), message, "keep one of the two"))
                continue
            self._source.places[here] = place
            entries[key] = self.read(value_node, here, around)
        return {**merged, **entries}

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._source.file, node.start_mark.line + 1)

    def _merged(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Mapping[str, Any]:
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path, around)
            case yaml.SequenceNode():
                merged: dict[str, Any] = {}
                for item in reversed(node.value):
                    merged |= self._merged(item, path, around)
                return merged
            case _:
                return {}

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        """Take a value for a number or a switch only if it would be written the same way again.

        So `010`, `1_000`, `12:30` and `no` stay the texts they look like where a text is wanted.
        """
        if node.tag == _TEXT:
            return node.value
        try:
            value = self._loader.construct_object(node)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped in the stubs
        except (ValueError, LookupError, AttributeError):
            # It looks like a date or a number and is none: `2026-13-45`, `0x_`.
            return node.value
        match value:
            case None:
                return None
            case bool():
                return value if node.value in {"true", "false"} else node.value
            case int() | float():
                return value if str(value) == node.value else node.value
            case _:
                return node.value


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


def _keep_places(whole: Source, piece: Source, around: KeyPath, *, moved_by: int = 0) -> None:
    """Remember where everything within `around` stands; items of a list that was continued come `moved_by` places later."""
    for path, place in piece.places.items():
        if path[: len(around)] == around:
            whole.places.setdefault(_moved(path, moved_by), place)


def _moved(path: KeyPath, by: int) -> KeyPath:
    match path:
        case (section, int() as index, *rest):
            return (section, index + by, *rest)
        case _:
            return path


def _twice(whole: Source, piece: Source, path: KeyPath) -> Problem:
    first = whole.place_of(path)
    return piece.problem(path, f"{dotted(path)} is already set in {first.file}:{first.line}", "keep one of the two")
