"""Thinking that a model writes into its text as `<think>…</think>`, told apart while it streams. Pure.

Small models and servers without a parser for reasoning do so. At the beginning of an answer the tag is believed at once; later on only together with
its end, since an analysis may quote it.
"""

from collections.abc import Iterator

from tarsy.domain.llm import TextChunk, ThinkingChunk

OPENING = "<think>"
CLOSING = "</think>"


class ThinkTags:
    """One answer's text as it arrives."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        # Whether anything but thinking has been said, and whether white space here only parts what comes from a tag.
        self._begun = False
        self._after_tag = False

    def take(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        """What is certain now; what may be part of a tag is held back."""
        self._held += text
        while (found := self._next_tag()) is not None:
            yield from self._say(self._held[:found])
            self._held = self._held[found + len(self._awaited) :]
            self._thinking = not self._thinking
            self._after_tag = True
        certain = self._certain()
        yield from self._say(self._held[:certain])
        self._held = self._held[certain:]

    def end(self) -> Iterator[TextChunk | ThinkingChunk]:
        """What was held back and has nothing more to wait for."""
        yield from self._say(self._held)
        self._held = ""

    @property
    def _awaited(self) -> str:
        return CLOSING if self._thinking else OPENING

    def _next_tag(self) -> int | None:
        found = self._held.find(self._awaited)
        if found < 0 or (not self._thinking and not self._believed(found)):
            return None
        return found

    def _believed(self, opening: int) -> bool:
        first = not self._begun and not self._held[:opening].strip()
        return first or CLOSING in self._held[opening:]

    def _certain(self) -> int:
        """How much of what is held can be no part of a tag."""
        found = self._held.find(self._awaited)
        if found >= 0:
            return found
        longest = min(len(self._awaited) - 1, len(self._held))
        partial = (size for size in range(longest, 0, -1) if self._held.endswith(self._awaited[:size]))
        certain = len(self._held) - next(partial, 0)
        # White space before the first word may be white space before a tag.
        return certain if self._begun or self._thinking or self._held[:certain].strip() else 0

    def _say(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        text = text.lstrip() if self._after_tag else text
        if not text or not (self._begun or self._thinking or text.strip()):
            return
        self._after_tag = False
        self._begun = self._begun or not self._thinking
        yield ThinkingChunk(text) if self._thinking else TextChunk(text)
