"""What the rules work on: a text with its tags, the text without escapes, its runs of certain characters, and a filter of harmless texts."""

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
# A longer text is not filtered: it is masked as a whole, and its words are many.
SHORT = 1024
# No token and no encoded secret is shorter.
LONG_WORD = 16


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text to mask; `tag` gives the secrets in it their tags."""

    text: str
    tag: Tag | None = None

    def label(self, pattern: str, secret: str) -> str:
        """Return the replacement of a secret that is in the text."""
        return label(pattern, self.tag(secret) if self.tag else "")


@dataclass(frozen=True, slots=True)
class PlainView:
    """A text without zero-width characters and colours and with escaped line breaks as real ones, and the offsets of its parts in the original.

    Names are searched in this view; their values are masked in the original.
    """

    text: str
    # Where its parts begin, here and in the original.
    _view_offsets: tuple[int, ...] = (0,)
    _original_offsets: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, original: str) -> "PlainView":
        if (
            original.isascii()
            and "\x1b" not in original
            and not ("\\" in original and any(letter in original for letter in _ESCAPED_LETTERS))
        ):
            return cls(original)
        parts: list[str] = []
        view_offsets, original_offsets = [0], [0]
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
            view_offsets.append(size)
            original_offsets.append(done)
        return cls("".join((*parts, original[done:])), tuple(view_offsets), tuple(original_offsets)) if parts else cls(original)

    def place(self, at: int) -> int:
        """Return the offset in the original of the character at `at` of the view."""
        part = bisect_right(self._view_offsets, at) - 1
        return self._original_offsets[part] + at - self._view_offsets[part]


class Alphabet:
    """The characters of a run; ASCII, because tokens are. None of them is a space, so a run lies in one word."""

    def __init__(self, characters: str) -> None:
        allowed = frozenset(characters.encode("ascii"))
        self._others_blank = bytes(code if code in allowed else 0x20 for code in range(256))

    def runs(self, text: str, *, at_least: int = 1) -> list[str]:
        """Return each run of at least so many characters once, in no particular order."""
        # Translating and splitting bytes takes a few milliseconds per megabyte, a regular expression takes tens.
        runs = set(text.encode(errors="replace").translate(self._others_blank).split())
        return [run.decode("ascii") for run in runs if len(run) >= at_least]


Rule = Callable[[TaggedText], str]

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
        return all(rule(TaggedText(text)) == text for rule in self._for_long_words)
