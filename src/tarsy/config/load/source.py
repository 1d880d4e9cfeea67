"""YAML files with the line of every key, and joining a configuration that is split over several files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tarsy.config.parsed_data import as_list, as_mapping
from tarsy.config.problems import KeyPath, Problem, dotted
from tarsy.kit.yaml_limits import YamlLimitError, check_yaml

_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"


class Location(NamedTuple):
    """A line of a file; line 0: the file does not contain it."""

    file: str
    line: int


@dataclass(slots=True)
class Source:
    """One file, or several joined: the data, the location of each part, and the problems of the text itself."""

    file: str
    data: Any = None
    locations: dict[KeyPath, Location] = field(default_factory=dict[KeyPath, Location])
    problems: list[Problem] = field(default_factory=list[Problem])

    def location_of(self, path: KeyPath) -> Location:
        """Return the location of `path`, or of the nearest part around it that is in the file."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.locations:
                return self.locations[path[:length]]
        return Location(self.file, 0)

    def holds(self, path: KeyPath) -> bool:
        return path in self.locations

    def problem(self, path: KeyPath, message: str, remedy: str = "") -> Problem:
        return Problem(*self.location_of(path), dotted(path), message, remedy)


def read_source(path: Path) -> Source:
    """Read a file. If it cannot be read or parsed, the source has problems and no data."""
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
    try:
        check_yaml(text)
    except YamlLimitError as error:
        source.problems.append(Problem(source.file, 0, "", f"this YAML cannot be used: {error}"))
        return source
    except yaml.YAMLError:
        # Reported below, with its line.
        pass
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is not None:
            source.data = _Reader(loader, source).item(node, (), frozenset())
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
    """Turns YAML nodes into data, and records the location of each key and item in the source."""

    def __init__(self, loader: yaml.CSafeLoader, source: Source) -> None:
        self._loader = loader
        self._source = source

    def item(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Any:
        self._source.locations.setdefault(path, self._location(node))
        return self._value(node, path, around)

    def _value(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if self._contains_itself(node, path, around):
            return None
        within = around | {id(node)}
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path, within)
            case yaml.SequenceNode():
                return [self.item(item, (*path, index), within) for index, item in enumerate(node.value)]
            case _:
                return None

    def _contains_itself(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> bool:
        if id(node) in around:
            self._source.problems.append(self._source.problem(path, "this alias contains itself"))
        return id(node) in around

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, around: frozenset[int]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                merged |= self._merged(value_node, path, around)
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.start_mark)
            here = (*path, key)
            place = self._location(key_node)
            if key in entries:
                first = self._source.locations[here].line
                message = f'the key "{key}" occurs twice (first in line {first})'
                self._source.problems.append(Problem(*place, dotted(here), message, "keep one of the two"))
                continue
            self._source.locations[here] = place
            entries[key] = self._value(value_node, here, around)
        return {**merged, **entries}

    def _location(self, node: yaml.Node) -> Location:
        return Location(self._source.file, node.start_mark.line + 1)

    def _merged(self, node: yaml.Node, path: KeyPath, around: frozenset[int]) -> Mapping[str, Any]:
        if self._contains_itself(node, path, around):
            return {}
        within = around | {id(node)}
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path, within)
            case yaml.SequenceNode():
                merged: dict[str, Any] = {}
                for item in reversed(node.value):
                    merged |= self._merged(item, path, within)
                return merged
            case _:
                return {}

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        """Return a number or a switch only if it would be written the same way again, and else the text.

        So `010`, `1_000`, `12:30` and `no` are texts where a text is expected.
        """
        if node.tag == _TEXT:
            return node.value
        try:
            value = self._loader.construct_object(node)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped in the stubs
            as_written = str(value) == node.value  # pyright: ignore[reportUnknownArgumentType] - as above
        except (ValueError, LookupError, AttributeError):
            # It looks like a date or a number, but is none, or is too long for Python: `2026-13-45`, `0x_`.
            return node.value
        match value:
            case None:
                return None
            case bool():
                return value if node.value in {"true", "false"} else node.value
            case int() | float():
                return value if as_written else node.value
            case _:
                return node.value


def join_sources(first: Source, further: Iterable[Source]) -> Source:
    """Join several sources into one; each part keeps the place where it is written."""
    whole = Source(first.file, dict(as_mapping(first.data) or {}), dict(first.locations), list(first.problems))
    for piece in further:
        whole.problems += piece.problems
        for key, value in (as_mapping(piece.data) or {}).items():
            mine = whole.data.get(key)
            if value is None or mine is None:
                _copy_locations(whole, piece, (key,))
                whole.data[key] = mine if value is None else value
            elif (entries := as_mapping(value)) is not None and as_mapping(mine) is not None:
                new = {name: entry for name, entry in entries.items() if name not in mine}
                whole.problems += [_duplicate(whole, piece, (key, name)) for name in entries if name not in new]
                for name in new:
                    _copy_locations(whole, piece, (key, name))
                whole.data[key] = {**mine, **new}
            elif (items := as_list(value)) is not None and as_list(mine) is not None:
                _copy_locations(whole, piece, (key,), moved_by=len(mine))
                whole.data[key] = [*mine, *items]
            else:
                whole.problems.append(_duplicate(whole, piece, (key,)))
    return whole


def _copy_locations(whole: Source, piece: Source, around: KeyPath, *, moved_by: int = 0) -> None:
    """Copy the locations of everything within `around`; the indexes of items of a list that is continued increase by `moved_by`."""
    for path, place in piece.locations.items():
        if path[: len(around)] == around:
            match path:
                case (section, int() as index, *rest):
                    whole.locations.setdefault((section, index + moved_by, *rest), place)
                case _:
                    whole.locations.setdefault(path, place)


def _duplicate(whole: Source, piece: Source, path: KeyPath) -> Problem:
    first = whole.location_of(path)
    return piece.problem(path, f"{dotted(path)} is already set in {first.file}:{first.line}", "keep one of the two")
