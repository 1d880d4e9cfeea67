"""The correction of an answer: its author sees the statements that failed, numbered, and returns replacements for those alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tarsy.agent.evidence.checker import UnsupportedClaim
from tarsy.agent.evidence.verdict import verdict_block, without_verdict

# A correction with more statements would not be worked through.
_MOST_STATEMENTS = 20
# A text that is shorter than this fraction of the answer is no whole answer.
SHORTEST_SHARE = 3
_REPLACEMENT = re.compile(r"^[ \t>*]*(\d{1,2}):(?!\d)[ \t]*(.*)$")
_WITHDRAWN = re.compile(r"[\W_]*withdrawn[\W_]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailedStatement:
    """A statement with failures: its place in the answer, and the complaints about it."""

    start: int
    end: int
    complaints: tuple[str, ...]


def failed_statements(failures: Sequence[UnsupportedClaim]) -> tuple[FailedStatement, ...]:
    """Return the statements that have failures, in the order of the answer. One inside another, such as an item of a list in it, is a part of that."""
    found: dict[tuple[int, int], list[str]] = {}
    newest = (0, 0)
    for span, complaint in sorted(((one.span, one.complaint) for one in failures if one.span), key=lambda one: one[0]):
        newest = newest if span[0] < newest[1] else span
        found.setdefault(newest, []).append(complaint)
    return tuple(FailedStatement(*span, tuple(dict.fromkeys(complaints))) for span, complaints in found.items())[:_MOST_STATEMENTS]


def patched(answer: str, statements: Sequence[FailedStatement], reply: str, verdict: str = "") -> str | None:
    """Return the answer with the statements that a reply replaces; None if the reply replaces nothing, or is a whole answer itself.

    `answer` is the text without its verdict block, which is given as `verdict`; a block in the reply takes its place.
    """
    new_verdict, text = verdict_block(reply), without_verdict(reply)
    replacements = _replacements(text, len(statements))
    if not replacements and (not new_verdict or len(text) * SHORTEST_SHARE >= len(answer)):
        return None
    parts: list[str] = []
    position = 0
    for number, one in enumerate(statements, 1):
        # The space after a sentence stays.
        end = one.start + len(answer[one.start : one.end].rstrip())
        parts += (answer[position : one.start], replacements.get(number, answer[one.start : end]))
        position = end
    text = _without_empty_items("".join((*parts, answer[position:])))
    return f"{text}\n\n{new_verdict or verdict}".rstrip()


def _replacements(reply: str, most: int) -> Mapping[int, str]:
    """Read a reply: a number, a colon and the new statement, on one or more lines."""
    found: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in reply.splitlines():
        begun = _REPLACEMENT.match(line)
        if begun and 1 <= int(begun[1]) <= most and int(begun[1]) not in found:
            current = found.setdefault(int(begun[1]), [begun[2]])
        elif current is not None:
            current.append(line)
    texts = {number: "\n".join(lines).strip() for number, lines in found.items()}
    return {number: "" if _WITHDRAWN.fullmatch(text) else text for number, text in texts.items()}


def _without_empty_items(text: str) -> str:
    """Remove the list markers, and the empty lines in tables, that a withdrawn statement leaves."""
    text = re.sub(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*(?:\n|\Z)", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<=\|)\n[ \t]*(?=\n[ \t]*\|)", "", text)
