"""The signals that a vendor's stream is translated to, and two filters over them: thinking in tags, and code with its result."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from tarsy.domain.llm import Chunk, CodeExecutionChunk, TextChunk, ThinkingChunk
from tarsy.domain.usage import TokenUsage

OPENING = "<think>"
CLOSING = "</think>"
# Finish reasons, over all vendors, of an answer that was cut at a limit.
CUT = {"max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"}


class KeepAlive(Enum):
    """A sign of life: the vendor sent an event without content for the caller."""

    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Finished:
    """The vendor declared the answer complete; `reason` is its finish reason."""

    reason: str

    @property
    def cut(self) -> bool:
        return self.reason.lower() in CUT


Signal = Chunk | KeepAlive | Finished
S = TypeVar("S")


class CodeExecutions:
    """Joins code that the vendor ran with its result, which Gemini and other LLM services send as two messages.

    Code is held back until its result or the next content arrives.
    """

    def __init__(self) -> None:
        self._code: str | None = None

    def feed(self, signal: S) -> tuple[S | CodeExecutionChunk, ...]:
        """Return the signals to pass on now."""
        match signal:
            case CodeExecutionChunk(code="", result=result):
                code, self._code = self._code, None
                return (CodeExecutionChunk(code or "", result),)
            case CodeExecutionChunk(code=code, result=""):
                left, self._code = self.end(), code
                return left
            case ThinkingChunk() | TokenUsage():
                return (signal,)
            case _:
                return (*self.end(), signal)

    def end(self) -> tuple[CodeExecutionChunk, ...]:
        """Return held code that never got a result."""
        if self._code is None:
            return ()
        code, self._code = self._code, None
        return (CodeExecutionChunk(code, ""),)


class ThinkTags:
    """Separates thinking that a model writes into its text as `<think>…</think>` while the text streams.

    Small models and servers without a reasoning parser write it so. At the beginning of an answer an opening tag counts at once; later
    on it counts only together with its closing tag, because an analysis may quote it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        # Whether any text outside of tags was emitted.
        self._begun = False
        # Whether white space here only separates a tag from the next text.
        self._after_tag = False

    def feed(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        """Yield the chunks that are certain now; text that may be part of a tag is held back."""
        self._held += text
        while True:
            tag = CLOSING if self._thinking else OPENING
            found = self._held.find(tag)
            if found < 0:
                break
            at_beginning = not self._begun and not self._held[:found].strip()
            if not (self._thinking or at_beginning or CLOSING in self._held[found:]):
                break
            yield from self._emit(self._held[:found])
            self._held = self._held[found + len(tag) :]
            self._thinking = not self._thinking
            self._after_tag = True
        certain = found
        if found < 0:
            # The end of the held text may be the beginning of the tag.
            longest = min(len(tag) - 1, len(self._held))
            certain = len(self._held) - next((size for size in range(longest, 0, -1) if self._held.endswith(tag[:size])), 0)
            # White space before the first word may be white space before a tag.
            certain = certain if self._begun or self._thinking or self._held[:certain].strip() else 0
        yield from self._emit(self._held[:certain])
        self._held = self._held[certain:]

    def end(self) -> Iterator[TextChunk | ThinkingChunk]:
        """Yield the text that was held back."""
        yield from self._emit(self._held)
        self._held = ""

    def _emit(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        text = text.lstrip() if self._after_tag else text
        if not text or not (self._begun or self._thinking or text.strip()):
            return
        self._after_tag = False
        self._begun = self._begun or not self._thinking
        yield ThinkingChunk(text) if self._thinking else TextChunk(text)
