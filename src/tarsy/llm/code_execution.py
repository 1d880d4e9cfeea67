"""Code that a vendor ran and what came of it: told apart by Gemini and by other LLM services, one thing to a reader. Pure."""

from typing import TypeVar

from tarsy.domain.llm import CodeExecutionChunk, ThinkingChunk
from tarsy.domain.usage import TokenUsage

Signal = TypeVar("Signal")


class CodeExecutions:
    """Passes an answer on, with code held back until its result has come, or is not coming any more."""

    def __init__(self) -> None:
        self._code: str | None = None

    def pass_on(self, signal: Signal) -> tuple[Signal | CodeExecutionChunk, ...]:
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
        """Code without a result."""
        if self._code is None:
            return ()
        code, self._code = self._code, None
        return (CodeExecutionChunk(code, ""),)
