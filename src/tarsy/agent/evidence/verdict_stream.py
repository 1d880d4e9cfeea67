"""An answer while it is written, without its verdict: readers are shown that as a card, when it is whole and checked. Pure module.

What is shown of an answer is the same in whatever pieces it comes, and is what `without_verdict` leaves of it, white space apart.
"""

import re

from tarsy.agent.evidence.verdict_block import may_open_verdict, opens_verdict
from tarsy.domain.citation import ends_block, fence_of

_PIECE = re.compile(r"[^\n]*\n|[^\n]+")


class VerdictFilter:
    """Feed it a text in pieces; it gives back what is no part of a verdict block, as soon as that is certain."""

    def __init__(self) -> None:
        # The fence of the block that the text is in.
        self._fence = ""
        self._hides = False
        # The line so far, and whether it is given out as it comes.
        self._line: list[str] = []
        self._certain = False

    def feed(self, delta: str) -> str:
        return "".join(map(self._take, _PIECE.findall(delta)))

    def finish(self) -> str:
        """What was held back and has nothing more to wait for."""
        return self._end_line()

    def _take(self, piece: str) -> str:
        if self._certain:
            self._line.append(piece)
            shown = piece
        else:
            self._line = ["".join((*self._line, piece))]
            self._certain = not self._hides and (bool(self._fence) or not may_open_verdict(self._line[0].removesuffix("\n")))
            shown = self._line[0] if self._certain else ""
        return shown + self._end_line() if piece.endswith("\n") else shown

    def _end_line(self) -> str:
        line, was_certain = "".join(self._line), self._certain
        self._line, self._certain = [], False
        if self._fence:
            ends = ends_block(line, self._fence)
            was_hidden, self._hides = self._hides, self._hides and not ends
            self._fence = "" if ends else self._fence
            return "" if was_certain or was_hidden else line
        self._fence = fence_of(line)
        self._hides = opens_verdict(line)
        return "" if was_certain or self._hides else line
