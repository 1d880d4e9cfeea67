"""Streams one answer from a vendor: retries, time limits, and the rule that nothing is emitted twice."""

import random
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

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
from tarsy.llm.failures import Failure, RefusedAnswerError, SilenceError, UnfinishedStreamError, describe
from tarsy.llm.signals import Alive, Finished, Signal

log = structlog.get_logger(__name__)

# Finish reasons, over all vendors, of an answer that was withheld.
WITHHELD = {"safety", "prohibited_content", "blocklist", "recitation", "spii", "content_filter", "refusal"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRetryPolicy:
    """How often to retry, and how long to wait before it, in seconds."""

    retries: int = 3
    base_delay: float = 1.0
    # A call as a whole has 100 s: above this, a caller with a fallback model should decide.
    longest_delay: float = 30.0
    empty_retries: int = 3
    empty_delay: float = 3.0


def delay_before_retry(policy: CallRetryPolicy, failure: Failure, done: int, jitter: float) -> float | None:
    """Return the seconds to wait before the next retry after `done` of them, or None to give up. `jitter` in [0, 1) spreads callers."""
    if failure.code is ErrorCode.EMPTY_RESPONSE:
        return policy.empty_delay if done < policy.empty_retries else None
    if not failure.transient or done >= policy.retries:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= policy.longest_delay else None
    return min(policy.base_delay * 2**done, policy.longest_delay) * (0.5 + jitter / 2)


async def stream_answer(
    attempt: Callable[[], AsyncGenerator[Signal]],
    provider: ResolvedProvider,
    policy: CallRetryPolicy,
    censor: Callable[[str], str] = str,
) -> AsyncGenerator[Chunk]:
    """Stream one answer within the time limits of `provider`. An attempt is repeated only while no chunk of it was emitted.

    `censor` removes the key from errors.
    """
    spent: TokenUsage | None = None
    done = 0
    while True:
        current = _Attempt()
        async with aclosing(watched(attempt(), provider)) as signals:
            try:
                async for signal in signals:
                    chunk = current.receive(signal)
                    if chunk is not None:
                        yield chunk
                failure = current.failure()
            except Exception as error:  # noqa: BLE001 - the boundary to foreign SDKs: any error of theirs becomes an error chunk
                failure = describe(error)
                if failure.unexpected:
                    log.warning("llm.error.unexpected", trace=censor("".join(traceback.format_exception(error))))
        # Tokens of abandoned attempts were paid for too.
        spent = spent + current.usage if spent is not None and current.usage is not None else spent or current.usage
        jitter = random.random()  # noqa: S311 - not a secret
        if failure is None or current.emitted or (delay := delay_before_retry(policy, failure, done, jitter)) is None:
            break
        log.info("llm.attempt.failed", code=failure.code, reason=censor(failure.message), attempt=done + 1, retry_in=delay)
        await anyio.sleep(delay)
        done += 1
    if spent is not None:
        yield spent
    if failure is not None:
        yield current.error(failure, censor(failure.message))
    elif current.finished is not None and current.finished.cut:
        yield FinishChunk(FinishReason.LENGTH)


@dataclass(slots=True)
class _Attempt:
    """The state of one attempt."""

    emitted: bool = False
    answered: bool = False
    finished: Finished | None = None
    usage: TokenUsage | None = None
    # The first half of a surrogate pair whose second half comes with the next piece.
    half: str = ""

    def receive(self, signal: Signal) -> Chunk | None:
        """Take in a signal and return the chunk to emit now, if any. Usage is kept until the end."""
        match signal:
            case Alive():
                return None
            case Finished():
                self.finished = signal
                return None
            case TokenUsage():
                self.usage = signal
                return None
            case TextChunk() | ThinkingChunk():
                text = self.half + signal.content
                end = len(text) - ("\ud800" <= text[-1:] <= "\udbff")
                self.half = text[end:]
                text = whole_characters(text[:end])
                if not text and signal.content:
                    return None
                signal = replace(signal, content=text)
            case ToolCallChunk():
                signal = replace(signal, arguments=whole_characters(signal.arguments))
            case _:
                pass
        self.emitted = True
        self.answered = self.answered or isinstance(signal, TextChunk | ToolCallChunk)
        return signal

    def failure(self) -> Failure | None:
        """Judge an attempt whose stream ended without an error."""
        if self.finished is None:
            return describe(UnfinishedStreamError("the connection closed before the answer was complete"))
        reason = self.finished.reason.lower()
        if reason in WITHHELD:
            return describe(RefusedAnswerError(f"the model withheld {'the rest of ' if self.answered else ''}its answer: {reason}"))
        if self.answered:
            return None
        return Failure(code=ErrorCode.EMPTY_RESPONSE, message=f"the answer was empty (finish reason {reason})", retryable=True)

    def error(self, failure: Failure, message: str) -> ErrorChunk:
        if self.emitted and failure.retryable and failure.code not in {ErrorCode.STALLED, ErrorCode.EMPTY_RESPONSE}:
            return ErrorChunk(f"the answer was interrupted: {message}", ErrorCode.PARTIAL_STREAM, retryable=True)
        return ErrorChunk(message, failure.code, failure.retryable)


async def watched(signals: AsyncGenerator[Signal], provider: ResolvedProvider) -> AsyncGenerator[Signal]:
    """Pass signals on, and give up when the first chunk or the next signal takes too long.

    Signs of life never shorten the wait for the first chunk, but they lengthen it: a long tool call comes whole or not at all.

    Raises:
        SilenceError: it took too long.
    """
    first = deadline = anyio.current_time() + provider.first_chunk_timeout
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
                raise SilenceError(provider.stall_timeout if began else provider.first_chunk_timeout, started=began)
            started = started or not isinstance(signal, Alive | TokenUsage)
            yield signal
            next_signal = anyio.current_time() + provider.stall_timeout
            deadline = next_signal if started else max(first, next_signal)
