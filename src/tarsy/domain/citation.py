"""Citations: places in an analysis that name their evidence, and what checking them found. Pure module.

`[A7]` names a result, `[A7: "exact words"]` quotes it, `[A3, A7]` names several.
"""

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from enum import StrEnum
from operator import add

from tarsy.domain.evidence import ID_PATTERN

# A quotation longer than this is a copy, and reading it would cost more than it shows.
LONGEST_QUOTATION = 1_000
# An honest analysis has some dozens. What comes after is not read as a citation, so that no text can make checking slow.
MOST_CITATIONS = 500

_OPEN = re.compile(rf"\[(?={ID_PATTERN}\s*[\]:,;])")
_ONE = re.compile(rf"\s*({ID_PATTERN})\s*")
# The quotation ends at the quote that the citation goes on or ends after: results hold quotes themselves.
_QUOTED = re.compile(
    rf":\s*[\"“„«](.{{1,{LONGEST_QUOTATION}}}?)[\"”“»]\s*(?=\]|[,;]\s*{ID_PATTERN}\s*[\]:,;])",
    re.DOTALL,
)
_NEXT = re.compile(r"[,;]")
# Lines end where Markdown ends them, not at every character that Python takes for a line's end.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class CitationStatus(StrEnum):
    """The result of checking a citation; only a quotation that was found counts as verified."""

    QUOTE_FOUND = "quote_found"
    ID_ONLY = "id_only"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Citation:
    """One id at one place of a text, with the words it is said to hold. Offsets are of the whole bracket."""

    evidence_id: str
    quotation: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCitation:
    """A citation and its verification. `found_at` is where in the evidence the quotation stands, `nearest` the real line most like it."""

    citation: Citation
    status: CitationStatus
    reason: str = ""
    found_at: tuple[int, int] | None = None
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class CitationCounts:
    """What the citations of an analysis come to. `uncited` are statements of the chain of causes that cite nothing and are not called inferences."""

    cited: int = 0
    verified: int = 0
    id_only: int = 0
    failed: int = 0
    uncited: int = 0

    def __add__(self, other: "CitationCounts") -> "CitationCounts":
        return CitationCounts(*map(add, astuple(self), astuple(other)))


def citations(text: str) -> tuple[Citation, ...]:
    """Every citation in a text, in order; code blocks hold commands and output, not citations."""
    prose = without_code(text)
    found: list[Citation] = []
    position = 0
    for _ in range(MOST_CITATIONS):
        opened = _OPEN.search(prose, position)
        if opened is None:
            break
        entries, position = _entries(prose, opened.end())
        found += (Citation(evidence_id, quotation, opened.start(), position) for evidence_id, quotation in entries)
    return tuple(found[:MOST_CITATIONS])


def _entries(text: str, position: int) -> tuple[list[tuple[str, str | None]], int]:
    """The ids of one bracket with their quotations, and where the bracket ends; none if it turns out not to be a citation."""
    entries: list[tuple[str, str | None]] = []
    while one := _ONE.match(text, position):
        quoted = _QUOTED.match(text, one.end())
        entries.append((one[1], quoted[1] if quoted else None))
        position = quoted.end() if quoted else one.end()
        if text.startswith("]", position):
            return entries, position + 1
        if not _NEXT.match(text, position):
            break
        position += 1
    return [], position


def without_code(text: str) -> str:
    """The text with its code blocks blanked out, every offset unchanged."""
    if "```" not in text and "~~~" not in text:
        return text
    lines: list[str] = []
    for line, in_code in marked_lines(text):
        lines.append(" " * (len(line) - 1) + "\n" if in_code and line.endswith("\n") else " " * len(line) if in_code else line)
    return "".join(lines)


def marked_lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a Markdown text with their ends, each with whether it belongs to a fenced block."""
    fence = ""
    for line in _LINE.findall(text):
        if not fence:
            fence = fence_of(line)
            yield line, bool(fence)
        else:
            fence = "" if ends_block(line, fence) else fence
            yield line, True


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where the fenced blocks of a Markdown text stand, with their fences."""
    fence, start, position = "", 0, 0
    for line in _LINE.findall(text):
        if not fence:
            fence, start = fence_of(line), position
        elif ends_block(line, fence):
            fence = ""
            yield start, position + len(line)
        position += len(line)
    if fence:
        yield start, position


def open_fence(text: str) -> str:
    """The fence of the block that a text leaves open at its end; empty when it leaves none."""
    fence = ""
    for line in _LINE.findall(text):
        fence = ("" if ends_block(line, fence) else fence) if fence else fence_of(line)
    return fence


def ends_block(line: str, fence: str) -> bool:
    """Whether a line ends the block that a fence began: a fence of the same kind that is at least as long and says nothing more."""
    mark = fence_of(line)
    return bool(mark) and mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(mark[0])


def fence_of(line: str) -> str:
    """The back-ticks or tildes that make a line the border of a code block; empty when it is none."""
    stripped = line.lstrip(" ")
    if len(line) - len(stripped) > 3:
        return ""
    for character in "`~":
        length = len(stripped) - len(stripped.lstrip(character))
        if length >= 3:
            return character * length
    return ""
