"""Code that a vendor ran and what came of it: told apart by Gemini and by other LLM services, one thing to a reader. Pure."""

from collections.abc import Iterator
from typing import TypeVar

from tarsy.domain.llm import CodeExecutionChunk, ThinkingChunk
from tarsy.domain.usage import TokenUsage

Signal = TypeVar("Signal")


class CodeExecutions:
    """Passes an answer on, with code held back until its result has come, or is not coming any more."""

    def __init__(self) -> None:
        self._code: str | None = None

    def pass_on(self, signal: Signal) -> Iterator[Signal | CodeExecutionChunk]:
        match signal:
            case CodeExecutionChunk(code="", result=result):
                yield CodeExecutionChunk(self._code or "", result)
                self._code = None
            case CodeExecutionChunk(code=code, result=""):
                yield from self.end()
                self._code = code
            case ThinkingChunk() | TokenUsage():
                yield signal
            case _:
                yield from self.end()
                yield signal

    def end(self) -> Iterator[CodeExecutionChunk]:
        """Code without a result."""
        if self._code is not None:
            yield CodeExecutionChunk(self._code, "")
            self._code = None
