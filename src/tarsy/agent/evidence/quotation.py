"""Finds quotations in a text: white space, quotation marks and ellipses are normalised, nothing else."""

import re
from collections.abc import Iterator
from functools import cached_property

# Shorter texts occur by chance. A whole line may be shorter.
SHORTEST_QUOTATION = 12

# Typographic double quotes, single quotes and primes, each as the plain mark.
_DOUBLE = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032"
_MARKS = str.maketrans({**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'"), "\u2026": "..."})
_WORD = re.compile(r"\S+")
# The line that a wrong quotation may have meant is searched by its longest words, the rarest first, among this many occurrences.
_MOST_WORDS = 16
_MOST_PLACES = 200
_LONGEST_LINE = 300
# Of a longer line, the part around the word is compared and shown.
_BEFORE = 100
_TOKEN = re.compile(r"\w+")


def normalised(text: str) -> str:
    return " ".join((text if text.isascii() else text.translate(_MARKS)).split())


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
    def _lowered(self) -> str:
        """Lower-cased, if that keeps the offset of every character."""
        return self._text.lower() if self._text.isascii() else self._text

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(normalised(line) for line in self._text.splitlines())

    def holds(self, words: str) -> bool:
        """Whether the words occur, however short."""
        wanted = normalised(words)
        return bool(wanted) and (wanted in self._text or wanted in self._normalised)

    def is_quotable(self, words: str) -> bool:
        """Whether the words are long enough to prove anything."""
        wanted = _trimmed(words)
        return len(wanted) >= SHORTEST_QUOTATION or (bool(wanted) and wanted in self._lines)

    def find(self, words: str) -> tuple[int, int] | None:
        """Return the offsets of the words in the text, extended to whole words if spaces or marks differ; None if they are not in it."""
        wanted = _trimmed(words)
        # Most are copied character for character.
        exact = self._text.find(wanted) if wanted else -1
        if exact >= 0:
            return exact, exact + len(wanted)
        at = self._normalised.find(wanted) if wanted else -1
        if at < 0:
            return None
        first = self._normalised.count(" ", 0, at)
        last = _WORD.match(self._text, self._words[first + wanted.count(" ")])
        return self._words[first], last.end() if last else len(self._text)

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


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def _trimmed(words: str) -> str:
    """Return a quotation without the ellipses at its ends."""
    return normalised(words).removeprefix("...").removesuffix("...").strip()
