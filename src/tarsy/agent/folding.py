"""Folding a large tool result in code, before any model shortens it: what repeats is shown once, with its count. Pure module.

Nothing is guessed: a fold says exactly what it stands for, and the whole result stays within reach of `read_result`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Fewer than this many alike are read faster than a sentence about them.
FEWEST_ALIKE = 5
# Rows of a table that stand for the others.
_ROWS_SHOWN = 3
# A longer run of one alphabet is data for machines: a key, a certificate, an image.
_LONGEST_BASE64 = 120
_SHOWN_BASE64 = 24
# Lines are compared by their beginning: two that agree that far are the same message.
_COMPARED = 400

# The borders of a certificate or a key. Every pattern here is one that no text can make slow: a result is whatever its author likes.
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----$")
_END = re.compile(r"-----END [A-Z0-9 ]{1,40}-----")
_LONGEST_BORDER = 64
_BASE64 = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_LONGEST_BASE64},}}={{0,2}}")
# What differs between two occurrences of one message: times, ids, numbers.
_VARIABLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{21,27}\b"
    r"|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,}\b"
    r"|\d+(?:[.,:]\d+)*"
)
_LONGEST_HEADER = 400
_COLUMN = re.compile(r"[A-Z(][A-Z0-9_()%/-]*(?: [A-Z0-9_()%/-]+)*")


@dataclass(frozen=True, slots=True)
class Folded:
    """A result with its repetitions folded; `lines` of the original are not shown."""

    text: str
    lines: int

    @property
    def is_folded(self) -> bool:
        return self.lines > 0


def fold(text: str) -> Folded:
    """Show once what repeats. The order of what is shown is that of its first occurrence."""
    plain = _without_bodies(text)
    lines = plain.split("\n")
    groups = _groups(lines)
    folded = "\n".join(shown for number, line in enumerate(lines) for shown in _shown(number, line, groups, lines))
    return Folded(folded, text.count("\n") - folded.count("\n")) if folded != text else Folded(text, 0)


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines that are alike, by their numbers; `shown` of them stand for the others."""

    members: Sequence[int]
    shown: int


def _groups(lines: Sequence[str]) -> dict[int, _Group]:
    """The group of every line that belongs to one."""
    alike: dict[tuple[bool, str], list[int]] = {}
    for number, line, in_table in _with_tables(lines):
        if line.strip():
            alike.setdefault((in_table, _template(line, in_table=in_table)), []).append(number)
    return {
        number: group
        for (in_table, _), members in alike.items()
        if len(members) >= FEWEST_ALIKE
        for group in [_Group(members, _ROWS_SHOWN if in_table else 1)]
        for number in members
    }


def _with_tables(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The lines with their numbers, and whether each is a row under a header of columns."""
    in_table = False
    for number, line in enumerate(lines):
        if is_table_header(line):
            in_table = True
            continue
        in_table = in_table and "  " in line.strip()
        yield number, line, in_table


def _template(line: str, *, in_table: bool) -> str:
    """What all lines of one kind have in common. A row's first column is its name: rows that differ only there are alike."""
    compared = line[:_COMPARED]
    if in_table:
        compared = " ".join(compared.split()[1:])
    return _VARIABLE.sub("#", compared)


def _shown(number: int, line: str, groups: dict[int, _Group], lines: Sequence[str]) -> list[str]:
    group = groups.get(number)
    if group is None:
        return [line]
    place = group.members.index(number) if number in group.members[: group.shown] else group.shown
    if place >= group.shown:
        return []
    if place < group.shown - 1:
        return [line]
    return [line, f"[{len(group.members) - group.shown} more lines like this one are folded; the last: {lines[group.members[-1]].strip()}]"]


def is_table_header(line: str) -> bool:
    """Whether a line is the first of a table: names of columns in capital letters, two or more spaces apart."""
    names = re.split(r" {2,}", line.rstrip()) if len(line) <= _LONGEST_HEADER else []
    return len(names) > 1 and all(_COLUMN.fullmatch(name) for name in names)


def _without_bodies(text: str) -> str:
    """Certificates and long encoded data, by their beginning and their size."""
    return _BASE64.sub(_short_run, "\n".join(_without_armour(text.split("\n"))))


def _without_armour(lines: Sequence[str]) -> Iterator[str]:
    body: list[str] | None = None
    for line in lines:
        if body and _END.match(line.lstrip(" ")):
            yield f"[{len(body)} lines of encoded data are folded]"
            body = None
        elif body is not None and not line.startswith("-"):
            body.append(line)
            continue
        # What was no armour after all is shown as it is.
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
