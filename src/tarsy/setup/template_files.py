"""Templates of configuration files, merged into files that a person has written. Nothing is written to disk here.

A merge changes nothing that the person wrote: entries that are missing are inserted where they belong, with the template's comments.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tarsy.config.file_names import TARSY_FILE
from tarsy.config.load.environment import piece_files
from tarsy.config.load.source import Source, parse_source, read_source
from tarsy.config.parsed_data import as_mapping

_COMMENT = re.compile(r"( *)#")


class CannotMergeError(Exception):
    """The file is not YAML, not a mapping, or has aliases where something is to be added; its author can act."""


@dataclass(frozen=True, slots=True)
class Merged:
    text: str
    # Paths such as `defaults.llm_provider`.
    added: tuple[str, ...]
    # Values of the file that differ from the template, as `path: value`.
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement of the text between two positions."""

    start: int
    end: int
    text: str
    # Its indentation: of several edits at the end of the file, the innermost comes first.
    column: int = 0


def merge(written: str, template: str, *, replaced: Collection[str] = ()) -> Merged:
    """Add to `written` the entries that only `template` has, and replace the values at the paths `replaced` by the template's.

    Raises:
        CannotMergeError: with the reason, or what to do.
    """
    # The last line must end, because something may be added after it.
    text = written if not written or written.endswith("\n") else f"{written}\n"
    mine = _mapping(text)
    if mine is None:
        return Merged(text + template, ("everything",), ())
    merging = _Merging(text, template, replaced)
    merging.merge(mine, _mapping(template) or MappingNode("", []), "")
    # From the end to the beginning, so that the positions of the others stay valid.
    for edit in sorted(merging.edits, key=lambda edit: (edit.start, -edit.column))[::-1]:
        text = text[: edit.start] + edit.text + text[edit.end :]
    if not merging.edits:
        return Merged(written, (), tuple(merging.kept))
    before, after = parse_source(Source(""), written), parse_source(Source(""), text)
    expected = _with(before.data or {}, parse_source(Source(""), template).data, merging.added)
    if after.data != expected or len(after.problems) > len(before.problems):
        # An alias has the position of its anchor, so that what is added behind it, or to it, would be elsewhere or in two places.
        places = ", ".join(merging.added)
        raise CannotMergeError(f"its anchors and aliases (&name, *name) leave no place for {places}; add that by hand, or write them out")
    return Merged(text, tuple(merging.added), tuple(merging.kept))


def _with(mine: Mapping[str, Any], template: Mapping[str, Any], added: Collection[str], place: str = "") -> Mapping[str, Any]:
    """Return a mapping with the values of the template at the paths `added`."""
    merged = dict(mine)
    for key, value in template.items():
        path = f"{place}{key}"
        if path in added:
            merged[key] = value
        elif (theirs := as_mapping(value)) is not None and (entries := as_mapping(merged.get(key))) is not None:
            merged[key] = _with(entries, theirs, added, f"{path}.")
    return merged


def without(template: str, entries: Collection[str]) -> str:
    """Return the template without some entries of its sections, such as `agents.Web`, and without sections that become empty."""
    # From the end to the beginning, so that the positions of the others stay valid.
    for key, section in reversed((_mapping(template) or MappingNode("", [])).value):
        named: list[tuple[Any, Node]] = section.value if isinstance(section, MappingNode) else []
        taken = [(name, value) for name, value in named if f"{key.value}.{name.value}" in entries]
        for name, value in reversed([(key, section)] if taken and len(taken) == len(named) else taken):
            template = template[: _start(template, name)] + template[_end(template, value, name.start_mark.column) :]
    return template


def _mapping(text: str) -> MappingNode | None:
    """Parse a text that is a mapping; None if it has only comments."""
    try:
        node: Any = yaml.SafeLoader(text).get_single_node()
    except yaml.YAMLError as error:
        raise CannotMergeError(" ".join(str(error).split())) from error
    if node is not None and not isinstance(node, MappingNode):
        raise CannotMergeError("it holds no mapping")
    return node


