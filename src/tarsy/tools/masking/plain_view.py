"""A text as a person reads it: without zero-width characters, with lines where an escaped line break stands. Pure module.

Names are looked for in this view, and what is found is hidden in the text itself.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

# Invisible inside a word, written as such or as JSON escapes them.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
# Up to eight backslashes: JSON in JSON in JSON has seven.
_ESCAPED = re.compile(rf"\\{{1,8}}(?:r\\{{1,8}}n|n|u(?:200[bcd]|2060|feff|00ad))|[{_INVISIBLE}]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlainView:
    """The text to look at, and where each of its parts begins in it and in the original."""

    text: str
    _here: tuple[int, ...] = (0,)
    _there: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, original: str) -> "PlainView":
        if "\\" not in original and original.isascii():
            return cls(original)
        parts: list[str] = []
        here, there = [0], [0]
        size = done = 0
        for found in _ESCAPED.finditer(original):
            shown = "\n" if found.group()[-1] in "nN" else ""
            parts += [original[done : found.start()], shown]
            size += found.start() - done + len(shown)
            done = found.end()
            here.append(size)
            there.append(done)
        return cls("".join((*parts, original[done:])), tuple(here), tuple(there)) if parts else cls(original)

    def place(self, at: int) -> int:
        """Where in the original the character at `at` of the view stands."""
        part = bisect_right(self._here, at) - 1
        return self._there[part] + at - self._here[part]
