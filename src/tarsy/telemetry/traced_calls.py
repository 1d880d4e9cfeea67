"""Spans of model calls and tool calls. While a call runs, its span is the current one, so that adapters can propagate it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from time import perf_counter

from opentelemetry.context import Context, get_current
from opentelemetry.trace import SpanKind, use_span

from tarsy.agent.ports import LLMClient, ToolExecutor, ToolServers
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.llm import Chunk, ErrorChunk, FinishChunk, GenerateInput, LLMHealth
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolResult
from tarsy.domain.usage import TokenUsage
from tarsy.telemetry import conventions as names
from tarsy.telemetry.tracing import Tracing, fail, is_traced

# The error of calls whose caller stopped waiting or was cancelled.
_ABANDONED = "abandoned"


class TracedModel:
    """A model client whose calls are spans below their execution."""

    def __init__(self, inner: LLMClient, tracing: Tracing) -> None:
        self._inner = inner
        self._tracing = tracing

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        context = self._tracing.context_of(request.session_id, request.execution_id)
        return _traced_call(self._tracing, self._inner.generate(request), request, context, SpanKind.CLIENT)

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


def traced_models(models: LLMClient, env: Mapping[str, str]) -> LLMClient:
    """Return the models of the LLM service, traced if the environment names a collector."""
    return TracedService(models, Tracing(env)) if is_traced(env) else models


class TracedService(TracedModel):
    """The models of the LLM service; their calls are spans below that of the caller, whose context came with the request."""

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        return _traced_call(self._tracing, self._inner.generate(request), request, get_current(), SpanKind.SERVER)

    async def aclose(self) -> None:
        await super().aclose()
        self._tracing.close()


async def _traced_call(
    tracing: Tracing, inner: AsyncGenerator[Chunk], request: GenerateInput, context: Context, kind: SpanKind
) -> AsyncGenerator[Chunk]:
    """Pass on the chunks of `inner`. The span contains numbers and names, never text of the conversation."""
    provider = request.provider
    series = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: names.provider_name(provider.type),
        names.MODEL: provider.model,
    }
    span = tracing.tracer.start_span(
        f"{names.CHAT} {provider.model}",
        context,
        kind,
        attributes={
            **series,
            "tarsy.provider": provider.name,
            names.STREAM: True,
            names.CONVERSATION: request.execution_id,
            "tarsy.session.id": request.session_id,
            "tarsy.turn": request.turn,
        },
    )
    started, first = perf_counter(), None
    usage, finish_reason = TokenUsage(), "stop"
    # Stays if the reader stops or is cancelled before the end.
    error: str | None = _ABANDONED
    try:
        while True:
            # Current only while `inner` runs: between two chunks the context is that of the reader.
            with use_span(span, record_exception=False, set_status_on_exception=False):
                chunk = await anext(inner, None)
            if chunk is None:
                error = None if error == _ABANDONED else error
                break
            first = perf_counter() if first is None else first
            match chunk:
                case TokenUsage():
                    usage = chunk
                case ErrorChunk():
                    error = chunk.code.value
                case FinishChunk(reason):
                    finish_reason = reason.value
                case _:
                    pass
            yield chunk
    except Exception as raised:
        error = type(raised).__name__
        raise
    finally:
        try:
            await inner.aclose()
        finally:
            span.set_attributes(
                {
                    names.INPUT_TOKENS: usage.input_tokens,
                    names.OUTPUT_TOKENS: usage.output_tokens,
                    names.CACHED_TOKENS: usage.cached_tokens,
                    names.REASONING_TOKENS: usage.thinking_tokens,
                    names.FINISH_REASONS: ("error" if error else finish_reason,),
                }
            )
            if first is not None:
                span.set_attribute(names.FIRST_CHUNK, first - started)
            fail(span, error)
            span.end()
            tracing.operation_seconds.record(perf_counter() - started, {**series, names.ERROR: error} if error else series)
            for kind_of_tokens, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count:
                    tracing.tokens.record(count, {**series, names.TOKEN_TYPE: kind_of_tokens})


class TracedToolServers:
    """Tool servers whose calls are spans below their execution."""

    def __init__(self, inner: ToolServers, tracing: Tracing) -> None:
        self._inner = inner
        self._tracing = tracing

    @asynccontextmanager
    async def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AsyncGenerator[ToolExecutor]:
        async with self._inner.open(agent, servers, place=place, tag=tag) as tools:
            yield _TracedTools(tools, self._tracing, self._tracing.context_of(place.session_id, place.execution_id))


class _TracedTools:
    def __init__(self, inner: ToolExecutor, tracing: Tracing, context: Context) -> None:
        self._inner = inner
        self._tracing = tracing
        self._context = context

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL: call.name,
            names.TOOL_TYPE: names.EXTENSION,
            names.TOOL_CALL: call.id,
        }
        span = self._tracing.tracer.start_span(f"{names.EXECUTE_TOOL} {call.name}", self._context, attributes=attributes)
        started, error = perf_counter(), _ABANDONED
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                result = await self._inner.execute(call, on_output)
            error = ("timeout" if result.is_timeout else "refused" if result.refused else "tool_error") if result.is_error else None
        except Exception as raised:
            error = type(raised).__name__
            raise
        finally:
            fail(span, error)
            span.end()
            series = {names.TOOL: call.name}
            self._tracing.tool_seconds.record(perf_counter() - started, {**series, names.ERROR: error} if error else series)
        return result
