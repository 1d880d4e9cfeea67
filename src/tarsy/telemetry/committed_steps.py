"""Reads metrics off steps that were committed: each call and each end is counted if it was stored, and once."""

from collections.abc import Iterable
from functools import cache, partial

from tarsy.domain.execution import ExecutionChange
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.step import Step
from tarsy.telemetry.labels import BoundedLabel
from tarsy.telemetry.metrics import Metrics, ModelMetrics, ToolMetrics


class StepReader:
    """Counts the calls of a step."""

    def __init__(self, metrics: Metrics) -> None:
        self._models = ModelCalls(metrics.models)
        self._tools = ToolCalls(metrics.tools)
        self._citations = metrics.sessions.citations
        self._ceilings = metrics.sessions.ceilings

    def read(self, step: Step) -> None:
        for call in step.llm_interactions:
            self._models.count(call)
            if call.kind is LLMInteractionKind.SUMMARIZATION and call.error_code is None:
                self._tools.shortened("summarised")
        self._models.count_fallbacks(step.execution_changes)
        for close in step.closed:
            if close.metadata.get("folded"):
                self._tools.shortened("folded")
        for cited in step.citations:
            self._citations.labels(cited.checked.status.value).inc()
        for given in step.inputs:
            if isinstance(met := given.placed.value, CeilingMet):
                self._ceilings.labels(met.account, met.limit).inc()
        for exchange in step.mcp_interactions:
            if exchange.kind is MCPInteractionKind.TOOL_CALL:
                self._tools.count(exchange)


class _ModelSeries:
    """The series of one model: looking each up by its labels would cost more than counting."""

    def __init__(self, metrics: ModelMetrics, provider: str, model: str) -> None:
        self._calls = cache(partial(metrics.calls.labels, provider, model))
        self._seconds = metrics.seconds.labels(provider, model)
        self._first_chunk = metrics.first_chunk.labels(provider, model)
        self._tokens = [metrics.tokens.labels(provider, model, kind) for kind in ("input", "cached_input", "output", "thinking")]
        self._cost = cache(partial(metrics.cost.labels, provider, model))
        self._unpriced = cache(partial(metrics.unpriced.labels, provider, model))

    def count(self, call: LLMInteraction) -> None:
        usage = call.usage
        self._calls(call.kind.value, call.error_code or "ok").inc()
        self._seconds.observe(call.duration_ms / 1000)
        if call.first_chunk_ms is not None:
            self._first_chunk.observe(call.first_chunk_ms / 1000)
        for counter, tokens in zip(
            self._tokens, (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.thinking_tokens), strict=True
        ):
            if tokens:
                counter.inc(tokens)
        if (cost := call.cost_usd) is not None:
            self._cost().inc(float(cost))
        elif usage.total_tokens:
            self._unpriced().inc()


class ModelCalls:
    def __init__(self, metrics: ModelMetrics) -> None:
        self._metrics = metrics
        self._provider, self._model = BoundedLabel(), BoundedLabel()
        self._series = cache(partial(_ModelSeries, metrics))

    def count(self, call: LLMInteraction) -> None:
        self._series(self._provider(call.provider), self._model(call.model)).count(call)

    def count_fallbacks(self, changes: Iterable[ExecutionChange]) -> None:
        for change in changes:
            if change.llm_provider is not None:
                self._metrics.fallbacks.labels(self._provider(change.llm_provider), self._model(change.model_name or "")).inc()


class ToolCalls:
    def __init__(self, metrics: ToolMetrics) -> None:
        self._metrics = metrics
        self._server, self._tool = BoundedLabel(), BoundedLabel()
        self._calls, self._seconds = cache(metrics.calls.labels), cache(metrics.seconds.labels)

    def count(self, call: MCPInteraction) -> None:
        """A call with a name that no server offers is refused before it is one: it is not stored, and makes no series."""
        tool = self._server(call.server), self._tool(call.tool or "")
        self._calls(*tool, _outcome(call)).inc()
        self._seconds(*tool).observe(call.duration_ms / 1000)

    def shortened(self, how: str) -> None:
        self._metrics.shortened.labels(how).inc()


def _outcome(call: MCPInteraction) -> str:
    if call.result and call.result.get("is_timeout"):
        return "timeout"
    return "error" if call.is_error else "ok"
