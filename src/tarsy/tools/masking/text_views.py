"""What rules look at instead of a text: its distinct words, the text as a person reads it, and its runs of certain characters. Pure module."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# Invisible inside a word, written as such or as JSON escapes them.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
# From the last backslash on, so that a row of them is read once.
_ESCAPED = re.compile(rf"\\(?:r\\{{1,8}}n|n|u(?:200[bcd]|2060|feff|00ad))|[{_INVISIBLE}]", re.IGNORECASE)
# JSON in JSON in JSON has seven backslashes: so many more may stand before the last.
_MORE_BACKSLASHES = 7
# One of them is in every escape.
_ESCAPED_LETTERS = "nNuU"
# A shorter text is searched in less time than its words are told apart.
SHORT = 1024
# No token and no encoded secret is shorter.
LONG_WORD = 16


class Reading:
    """A text, and its distinct words: what no word holds the text does not hold either.

    A megabyte of output says the same few words again and again: what is asked of each of them once need not be asked of each place.
    """

    __slots__ = ("_letters", "_long_words", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = text if len(text) <= SHORT else None
        self._long_words: str | None = None
        self._letters: frozenset[str] | None = None

    @property
    def words(self) -> str:
        """Each word once, in no particular order; all of a short text."""
        if self._words is None:
            self._words = " ".join(set(self.text.split()))
        return self._words

    @property
    def long_words(self) -> str:
        """Those of at least `LONG_WORD` characters: where tokens are looked for."""
        if self._long_words is None:
            self._long_words = " ".join({word for word in self.words.split() if len(word) >= LONG_WORD})
        return self._long_words

    @property
    def letters(self) -> frozenset[str]:
        """Which characters the words consist of, as far as they are ASCII."""
        if self._letters is None:
            encoded = self.words.encode(errors="replace")
            begin = encoded[:SHORT]
            # Hardly a character comes for the first time after so many: deleting those that came is faster than looking at each.
            self._letters = frozenset((begin + encoded.translate(None, begin)).decode("latin-1"))
        return self._letters

    def held(self, literals: Iterable[str]) -> list[str]:
        """Those of some literals (without spaces) that the text holds."""
        words = self.words
        if len(words) > SHORT:
            # What says one thing over and over has few letters: most literals need not be looked for all over it.
            literals = filter(self.letters.issuperset, literals)
        return [literal for literal in literals if literal in words]


@dataclass(frozen=True, slots=True)
class PlainView:
    """A text without zero-width characters, with lines where an escaped line break stands, and where its parts are in the original.

    Names are looked for in this view, and what is found is hidden in the text itself.
    """

    text: str
    _here: tuple[int, ...] = (0,)
    _there: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, original: str) -> "PlainView":
        if original.isascii() and not _may_hold_escapes(original):
            return cls(original)
        parts: list[str] = []
        here, there = [0], [0]
        size = done = 0
        for found in _ESCAPED.finditer(original):
            start, shown = _start(original, found, done), "\n" if found.group()[-1] in "nN" else ""
            parts += [original[done:start], shown]
            size += start - done + len(shown)
            done = found.end()
            here.append(size)
            there.append(done)
        return cls("".join((*parts, original[done:])), tuple(here), tuple(there)) if parts else cls(original)

    def place(self, at: int) -> int:
        """Where in the original the character at `at` of the view stands."""
        part = bisect_right(self._here, at) - 1
        return self._there[part] + at - self._here[part]


def _may_hold_escapes(text: str) -> bool:
    return "\\" in text and any(letter in text for letter in _ESCAPED_LETTERS)


def _start(text: str, found: re.Match[str], earliest: int) -> int:
    """Where an escape begins, with the backslashes before its last one; an invisible character begins at itself."""
    at = found.start()
    if text[at] != "\\":
        return at
    before = max(earliest, at - _MORE_BACKSLASHES)
    return before + len(text[before:at].rstrip("\\"))


class Alphabet:
    """Characters a run may consist of; ASCII, because names and tokens are. None of them is a space, so a run lies in one word."""

    def __init__(self, characters: str) -> None:
        allowed = frozenset(characters.encode("ascii"))
        self._others_blank = bytes(code if code in allowed else 0x20 for code in range(256))

    def runs(self, text: str, *, at_least: int = 1) -> list[str]:
        """Each run of at least so many characters, once, in no particular order."""
        # Bytes, because translating and splitting them costs a few milliseconds a megabyte and an expression costs tens.
        runs = set(text.encode(errors="replace").translate(self._others_blank).split())
        return [run.decode("ascii") for run in runs if len(run) >= at_least]


Rule = Callable[[Reading], str]

# In every escape, which may hide a name.
_BACKSLASH = "\\"


class FirstLook:
    """Knows the literals without which no rule finds anything, but for the rules of long words: of these there are few, and they are tried."""

    def __init__(self, literals: Iterable[str], for_long_words: Iterable[Rule]) -> None:
        self._for_long_words = tuple(for_long_words)
        # Rules differ in whether they mind the case: none of them finds more than a look that does not.
        lowered = {literal.lower() for literal in literals} | {_BACKSLASH}
        # A text without `key` holds no `privatekey` either.
        self._literals = tuple(sorted(each for each in lowered if not any(other in each for other in lowered - {each})))

    def passes(self, text: str) -> bool:
        """Whether no rule would change `text`. What is not ASCII may be written so that it is read otherwise."""
        if len(text) > SHORT or not text.isascii():
            return False
        lowered = text.lower()
        for literal in self._literals:
            if literal in lowered:
                return False
        return max(map(len, text.split()), default=0) < LONG_WORD or self._long_words_pass(Reading(text))

    def _long_words_pass(self, reading: Reading) -> bool:
        return all(rule(reading) == reading.text for rule in self._for_long_words)