@dataclass(slots=True)
class _Merging:
    text: str
    template: str
    replaced: Collection[str]
    edits: list[_Edit] = field(default_factory=list[_Edit])
    added: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])

    def merge(self, mine: MappingNode, theirs: MappingNode, place: str) -> None:
        written = {key.value: (key, value) for key, value in _entries(mine)}
        for key, value in theirs.value:
            path = f"{place}{key.value}"
            if key.value not in written:
                self.edits.append(self._behind(mine, key, value))
                self.added.append(path)
            else:
                self._both(*written[key.value], (key, value), path, in_braces=bool(mine.flow_style))

    def _both(self, key: Node, mine: Node, template: tuple[Node, Node], path: str, *, in_braces: bool) -> None:
        """Merge two values of the same name; a value that is defined at an anchor is left alone."""
        value = template[1]
        is_empty = isinstance(mine, ScalarNode) and not mine.value and mine.style is None
        if isinstance(mine, MappingNode) and isinstance(value, MappingNode) and mine.start_mark.index > key.start_mark.index:
            self.merge(mine, value, f"{path}.")
        elif isinstance(value, MappingNode) and is_empty and not in_braces:
            at = self.text.find("\n", key.end_mark.index) + 1
            self.edits.append(_Edit(at, at, self._entry(*template, key.start_mark.column, headless=True), key.start_mark.column + 1))
            self.added.append(path)
        elif _value(mine) != _value(value) and path in self.replaced:
            literal = self.template[value.start_mark.index : value.end_mark.index].rstrip()
            self.edits.append(_Edit(mine.start_mark.index, mine.end_mark.index, literal))
            self.added.append(path)
        elif _value(mine) != _value(value):
            self.kept.append(f"{path}: {_value(mine)}")

    def _behind(self, mine: MappingNode, key: Node, value: Node) -> _Edit:
        """Insert the entry of the template at the end of a mapping: within its braces, or on lines of its own."""
        if mine.flow_style:
            inner = yaml.safe_dump({key.value: _value(value)}, default_flow_style=True, width=10_000).strip()[1:-1]
            at = mine.end_mark.index - 1
            first = not mine.value and all(edit.start != at for edit in self.edits)
            return _Edit(at, at, inner if first else f", {inner}")
        at = _end(self.text, mine, mine.start_mark.column - 1)
        column = mine.start_mark.column
        return _Edit(at, at, ("" if column else "\n") + self._entry(key, value, column), column)

    def _entry(self, key: Node, value: Node, column: int, *, headless: bool = False) -> str:
        """Return the lines of an entry in the template and the comments around it, moved to `column`; if headless, only those below its key."""
        start = self.template.find("\n", key.end_mark.index) + 1 if headless else _start(self.template, key)
        entry = self.template[start : _end(self.template, value, key.start_mark.column)]
        shift = column - key.start_mark.column
        lines = entry.splitlines(keepends=True)
        return "".join((" " * shift + line if shift > 0 else line[-shift:]) if line.strip() else line for line in lines)


def _entries(node: MappingNode) -> Iterator[tuple[Node, Node]]:
    """Yield the entries of a mapping, including those that it merges from another one (`<<`)."""
    for key, value in node.value:
        if key.value != "<<":
            yield key, value
            continue
        for other in value.value if isinstance(value, SequenceNode) else [value]:
            yield from _entries(other)


def _value(node: Node) -> Any:
    return yaml.SafeLoader("").construct_document(node)  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs


def _start(text: str, key: Node) -> int:
    """Return the position where an entry begins, including the comments directly above it."""
    lines = text[: key.start_mark.index].split("\n")[:-1]
    above = 0
    while above < len(lines) and _indent(lines[-1 - above]) == key.start_mark.column:
        above += 1
    return sum(len(line) + 1 for line in lines[: len(lines) - above])


