"""Finds quotations in a result: white space, quotation marks and escapes are normalised, nothing else."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from tarsy.agent.folding import is_table_header

# Shorter texts occur by chance.
SHORTEST_QUOTATION = 12

# Typographic quotes, double and single ones and primes, all as the plain mark.
_QUOTES = "'\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u2018\u2019\u201a\u201b\u2032"
_MARKS = str.maketrans({**dict.fromkeys(_QUOTES, '"'), "\u2026": "..."})
_ESCAPED = re.compile(r"\\+([\"'])")
_WORD = re.compile(r"\S+")
# The line that a wrong quotation may have meant is searched by its longest words, the rarest first, among this many occurrences.
_MOST_WORDS = 16
_MOST_PLACES = 200
_LONGEST_LINE = 300
# Of a longer line, the part around the word is compared and shown.
_BEFORE = 100
_TOKEN = re.compile(r"\w+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")
_LOG_LINE = re.compile(rf"\s*[\[{{\"]?(?:{_TIME.pattern}|[A-Z][a-z]{{2}} +\d{{1,2}} \d\d:\d\d:\d\d|[IWEF]\d{{4}} \d\d:)|\s*\{{.*\}}\s*$")
# A value that masking replaced, and the same with its key, as in `password: …` and in the row `cart  DB_PASSWORD  …` of a table.
_MASK = re.compile(r"\[MASKED_[A-Z0-9_]+(?: ~\w+)?\]")
_MASKED_FIELD = re.compile(
    rf"(?<![\w.-])(?:[\w.-]{{1,100}}[\"']?\s{{0,8}}[=:]\s{{0,8}}[\"']?|[A-Z][A-Z0-9_]{{2,100}}\s{{1,80}})?{_MASK.pattern}"
)
_SAME = re.compile(r"\b(?:same|equal|identical|match|share)", re.IGNORECASE)
_DIFFERENT = re.compile(r"\b(?:differ|different|other than|unlike|mismatch|not the same|not equal|not match)", re.IGNORECASE)
# "Do not differ", "no difference": the same.
_NOT_DIFFERENT = re.compile(r"\b(?:not|no|n't|never|without)\s+(?:\w+\s+)?(?:differ|mismatch)\w*", re.IGNORECASE)
_SAYING = re.compile(r"[^\W\d_]{2,}")


def normalised(text: str) -> str:
    return " ".join(_ESCAPED.sub(r"\1", text.translate(_MARKS)).split())


def says_something(words: str) -> bool:
    """Whether a quotation is long enough, and more than numbers, times and masked values."""
    rest, is_masked = normalised(_MASKED_FIELD.sub(" ", words)), "[MASKED_" in words
    if is_masked and " " not in rest:
        # Only whose value it is.
        return False
    return len(rest) >= SHORTEST_QUOTATION and _SAYING.search(_TIME.sub(" ", rest)) is not None


def masks(words: str) -> tuple[str, ...]:
    """Return the masked values in a text."""
    return tuple(_MASK.findall(words))


def compares(statement: str, masked: Sequence[str]) -> bool:
    """Whether a statement about masked values says only what their tags show: that they are the same, or that they differ."""
    # Whatever they are called: a password is one in a Secret too.
    tags = {mask.partition(" ~")[2] for mask in masked}
    if len(masked) < 2 or "" in tags:
        return False
    statement = _NOT_DIFFERENT.sub("the same", statement)
    same, different = (max((found.start() for found in word.finditer(statement)), default=-1) for word in (_SAME, _DIFFERENT))
    # Of both, the last one counts: "A different password: no, both are the same".
    return same > different if len(tags) == 1 else different > same


def states_equality(statement: str) -> bool:
    return (_SAME.search(statement) or _DIFFERENT.search(statement)) is not None


class QuotableText:
    """A text prepared for many fast searches."""

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def whole(self) -> str:
        return self._text

    def __len__(self) -> int:
        return len(self._text)

    @cached_property
    def _normalised(self) -> str:
        return normalised(self._text)

    @cached_property
    def _words(self) -> list[int]:
        """Where each word begins."""
        return [found.start() for found in _WORD.finditer(self._text)]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self._text))]

    @cached_property
    def _records(self) -> list[bool]:
        """For each line, whether it is a record by itself: a row of a table, or a line of a log."""
        found: list[bool] = []
        in_table = False
        for line in self._text.split("\n"):
            is_header = is_table_header(line)
            in_table = is_header or (in_table and "  " in line.strip())
            found.append(in_table or _LOG_LINE.match(line) is not None)
        return found

    @cached_property
    def _lowered(self) -> str:
        """Lower-cased, if that keeps the offset of every character."""
        return self._text.lower() if self._text.isascii() else self._text

    def find(self, words: str) -> tuple[int, int] | None:
        """Return the offsets of the words within one row, line or block; None if they are not there. `…` stands for words left out."""
        wanted = _trimmed(words)
        if not wanted:
            return None
        for span in self._occurrences(wanted):
            if self._is_one_record(span, may_skip=False):
                return span
        fragments = [part.strip() for part in wanted.split("...") if part.strip()]
        if len(fragments) > 1:
            for first in self._occurrences(fragments[0]):
                end = first[1]
                for fragment in fragments[1:]:
                    following = next(self._occurrences(fragment, end), None)
                    end = following[1] if following else -1
                    if end < 0:
                        break
                if end >= 0 and self._is_one_record((first[0], end), may_skip=True):
                    return first[0], end
        return None

    def is_header(self, span: tuple[int, int]) -> bool:
        line = bisect_right(self._line_starts, span[0]) - 1
        return is_table_header(self._text.split("\n", line + 1)[line])

    def _occurrences(self, wanted: str, after: int = 0) -> Iterator[tuple[int, int]]:
        """Yield where words occur, at most as many as are worth comparing; extended to whole words if spaces or marks differ."""
        # Most are copied character for character.
        exact = self._text.find(wanted, after)
        if exact >= 0:
            for _ in range(_MOST_PLACES):
                yield exact, exact + len(wanted)
                exact = self._text.find(wanted, exact + 1)
                if exact < 0:
                    return
            return
        at = self._normalised.find(wanted)
        for _ in range(_MOST_PLACES):
            if at < 0:
                return
            first = self._normalised.count(" ", 0, at)
            last = _WORD.match(self._text, self._words[first + wanted.count(" ")])
            start, end = self._words[first], last.end() if last else len(self._text)
            exact = self._text.find(wanted, start, end)
            if start >= after or exact >= after:
                yield (exact, exact + len(wanted)) if exact >= 0 else (start, end)
            at = self._normalised.find(wanted, at + 1)

    def _is_one_record(self, span: tuple[int, int], *, may_skip: bool) -> bool:
        """Whether a span stays within one row, one line of a log, or one block of a description."""
        first = bisect_right(self._line_starts, span[0]) - 1
        last = bisect_right(self._line_starts, max(span[0], span[1] - 1)) - 1
        if first == last:
            return True
        lines = self._text[self._line_starts[first] :].split("\n", last - first + 1)[: last - first + 1]
        if any(self._records[first : last + 1]) or not all(line.strip() for line in lines):
            return False
        if not may_skip:
            return True
        # A block ends where the indentation falls below that of both ends, or where the next item of a list begins.
        indent = min(_indentation(lines[0]), _indentation(lines[-1]))
        return all(
            _indentation(line) >= indent and not (line.strip().startswith("- ") and _indentation(line) <= indent) for line in lines[1:]
        )

    def nearest_line(self, words: str) -> str:
        """Return the line that shares most words with a quotation that is not in the text; empty if none shares any."""
        wanted = _tokens(words[:_LONGEST_LINE])
        best, best_score = "", 0.0
        for line in self._lines_with(wanted):
            tokens = _tokens(line)
            score = len(wanted & tokens) / (1 + len(wanted | tokens))
            if score > best_score:
                best, best_score = line, score
        return " ".join(best.split())

    def _lines_with(self, wanted: frozenset[str]) -> Iterator[str]:
        """Yield lines that contain one of the words: those of the rarest first, as many as are worth comparing."""
        text = self._lowered
        longest = sorted(wanted, key=lambda word: (-len(word), word))[:_MOST_WORDS]
        for word in sorted(longest, key=text.count):
            at = text.find(word)
            for _ in range(_MOST_PLACES // len(longest)):
                if at < 0:
                    break
                start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
                end = len(text) if end < 0 else end
                start = start if end - start <= _LONGEST_LINE else max(start, at - _BEFORE)
                yield self._text[start : min(end, start + _LONGEST_LINE)]
                at = text.find(word, end)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def _trimmed(words: str) -> str:
    """Return a quotation without the ellipses at its ends."""
    return normalised(words).removeprefix("...").removesuffix("...").strip()
