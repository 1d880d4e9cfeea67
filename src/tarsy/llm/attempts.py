"""One answer out of as many attempts as it takes: retries, time limits, and the rule that nothing is said twice."""

import random
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Self

import anyio
import structlog

from tarsy.domain.llm import (
    Chunk,
    ErrorChunk,
    ErrorCode,
    FinishChunk,
    FinishReason,
    ResolvedProvider,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.usage import TokenUsage
from tarsy.kit.text import whole_characters
from tarsy.llm.failures import Failure, RefusedAnswerError, UnfinishedStreamError, describe
from tarsy.llm.signals import Alive, Finished, Signal

log = structlog.get_logger(__name__)

# Finish reasons, over all vendors, by which an answer was withheld rather than forgotten.
WITHHELD = {"safety", "prohibited_content", "blocklist", "recitation", "spii", "content_filter", "refusal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long to wait. Seconds."""

    retries: int = 3
    base_delay: float = 1.0
    # Longer than this, and the caller with a fallback model should decide: a call as a whole has 100 s.
    longest_delay: float = 30.0
    empty_retries: int = 3
    empty_delay: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    first_chunk: float
    stall: float

    @classmethod
    def of(cls, provider: ResolvedProvider) -> Self:
        return cls(first_chunk=provider.first_chunk_timeout, stall=provider.stall_timeout)


class SilenceError(Exception):
    """The vendor stopped talking; `started` says whether it had begun."""

    def __init__(self, seconds: float, *, started: bool) -> None:
        self.started = started
        super().__init__(f"nothing more came for {seconds:g} s" if started else f"no answer began within {seconds:g} s")


def delay_before_retry(policy: RetryPolicy, failure: Failure, done: int, luck: float) -> float | None:
    """Decide how long to wait before trying again, or None to give up. `luck` in [0, 1) spreads callers apart."""
    if failure.code is ErrorCode.EMPTY_RESPONSE:
        return policy.empty_delay if done < policy.empty_retries else None
    if not failure.transient or done >= policy.retries:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= policy.longest_delay else None
    return min(policy.base_delay * 2**done, policy.longest_delay) * (0.5 + luck / 2)


@dataclass(slots=True)
class _Attempt:
    """What one attempt came to."""

    emitted: bool = False
    answered: bool = False
    finished: Finished | None = None
    usage: TokenUsage | None = None
    # The first half of a character whose other half comes with the next piece.
    half: str = ""

    def note(self, signal: Signal) -> Chunk | None:
        """Take in a signal and return it if it is for the caller now. Usage is kept until the end."""
        match signal:
            case Alive():
                pass
            case Finished():
                self.finished = signal
            case TokenUsage():
                self.usage = signal
            case TextChunk() | ThinkingChunk():
                text = self._whole(signal.content)
                if text == signal.content:
                    return self._emit(signal)
                return self._emit(replace(signal, content=text)) if text else None
            case ToolCallChunk():
                return self._emit(replace(signal, arguments=whole_characters(signal.arguments)))
            case _:
                return self._emit(signal)
        return None

    def _emit(self, chunk: Chunk) -> Chunk:
        self.emitted = True
        self.answered = self.answered or isinstance(chunk, TextChunk | ToolCallChunk)
        return chunk

    def _whole(self, piece: str) -> str:
        """The characters that are complete."""
        text = self.half + piece
        end = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
        self.half = text[end:]
        return whole_characters(text[:end])

    def verdict(self) -> Failure | None:
        """Judge an attempt whose stream ended without an error."""
        if self.finished is None:
            return describe(UnfinishedStreamError("the connection ended before the answer did"))
        reason = self.finished.reason.lower()
        if self.answered:
            return None
        if reason in WITHHELD:
            return describe(RefusedAnswerError(f"the model withheld its answer: {reason}"))
        return Failure(code=ErrorCode.EMPTY_RESPONSE, message=f"the answer was empty (finish reason {reason})", retryable=True)


async def answer(
    attempt: Callable[[], AsyncGenerator[Signal]],
    *,
    limits: TimeLimits,
    policy: RetryPolicy,
    censor: Callable[[str], str] = str,
) -> AsyncGenerator[Chunk]:
    """Stream one answer. An attempt is repeated only while nothing of it has been passed on."""
    spent: TokenUsage | None = None
    done = 0
    while True:
        current = _Attempt()
        failure: Failure | None = None
        async with aclosing(watched(attempt(), limits)) as signals:
            try:
                async for signal in signals:
                    chunk = current.note(signal)
                    if chunk is not None:
                        yield chunk
                failure = current.verdict()
            except Exception as error:  # noqa: BLE001 - the boundary to foreign SDKs: whatever they raise becomes an error chunk
                failure = _meaning(error, censor)
        spent = _sum(spent, current.usage)
        if failure is None or current.emitted:
            break
        delay = delay_before_retry(policy, failure, done, random.random())  # noqa: S311 - jitter, not a secret
        if delay is None:
            break
        log.info("llm.attempt.failed", code=failure.code, reason=censor(failure.message), attempt=done + 1, retry_in=delay)
        await anyio.sleep(delay)
        done += 1
    if spent is not None:
        yield spent
    if failure is not None:
        yield _error(failure, censor, partial=current.emitted)
    elif current.finished is not None and current.finished.cut:
        yield FinishChunk(FinishReason.LENGTH)


async def watched(signals: AsyncGenerator[Signal], limits: TimeLimits) -> AsyncGenerator[Signal]:
    """Pass signals on, and give up when the first chunk or the next sign of life takes too long.

    Signs of life never shorten the wait for the first chunk, but they lengthen it: a tool call with much to say comes whole or not at all.

    Raises:
        SilenceError: it took too long.
    """
    first = deadline = anyio.current_time() + limits.first_chunk
    started = False
    signal: Signal = Alive.SIGN
    async with aclosing(signals):
        while True:
            with anyio.CancelScope(deadline=deadline) as scope:
                try:
                    signal = await anext(signals)
                except StopAsyncIteration:
                    return
            if scope.cancelled_caught:
                began = started or deadline > first
                raise SilenceError(limits.stall if began else limits.first_chunk, started=began)
            started = started or not isinstance(signal, Alive | TokenUsage)
            yield signal
            patience = anyio.current_time() + limits.stall
            deadline = patience if started else max(first, patience)


def _meaning(error: Exception, censor: Callable[[str], str]) -> Failure:
    if not isinstance(error, SilenceError):
        failure = describe(error)
        if failure.unexpected:
            log.warning("llm.error.unexpected", trace=censor("".join(traceback.format_exception(error))))
        return failure
    return Failure(code=ErrorCode.STALLED if error.started else ErrorCode.TIMEOUT, message=str(error), retryable=True)


def _error(failure: Failure, censor: Callable[[str], str], *, partial: bool) -> ErrorChunk:
    message = censor(failure.message)
    if partial and failure.code not in {ErrorCode.STALLED, ErrorCode.EMPTY_RESPONSE}:
        return ErrorChunk(f"the answer broke off: {message}", ErrorCode.PARTIAL_STREAM, retryable=True)
    return ErrorChunk(message, failure.code, failure.retryable)


def _sum(first: TokenUsage | None, second: TokenUsage | None) -> TokenUsage | None:
    """Tokens of abandoned attempts were paid for too."""
    if first is None or second is None:
        return first or second
    return first + second
