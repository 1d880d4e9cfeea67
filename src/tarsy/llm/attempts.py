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
from tarsy.llm.signals import Finished, KeepAlive, Signal

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


def delay_before_retry(policy: CallRetryPolicy, failure: Failure, retries: int, jitter: float) -> float | None:
    """Return the seconds to wait before the next retry after so many, or None to give up. `jitter` in [0, 1) spreads callers."""
    if failure.code is ErrorCode.EMPTY_RESPONSE:
        return policy.empty_delay if retries < policy.empty_retries else None
    if not failure.transient or retries >= policy.retries:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= policy.longest_delay else None
    return min(policy.base_delay * 2**retries, policy.longest_delay) * (0.5 + jitter / 2)


async def stream_answer(
    start_attempt: Callable[[], AsyncGenerator[Signal]],
    provider: ResolvedProvider,
    policy: CallRetryPolicy,
    censor: Callable[[str], str] = str,
) -> AsyncGenerator[Chunk]:
    """Stream one answer within the time limits of `provider`. An attempt is repeated only while no chunk of it was emitted.

    `censor` removes the key from errors.
    """
    total_usage: TokenUsage | None = None
    retries = 0
    while True:
        attempt = _Attempt()
        async with aclosing(with_time_limits(start_attempt(), provider)) as signals:
            try:
                async for signal in signals:
                    chunk = attempt.receive(signal)
                    if chunk is not None:
                        yield chunk
                failure = attempt.failure()
            except Exception as error:  # noqa: BLE001 - the boundary to foreign SDKs: any error of theirs becomes an error chunk
                failure = describe(error)
                if failure.unexpected:
                    log.warning("llm.error.unexpected", trace=censor("".join(traceback.format_exception(error))))
        # Tokens of abandoned attempts were paid for too.
        total_usage = attempt.usage if total_usage is None else total_usage + (attempt.usage or TokenUsage())
        jitter = random.random()  # noqa: S311 - not a secret
        if failure is None or attempt.emitted or (delay := delay_before_retry(policy, failure, retries, jitter)) is None:
            break
        log.info("llm.attempt.failed", code=failure.code, reason=censor(failure.message), attempt=retries + 1, retry_in=delay)
        await anyio.sleep(delay)
        retries += 1
    if total_usage is not None:
        yield total_usage
    if failure is not None:
        yield attempt.error(failure, censor(failure.message))
    elif attempt.finished is not None and attempt.finished.cut:
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
            case KeepAlive():
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


async def with_time_limits(signals: AsyncGenerator[Signal], provider: ResolvedProvider) -> AsyncGenerator[Signal]:
    """Pass signals on, and give up when the first chunk or the next signal takes too long.

    Signs of life never shorten the wait for the first chunk, but they lengthen it: a long tool call comes whole or not at all.

    Raises:
        SilenceError: it took too long.
    """
    first_deadline = deadline = anyio.current_time() + provider.first_chunk_timeout
    started = False
    signal: Signal = KeepAlive.EVENT
    async with aclosing(signals):
        while True:
            with anyio.CancelScope(deadline=deadline) as scope:
                try:
                    signal = await anext(signals)
                except StopAsyncIteration:
                    return
            if scope.cancelled_caught:
                # Signs of life have moved the deadline.
                began = started or deadline > first_deadline
                raise SilenceError(provider.stall_timeout if began else provider.first_chunk_timeout, started=began)
            started = started or not isinstance(signal, KeepAlive | TokenUsage)
            yield signal
            next_signal = anyio.current_time() + provider.stall_timeout
            deadline = next_signal if started else max(first_deadline, next_signal)
