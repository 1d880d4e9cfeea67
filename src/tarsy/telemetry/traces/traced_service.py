"""Model calls as the LLM service sees them: below the span of the caller, which came with the request."""

from collections.abc import AsyncGenerator
from typing import Protocol

from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tarsy.domain.llm import Chunk, GenerateInput
from tarsy.kit.trace_context import traceparent
from tarsy.telemetry.traces.traced_model import traced_call
from tarsy.telemetry.traces.tracing import Tracing


class _Models(Protocol):
    def generate_for(self, request: GenerateInput, *, project: str | None = None, location: str | None = None) -> AsyncGenerator[Chunk]: ...

    async def aclose(self) -> None: ...


class TracedService:
    def __init__(self, inner: _Models, tracing: Tracing) -> None:
        self._inner = inner
        self._tracing = tracing

    def generate_for(self, request: GenerateInput, *, project: str | None = None, location: str | None = None) -> AsyncGenerator[Chunk]:
        header = traceparent.get()
        caller = _span_named(header) if header else None
        inner = self._inner.generate_for(request, project=project, location=location)
        return traced_call(self._tracing, inner, request, self._tracing.below_caller(caller), SpanKind.SERVER)

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._tracing.close()


def _span_named(header: str) -> SpanContext | None:
    """The span that a header `traceparent` names; None: none that can be made out."""
    found = get_current_span(TraceContextTextMapPropagator().extract({"traceparent": header}, Context())).get_span_context()
    return found if found.is_valid else None
