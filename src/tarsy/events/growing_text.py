"""Pure module: a text that grows by small pieces and is read from any position, without copying what was read before."""

from bisect import bisect_right

# Above this many pieces they are joined: a reader that joins late should not walk thousands.
_MAX_PIECES = 512


class GrowingText:
    """Positions are in characters."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self.length = 0

    def put(self, offset: int, piece: str) -> int | None:
        """Write `piece` at `offset`; what is there already is kept if it agrees and cut off if it does not.

        Returns the position up to which the text was left alone, or None if `offset` is beyond the end.
        """
        if offset > self.length:
            return None
        if offset == self.length:
            # Nearly always: the writer goes on where it stopped.
            self._append(piece)
            return offset
        known = self.since(offset)
        if known.startswith(piece):
            return self.length
        if not piece.startswith(known):
            self._cut(offset)
        agreed = self.length
        self._append(piece[agreed - offset :])
        return agreed

    def since(self, offset: int) -> str:
        """The text from `offset` on."""
        if offset >= self.length:
            return ""
        first = bisect_right(self._starts, offset) - 1
        return "".join(self._pieces[first:])[offset - self._starts[first] :]

    def _append(self, piece: str) -> None:
        self._starts.append(self.length)
        self._pieces.append(piece)
        self.length += len(piece)
        if len(self._pieces) > _MAX_PIECES:
            self._pieces, self._starts = ["".join(self._pieces)], [0]

    def _cut(self, length: int) -> None:
        kept = self.since(0)[:length]
        self._pieces, self._starts, self.length = [kept], [0], length
