"""Folds a long tool result: lines that repeat are shown once, with their count, and what Kubernetes keeps for itself is left out.

A fold states exactly what it replaces, and the whole result stays readable with `read_result`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Fewer lines are read faster than a note about them.
FEWEST_ALIKE = 5
# Rows of a table that are shown for the others.
_ROWS_SHOWN = 3
# A longer run of one alphabet is data for machines: a key, a certificate, an image.
_LONGEST_BASE64 = 120
_SHOWN_BASE64 = 24
# Lines are compared by their beginning: two that agree that far are the same message.
_COMPARED = 400

# The borders of a certificate or a key. No text makes a pattern here slow: an attacker may be the author of a result.
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----$")
_END = re.compile(r"-----END [A-Z0-9 ]{1,40}-----")
_LONGEST_BORDER = 64
_BASE64 = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_LONGEST_BASE64},}}={{0,2}}")
# The variable parts of a message: times, ids, numbers.
_VARIABLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{21,27}\b"
    r"|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,}\b"
    # The end of a pod's name: the hash of its template, and its own.
    r"|-(?=[a-z]{0,9}\d)[a-z0-9]{6,10}-[a-z0-9]{5}\b"
    r"|\d+(?:[.,:]\d+)*"
)
_LONGEST_HEADER = 400
_COLUMN = re.compile(r"[A-Z(][A-Z0-9_()%/-]*(?: [A-Z0-9_()%/-]+)*")


# Fields of Kubernetes objects that say who last wrote which field, and the same object once more.
_BOOKKEEPING = r"(?:managedFields|kubectl\.kubernetes\.io/last-applied-configuration)"
_JSON_BOOKKEEPING = re.compile(rf'"(?P<name>{_BOOKKEEPING})"[ \t]{{0,8}}:[ \t]{{0,8}}(?=[\["])')
_YAML_BOOKKEEPING = re.compile(rf"(?P<indent> {{0,80}})(?P<name>{_BOOKKEEPING}):(?P<rest>.*)")
# Of a longer value, the end is not searched: no such field is that long.
_LONGEST_BOOKKEEPING = 500_000


@dataclass(frozen=True, slots=True)
class Folded:
    """A result with its repetitions folded, and how much of it is not shown."""

    text: str
    lines: int
    characters: int

    @property
    def is_folded(self) -> bool:
        return self.lines > 0 or self.characters > 0

    @property
    def pays(self) -> bool:
        """Whether folding saves a third: less is not worth the notices."""
        return self.characters * 2 >= len(self.text)


def fold(text: str) -> Folded:
    """Fold the lines of `text` that repeat, and leave out what no reader needs: managed fields, PEM bodies, long base64."""
    kept = "\n".join(_without_yaml_bookkeeping(_without_json_bookkeeping(text).split("\n")))
    lines = _BASE64.sub(_short_run, "\n".join(_without_pem_bodies(kept.split("\n")))).split("\n")
    groups = _groups(lines)
    shown: list[str] = []
    for number, line in enumerate(lines):
        group = groups.get(number)
        place = group.members.index(number) if group and number in group.members[: group.shown] else None
        if group is None or place is not None:
            shown.append(line)
        if group and place == group.shown - 1:
            left, last = len(group.members) - group.shown, lines[group.members[-1]].strip()
            shown.append(f"[{left} more lines like this one are folded; the last: {last}]")
    folded = "\n".join(shown)
    return Folded(folded, max(text.count("\n") - folded.count("\n"), 0), max(len(text) - len(folded), 0))


@dataclass(frozen=True, slots=True)
class _Group:
    """The numbers of lines that are alike; the first `shown` of them are kept."""

    members: Sequence[int]
    shown: int


# Columns that differ from row to row without saying whether anything is wrong.
_NAMING = frozenset(
    {"NAMESPACE", "NAME", "POD", "OBJECT", "IP", "NODE", "AGE", "LAST SEEN", "FIRST SEEN", "LASTSEEN", "TIME", "COUNT", "NOMINATED NODE"}
)


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns of a table: their names and where they begin."""

    columns: Sequence[tuple[str, int]]

    @classmethod
    def under(cls, header: str) -> "_Table":
        return cls([(found[0], found.start()) for found in _COLUMN.finditer(header)])

    def key(self, row: str) -> tuple[str, int]:
        """Return what a row has in common with those that are alike, and how many of these are shown."""
        starts = [start for _, start in self.columns]
        names = [name for name, _ in self.columns]
        cells = {name: row[start:end].strip() for (name, start), end in zip(self.columns, (*starts[1:], len(row)), strict=True)}
        if {"TYPE", "REASON"} <= cells.keys():
            # Normal events are counted by reason. A warning is alike only if its message is, whatever pod it is about.
            is_normal = cells["TYPE"] == "Normal"
            return (
                f"Normal {cells['REASON']}" if is_normal else _template(" ".join(cells[name] for name in names if name not in _NAMING))
            ), 1
        if {"READY", "STATUS"} <= cells.keys() and re.fullmatch(r"(\d+)/\1", cells["READY"]):
            # Pods that are ready are alike if none of them, or each of them, was restarted.
            return f"{cells['STATUS']} {cells.get('RESTARTS', '').partition(' ')[0] not in {'', '0'}}", _ROWS_SHOWN
        # The first column of a row is its name: rows that differ only there are alike.
        return _template(" ".join(row.split()[1:])), _ROWS_SHOWN


