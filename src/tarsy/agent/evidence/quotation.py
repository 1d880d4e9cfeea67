"""Whether words stand in a text: white space, quotation marks and ellipses normalised, nothing fuzzier. Pure module."""

import re
from functools import cached_property
from itertools import islice

# Shorter words occur by chance. A whole line may be shorter: it is all there was.
SHORTEST_QUOTATION = 12

# Typographic double quotes, single quotes and primes, each as the plain mark.
_DOUBLE = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032"
_MARKS = str.maketrans({**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'"), "\u2026": "..."})
_WORD = re.compile(r"\S+")
# How much of a text is looked through for the line that a wrong quotation may have meant.
_SEARCHED_LINES = 20_000
_LONGEST_LINE = 300
_TOKEN = re.compile(r"\w+")


def normalised(text: str) -> str:
    return " ".join(text.translate(_MARKS).split())


class QuotableText:
    """A text that can be asked, many times and each time fast, whether and where it holds some words."""

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
    def _line_tokens(self) -> list[tuple[str, frozenset[str]]]:
        lines = islice(self._text.splitlines(), _SEARCHED_LINES)
        return [(line, frozenset(_TOKEN.findall(line[:_LONGEST_LINE].lower()))) for line in lines]

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(normalised(line) for line in self._text.splitlines())

    def holds(self, words: str) -> bool:
        """Whether the words occur at all, however short."""
        wanted = normalised(words)
        return bool(wanted) and wanted in self._normalised

    def is_quotable(self, words: str) -> bool:
        """Whether finding the words would prove anything."""
        wanted = _trimmed(words)
        return len(wanted) >= SHORTEST_QUOTATION or (bool(wanted) and wanted in self._lines)

    def find(self, words: str) -> tuple[int, int] | None:
        """Where the words stand in the text, to whole words; None if they do not."""
        wanted = _trimmed(words)
        at = self._normalised.find(wanted) if wanted else -1
        if at < 0:
            return None
        first = self._normalised.count(" ", 0, at)
        last = _WORD.match(self._text, self._words[first + wanted.count(" ")])
        return self._words[first], last.end() if last else len(self._text)

    def nearest_line(self, words: str) -> str:
        """The line that shares most words with a quotation that is not there; empty when none shares any."""
        wanted = frozenset(_TOKEN.findall(words.lower()[:_LONGEST_LINE]))
        best, best_score = "", 0.0
        for line, tokens in self._line_tokens:
            shared = len(wanted & tokens)
            score = shared / (1 + len(wanted | tokens)) if shared else 0.0
            if score > best_score:
                best, best_score = line, score
        return " ".join(best.split())[:_LONGEST_LINE]


def _trimmed(words: str) -> str:
    """Without the ellipses by which a quotation says that it begins or ends in the middle of a line."""
    return normalised(words).removeprefix("...").removesuffix("...").strip()