def _end(text: str, node: Any, column: int) -> int:
    """Return the position where the lines of a node end, including comments below it that are indented more than `column`."""
    while not isinstance(node, ScalarNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, MappingNode) else last
    end = text.find("\n", len(text[: node.end_mark.index].rstrip())) + 1
    at = end
    while at < len(text):
        line = text[at : text.find("\n", at) + 1]
        indent = _indent(line)
        if line.strip() and (indent is None or indent <= column):
            break
        at += len(line)
        end = at if line.strip() else end
    return end


def _indent(line: str) -> int | None:
    """Return the indentation of a comment; None for any other line."""
    found = _COMMENT.match(line)
    return len(found[1]) if found else None


TEMPLATES = Path(__file__).parent / "templates"
# A `.env` file would be read by TARSy, so an example with empty keys gets another name.
_RENAMED = {"env.example": ".env.example"}


class CannotAddError(Exception):
    """An existing file cannot be added to; its author can act."""

    def __init__(self, path: Path, error: CannotMergeError) -> None:
        super().__init__(f"{path} cannot be extended: {error}. Nothing was written.")


@dataclass(frozen=True, slots=True)
class FileChange:
    path: Path
    # The new content, which may be secret.
    text: str = field(repr=False)
    # For people: what happens to the file.
    summary: str
    secret: bool = False

    @property
    def content(self) -> bytes:
        """The new content as bytes, with the line ends of the file that it replaces."""
        has_crlf = self.path.exists() and self.path.read_bytes().partition(b"\n")[0].endswith(b"\r")
        return (self.text.replace("\n", "\r\n") if has_crlf else self.text).encode()


def planned_files(
    template: str, directory: Path, filling: Mapping[str, str], *, replaced: Collection[str] = (), force: bool = False
) -> tuple[FileChange, ...]:
    """Return the files that a template adds to `directory`; the values at the paths `replaced` become the template's.

    Raises:
        CannotAddError: a file there cannot be merged with the template.
    """
    # Entries of the files in tarsy.d, such as `agents.Web`, and the file that has each.
    in_pieces: dict[str, Path] = {}
    for piece in piece_files(directory):
        in_pieces |= {f"{path[0]}.{path[1]}": piece for path in read_source(piece).locations if len(path) == 2}
    planned: list[FileChange] = []
    for file in sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file()):
        target = directory / _RENAMED.get(file.name, file.name)
        text, summary = filled(file.read_text(encoding="utf-8"), filling), [f"wrote {target}"]
        kept: dict[str, Path] = {}
        if target.name == TARSY_FILE:
            # An entry must not be in tarsy.yaml and in tarsy.d at the same time.
            kept = {entry: piece for entry, piece in in_pieces.items() if without(text, [entry]) != text}
            text = without(text, kept)
        if target.exists() and not force:
            text, summary = _added(target, text, replaced)
        planned.append(FileChange(target, text, "\n".join([*summary, *(f"  kept {entry} of {kept[entry]}" for entry in sorted(kept))])))
    return tuple(planned)


def filled(text: str, filling: Mapping[str, str]) -> str:
    """Replace placeholders by values, quoted as JSON strings, which are valid YAML for any content."""
    for place, value in filling.items():
        text = text.replace(place, f"{place.partition(':')[0]}: {json.dumps(value)}")
    return text


def local_model(url: str, model: str) -> Mapping[str, str]:
    """Return the values for the template `local-model`."""
    return {"base_url: URL": url, "model: MODEL": model}


def _added(target: Path, template: str, replaced: Collection[str]) -> tuple[str, list[str]]:
    """Return an existing file with the template merged into it, and lines about what was added and kept."""
    try:
        written = target.read_text(encoding="utf-8")
        if target.suffix != ".yaml":
            return written, [f"kept {target}"]
        merged = merge(written, template, replaced=replaced)
    except UnicodeDecodeError as error:
        raise CannotAddError(target, CannotMergeError("it is not UTF-8 text")) from error
    except CannotMergeError as error:
        raise CannotAddError(target, error) from error
    summary = (
        f"added to {target}: {', '.join(merged.added)}" if merged.added else f"kept {target}: it already has everything in the template"
    )
    return merged.text, [summary, *(f"  kept your {value}" for value in merged.kept)]