def _template(line: str) -> str:
    return _VARIABLE.sub("#", line[:_COMPARED])


def _groups(lines: Sequence[str]) -> dict[int, _Group]:
    """Return the group of every line that belongs to one."""
    alike: dict[tuple[str, int], list[int]] = {}
    table: _Table | None = None
    for number, line in enumerate(lines):
        if is_table_header(line):
            table = _Table.under(line)
            continue
        table = table if "  " in line.strip() else None
        if line.strip():
            alike.setdefault(table.key(line[:_COMPARED]) if table else (_template(line), 1), []).append(number)
    return {
        number: group
        for (_, shown), members in alike.items()
        if len(members) >= FEWEST_ALIKE
        for group in [_Group(members, shown)]
        for number in members
    }


def is_table_header(line: str) -> bool:
    """Whether a line is the header of a table: column names in capital letters, two or more spaces apart."""
    names = re.split(r" {2,}", line.rstrip()) if "  " in line and len(line) <= _LONGEST_HEADER else []
    return len(names) > 1 and all(_COLUMN.fullmatch(name) for name in names)


def _without_json_bookkeeping(text: str) -> str:
    parts: list[str] = []
    position = 0
    while found := _JSON_BOOKKEEPING.search(text, position):
        value = text[found.end() : found.end() + _LONGEST_BOOKKEEPING]
        try:
            _, length = json.JSONDecoder().raw_decode(value)
        except (ValueError, RecursionError):
            # Cut off, or no JSON: from here on it is shown as it is. Nested in each other, thousands of such fields would take minutes.
            break
        shown = f'"[{length} characters of {found["name"]} are folded]"' if length > len(found["name"]) + 40 else value[:length]
        parts += (text[position : found.end()], shown)
        position = found.end() + length
    return "".join((*parts, text[position:]))


def _without_yaml_bookkeeping(lines: Sequence[str]) -> Iterator[str]:
    indent, name, skipped = -1, "", 0
    for line in lines:
        if indent >= 0:
            depth = len(line) - len(line.lstrip(" "))
            if depth > indent or (depth == indent and line[depth : depth + 2] == "- ") or not line.strip():
                skipped += 1
                continue
            yield f"{' ' * indent}[{skipped} lines of {name} are folded]"
            indent = -1
        found = _YAML_BOOKKEEPING.fullmatch(line)
        if found and found["rest"].strip() in {"", "|", "|-", ">", ">-"}:
            indent, name, skipped = len(found["indent"]), found["name"], 0
        else:
            yield line
    if indent >= 0:
        yield f"{' ' * indent}[{skipped} lines of {name} are folded]"


def _without_pem_bodies(lines: Sequence[str]) -> Iterator[str]:
    body: list[str] | None = None
    for line in lines:
        if body and _END.match(line.lstrip(" ")):
            yield f"[{len(body)} lines of encoded data are folded]"
            body = None
        elif body is not None and not line.startswith("-"):
            body.append(line)
            continue
        # Without its end, it is no encoded data.
        yield from body or ()
        yield line
        body = [] if _BEGIN.search(line.rstrip()[-_LONGEST_BORDER:]) else None
    yield from body or ()


def _short_run(found: re.Match[str]) -> str:
    run = found[0]
    # A path or a long name has words and separators; encoded data mixes cases and digits.
    if not (re.search(r"[A-Z]", run) and re.search(r"[a-z]", run) and re.search(r"\d", run)):
        return run
    return f"{run[:_SHOWN_BASE64]}[{len(run) - _SHOWN_BASE64} more characters of encoded data are folded]"
