"""Views of a text that the rules search instead of the text itself: its distinct words, the text without escapes, its runs of certain characters."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tarsy.domain.tool import Tag
from tarsy.tools.masking.values import label

# Invisible inside a word, as such or in a JSON escape.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
# The rest of a terminal's escape sequence for a colour.
_COLOUR = r"\[[0-9;]{0,16}m"
# From the last backslash on, so that a row of them is scanned once.
_ESCAPED = re.compile(rf"\\(?:r\\{{1,8}}n|n|u(?:200[bcd]|2060|feff|00ad|001b{_COLOUR}))|[{_INVISIBLE}]|\x1b{_COLOUR}", re.IGNORECASE)
# JSON in JSON in JSON has seven backslashes: so many more may stand before the last.
_MORE_BACKSLASHES = 7
# One of them is in every escape.
_ESCAPED_LETTERS = "nNuU"
# Splitting a shorter text into words takes longer than searching it.
SHORT = 1024
# No token and no encoded secret is shorter.
LONG_WORD = 16


class IndexedText:
    """A text and its distinct words: a literal that is in no word is not in the text either.

    A megabyte of output repeats the same few words: searching each of them once is much less than searching every place.
    `tag` gives the secrets in it their tags.
    """

    __slots__ = ("_letters", "_long_words", "_words", "tag", "text")

    def __init__(self, text: str, tag: Tag | None = None) -> None:
        self.text = text
        self.tag = tag
        self._words = text if len(text) <= SHORT else None
        self._long_words: str | None = None
        self._letters: frozenset[str] | None = None

    @property
    def words(self) -> str:
        """Each word once, in no particular order; a short text as a whole."""
        if self._words is None:
            self._words = " ".join(set(self.text.split()))
        return self._words

    @property
    def long_words(self) -> str:
        """The words of at least `LONG_WORD` characters, in which tokens are searched."""
        if self._long_words is None:
            self._long_words = " ".join({word for word in self.words.split() if len(word) >= LONG_WORD})
        return self._long_words

    @property
    def letters(self) -> frozenset[str]:
        """The characters of the words, as far as they are ASCII."""
        if self._letters is None:
            encoded = self.words.encode(errors="replace")
            begin = encoded[:SHORT]
            # Few characters first occur later than this: deleting the known ones is faster than inspecting each.
            self._letters = frozenset((begin + encoded.translate(None, begin)).decode("latin-1"))
        return self._letters

    def label(self, pattern: str, secret: str) -> str:
        """Return the replacement of a secret that is in the text."""
        return label(pattern, self.tag(secret) if self.tag else "")

    def held(self, literals: Iterable[str]) -> list[str]:
        """Return those of some literals (without spaces) that are in the text."""
        words = self.words
        if len(words) > SHORT:
            # A text of few words has few letters, which rules out most literals without a search.
            literals = filter(self.letters.issuperset, literals)
        return [literal for literal in literals if literal in words]


@dataclass(frozen=True, slots=True)
class PlainView:
    """A text without zero-width characters and colours and with escaped line breaks as real ones, and the offsets of its parts in the original.

    Names are searched in this view; their values are masked in the original.
    """

    text: str
    _here: tuple[int, ...] = (0,)
    _there: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, original: str) -> "PlainView":
        if (
            original.isascii()
            and "\x1b" not in original
            and not ("\\" in original and any(letter in original for letter in _ESCAPED_LETTERS))
        ):
            return cls(original)
        parts: list[str] = []
        here, there = [0], [0]
        size = done = 0
        for found in _ESCAPED.finditer(original):
            start, shown = found.start(), "\n" if found.group()[-1] in "nN" else ""
            if original[start] == "\\":
                # The backslashes before the last one belong to the escape.
                before = max(done, start - _MORE_BACKSLASHES)
                start = before + len(original[before:start].rstrip("\\"))
            parts += [original[done:start], shown]
            size += start - done + len(shown)
            done = found.end()
            here.append(size)
            there.append(done)
        return cls("".join((*parts, original[done:])), tuple(here), tuple(there)) if parts else cls(original)

    def place(self, at: int) -> int:
        """Return the offset in the original of the character at `at` of the view."""
        part = bisect_right(self._here, at) - 1
        return self._there[part] + at - self._here[part]


class Alphabet:
    """The characters of a run; ASCII, because names and tokens are. None of them is a space, so a run lies in one word."""

    def __init__(self, characters: str) -> None:
        allowed = frozenset(characters.encode("ascii"))
        self._others_blank = bytes(code if code in allowed else 0x20 for code in range(256))

    def runs(self, text: str, *, at_least: int = 1) -> list[str]:
        """Return each run of at least so many characters once, in no particular order."""
        # Translating and splitting bytes takes a few milliseconds per megabyte, a regular expression takes tens.
        runs = set(text.encode(errors="replace").translate(self._others_blank).split())
        return [run.decode("ascii") for run in runs if len(run) >= at_least]


Rule = Callable[[IndexedText], str]

# In every escape, which may hide a name.
_BACKSLASH = "\\"


class Prefilter:
    """Tells quickly that a short text holds no secret, which is true of most texts.

    It knows the literals without which no rule finds anything. Rules for long words have none: they are applied, since long words are few.
    """

    def __init__(self, literals: Iterable[str], for_long_words: Iterable[Rule]) -> None:
        self._for_long_words = tuple(for_long_words)
        # Without regard to case, which finds at least as much as each rule does.
        lowered = {literal.lower() for literal in literals} | {_BACKSLASH}
        # A text without `key` has no `privatekey` either.
        self._literals = tuple(sorted(each for each in lowered if not any(other in each for other in lowered - {each})))

    def passes(self, text: str) -> bool:
        """Return whether no rule would change `text`. Other text than ASCII never passes: it may hide a name."""
        if len(text) > SHORT or not text.isascii():
            return False
        lowered = text.lower()
        for literal in self._literals:
            if literal in lowered:
                return False
        if max(map(len, text.split()), default=0) < LONG_WORD:
            return True
        return all(rule(IndexedText(text)) == text for rule in self._for_long_words)
