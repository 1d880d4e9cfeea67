"""Citations: the places in an analysis that name their evidence, the result of checking them, and the code blocks in which none are read.

`[A7]` names a result, `[A7: "exact words"]` quotes it, `[A3, A7]` names several.
"""

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from enum import StrEnum
from operator import add

from tarsy.domain.evidence import ID_PATTERN

# A longer quotation is a copy, and checking it would cost more than it proves.
LONGEST_QUOTATION = 1_000
# An analysis has some dozens. Further ones are ignored, so that no text can make checking slow.
MOST_CITATIONS = 500

_OPEN = re.compile(rf"\[(?={ID_PATTERN}\s*[\]:,;])")
_ONE = re.compile(rf"\s*({ID_PATTERN})\s*")
# Results contain quotes themselves: a quotation ends at the quote after which the citation ends or the next id follows.
_QUOTED = re.compile(
    rf":\s*[\"“„«](.{{1,{LONGEST_QUOTATION}}}?)[\"”“»]\s*(?=\]|[,;]\s*{ID_PATTERN}\s*[\]:,;])",
    re.DOTALL,
)
# Markdown ends lines only at \n; str.splitlines knows further line ends.
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class CitationStatus(StrEnum):
    """The result of checking a citation; only a quotation that was found counts as verified."""

    QUOTE_FOUND = "quote_found"
    ID_ONLY = "id_only"
    FAILED = "failed"


class ClaimSeverity(StrEnum):
    """A failure is reported to the model for correction; a remark is only shown."""

    FAILURE = "failure"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Citation:
    """One evidence id at one place of a text, with the words quoted from it. `start` and `end` are those of the whole bracket."""

    evidence_id: str
    quotation: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCitation:
    """A citation and the result of its check: where in the evidence the quotation was found, or the line most similar to it (`nearest`)."""

    citation: Citation
    status: CitationStatus
    reason: str = ""
    found_at: tuple[int, int] | None = None
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class CitationCounts:
    """The citations of an analysis by result. `uncited` counts statements of the chain of causes that neither cite evidence nor are marked inferences."""

    cited: int = 0
    verified: int = 0
    id_only: int = 0
    failed: int = 0
    uncited: int = 0

    def __add__(self, other: "CitationCounts") -> "CitationCounts":
        return CitationCounts(*map(add, astuple(self), astuple(other)))

    def __str__(self) -> str:
        return f"{self.verified} quotation{'' if self.verified == 1 else 's'} verified, {self.failed} failed, {self.id_only} by id only"


def citations(text: str) -> tuple[Citation, ...]:
    """Return the citations of a text in order, without those in code blocks, which contain commands and output."""
    prose = without_code(text)
    found: list[Citation] = []
    position = 0
    for _ in range(MOST_CITATIONS):
        opened = _OPEN.search(prose, position)
        if opened is None:
            break
        position = opened.end()
        entries: list[tuple[str, str | None]] = []
        while one := _ONE.match(prose, position):
            quoted = _QUOTED.match(prose, one.end())
            entries.append((one[1], quoted[1] if quoted else None))
            position = quoted.end() if quoted else one.end()
            if prose.startswith("]", position):
                position += 1
                found += (Citation(evidence_id, quotation, opened.start(), position) for evidence_id, quotation in entries)
                break
            if prose[position : position + 1] not in {",", ";"}:
                # The bracket is no citation after all.
                break
            position += 1
    return tuple(found[:MOST_CITATIONS])


def without_code(text: str) -> str:
    """Return the text with its code blocks replaced by spaces, so that every offset stays the same."""
    if "```" not in text and "~~~" not in text:
        return text
    lines: list[str] = []
    for line, in_code in marked_lines(text):
        lines.append(" " * (len(line) - 1) + "\n" if in_code and line.endswith("\n") else " " * len(line) if in_code else line)
    return "".join(lines)


def marked_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a Markdown text with their line ends, each with whether it belongs to a fenced block."""
    fence = ""
    for line in _LINE.findall(text):
        if not fence:
            fence = fence_of(line)
            yield line, bool(fence)
        else:
            fence = "" if ends_block(line, fence) else fence
            yield line, True


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each fenced block of a Markdown text, fences included."""
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
    """Return the fence of the block that is still open at the end of a text, or an empty string."""
    fence = ""
    for line in _LINE.findall(text):
        fence = ("" if ends_block(line, fence) else fence) if fence else fence_of(line)
    return fence


def ends_block(line: str, fence: str) -> bool:
    """Return whether a line ends the block that `fence` began: a fence of the same kind, at least as long, with nothing after it."""
    mark = fence_of(line)
    return bool(mark) and mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(mark[0])


def fence_of(line: str) -> str:
    """Return the back-ticks or tildes that make a line the fence of a code block, or an empty string."""
    stripped = line.lstrip(" ")
    if len(line) - len(stripped) > 3:
        return ""
    for character in "`~":
        length = len(stripped) - len(stripped.lstrip(character))
        # Back-ticks again on the same line end a span of code, as in "```kubectl get pods``` shows it".
        if length >= 3 and not (character == "`" and "`" in stripped[length:]):
            return character * length
    return ""
