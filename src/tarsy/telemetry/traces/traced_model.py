"""The span of a model call: begun before it is made, so that what is called below it can name it as its parent."""

from collections.abc import AsyncGenerator
from functools import lru_cache
from time import perf_counter

from opentelemetry.trace import SpanKind
from opentelemetry.util.types import AttributeValue

from tarsy.domain.agent import ProviderType
from tarsy.domain.llm import Chunk, ErrorChunk, FinishChunk, GenerateInput, LLMHealth
from tarsy.domain.usage import TokenUsage
from tarsy.kit.trace_context import traceparent
from tarsy.telemetry.metrics import MOST_VALUES
from tarsy.telemetry.ports import Model
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.histograms import Instruments, Key
from tarsy.telemetry.traces.ids import new_span_id
from tarsy.telemetry.traces.span import OpenSpan, Place
from tarsy.telemetry.traces.tracing import Tracing


class TracedModel:
    """A model client whose calls are spans below their execution."""

    def __init__(self, inner: Model, tracing: Tracing) -> None:
        self._inner = inner
        self._tracing = tracing

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        place = self._tracing.below(request.session_id, request.execution_id)
        return traced_call(self._tracing, self._inner.generate(request), request, place, SpanKind.CLIENT)

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


async def traced_call(
    tracing: Tracing, inner: AsyncGenerator[Chunk], request: GenerateInput, place: Place, kind: SpanKind
) -> AsyncGenerator[Chunk]:
    """Pass on what `inner` says, and tell of the call when it has ended, however that was."""
    series = _series(request.provider.type, request.provider.model, request.provider.name)
    call = _Call(OpenSpan(series.name, place, new_span_id(), kind, common=series.common), series, request)
    before = traceparent.get()
    # Not reset by its token: a generator may be closed from another context than it was begun in.
    traceparent.set(call.span.header)
    try:
        async for chunk in inner:
            if call.first is None:
                call.first = perf_counter()
            if type(chunk) in _NOTED:
                call.note(chunk)
            yield chunk
        call.complete = True
    finally:
        try:
            await inner.aclose()
        finally:
            traceparent.set(before)
            call.end()
            call.measure(tracing.instruments)


_INPUT = (names.TOKEN_TYPE, "input")
_OUTPUT = (names.TOKEN_TYPE, "output")
_NO_USAGE = TokenUsage()
# Of the hundreds of chunks of a call, those that say something of it.
_NOTED = frozenset((TokenUsage, ErrorChunk, FinishChunk))


class _Series:
    """What all calls of one model have in common."""

    def __init__(self, kind: ProviderType, model: str, provider: str) -> None:
        self.name = f"{names.CHAT} {model}"
        self.metered: Key = (names.OPERATION, names.CHAT), (names.PROVIDER, names.provider_name(kind)), (names.MODEL, model)
        self.common: Key = (*self.metered, ("tarsy.provider", provider))
        self.input: Key = (*self.metered, _INPUT)
        self.output: Key = (*self.metered, _OUTPUT)


_series = lru_cache(MOST_VALUES)(_Series)


class _Call:
    """What is known of a call so far: numbers and names, never a word that was said."""

    def __init__(self, span: OpenSpan, series: _Series, request: GenerateInput) -> None:
        self.span = span
        self._series = series
        self._request = request
        self._started = perf_counter()
        # When the first chunk came.
        self.first: float | None = None
        self._usage = _NO_USAGE
        self._error: str | None = None
        self._finish = "stop"
        # Whether the stream came to its end: a reader that stops, or is cancelled, leaves before.
        self.complete = False

    def note(self, chunk: Chunk) -> None:
        match chunk:
            case TokenUsage():
                self._usage = chunk
            case ErrorChunk():
                self._error = chunk.code.value
            case FinishChunk(reason):
                self._finish = reason.value
            case _:
                pass

    def end(self) -> None:
        if self._error is None and not self.complete:
            self._error = "abandoned"
        self.span.error = self._error
        self.span.told = self._told()
        self.span.end()

    def _told(self) -> dict[str, AttributeValue]:
        request, usage = self._request, self._usage
        told: dict[str, AttributeValue] = {
            names.STREAM: True,
            names.CONVERSATION: request.execution_id,
            "tarsy.session.id": request.session_id,
            "tarsy.turn": request.turn,
            names.INPUT_TOKENS: usage.input_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
            names.CACHED_TOKENS: usage.cached_tokens,
            names.REASONING_TOKENS: usage.thinking_tokens,
            names.FINISH_REASONS: ("error" if self._error else self._finish,),
        }
        if self.first is not None:
            told[names.FIRST_CHUNK] = self.first - self._started
        if self._error:
            told[names.ERROR] = self._error
        return told

    def measure(self, instruments: Instruments) -> None:
        series, usage = self._series, self._usage
        key = (*series.metered, (names.ERROR, self._error)) if self._error else series.metered
        instruments.operation.record(perf_counter() - self._started, key)
        if usage.input_tokens:
            instruments.tokens.record(usage.input_tokens, series.input)
        if usage.output_tokens:
            instruments.tokens.record(usage.output_tokens, series.output)
