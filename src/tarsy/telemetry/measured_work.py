"""Metrics of sessions and work: decorators around the ports of the queue, the journal and the session store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from time import perf_counter
from typing import Any

from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.live import SESSIONS_CHANNEL, LiveEventType, StoredLiveEvent
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.session import AlertSession, NewSession, SessionClose
from tarsy.domain.status import SessionStatus
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.work import Claimed, Parking, Pulse, Recovered, Release, WorkRules
from tarsy.telemetry.metrics import BoundedLabel, Metrics, ModelMetrics, SessionMetrics, ToolMetrics
from tarsy.telemetry.ports import Journal, Queue, Recovery, SessionStore


class SessionTimes:
    """Follows the sessions that this process has claimed. The process that ends a session is one that claimed it."""

    def __init__(self, metrics: SessionMetrics) -> None:
        self._metrics = metrics
        self._alert_type = BoundedLabel()
        self._claimed: dict[str, AlertSession] = {}

    def submitted(self, session: NewSession) -> None:
        self._metrics.submitted.labels(self._alert_type(session.alert_type)).inc()

    def claimed(self, claim: Claim, noun: object) -> None:
        if isinstance(noun, AlertSession):
            self._claimed[claim.token] = noun

    def let_go(self, claim: Claim) -> None:
        self._claimed.pop(claim.token, None)

    def closed(self, claim: Claim, close: SessionClose) -> None:
        session = self._claimed.pop(claim.token, None)
        if session is None or session.started_at is None:
            return
        self._metrics.wait.observe((session.started_at - session.created_at).total_seconds())
        self._metrics.run.labels(close.status.value).observe((close.completed_at - session.started_at).total_seconds())
        if close.status is SessionStatus.COMPLETED:
            self._metrics.alert_to_verdict.observe((close.completed_at - session.created_at).total_seconds())

    def told(self, events: Iterable[StoredLiveEvent]) -> None:
        """Count ends by what was told of them: whatever way a session ends, its end is told once in the channel of the list."""
        for event in events:
            if event.channel == SESSIONS_CHANNEL and event.payload["type"] == LiveEventType.SESSION_COMPLETED.value:
                self._metrics.ended.labels(self._alert_type(event.payload["alert_type"]), event.payload["status"]).inc()


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


class MeasuredJournal:
    """Times the commit of each step, and has it read once it is committed."""

    def __init__(self, inner: Journal, metrics: Metrics, times: SessionTimes) -> None:
        self._inner = inner
        self._seconds = metrics.work.step
        self._reader = StepReader(metrics)
        self._backlog = metrics.backlog
        self._times = times

    async def commit(self, step: Step) -> Committed:
        started, written = perf_counter(), False
        try:
            committed = await self._inner.commit(step)
            written = not committed.refused
        finally:
            self._backlog.add(self._count, perf_counter() - started, step if written else None)
        if step.session_close:
            self._times.closed(step.claim, step.session_close)
        return committed

    def _count(self, seconds: float, written: Step | None) -> None:
        self._seconds.observe(seconds)
        if written:
            self._reader.read(written)

    async def load(self, execution_id: str) -> StoredRun:
        return await self._inner.load(execution_id)


class MeasuredQueue:
    """Counts what is claimed and what is let go of."""

    def __init__(self, inner: Queue, metrics: Metrics, times: SessionTimes) -> None:
        self._inner = inner
        self._metrics = metrics.work
        self._times = times

    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None:
        found = await self._inner.claim(rules, counted=counted, max_concurrent_sessions=max_concurrent_sessions)
        if found:
            self._metrics.claimed.labels(rules.kind).inc()
            self._times.claimed(found[0].claim, found[0].noun)
        return found

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse | Parking]:
        return await self._inner.beat(claims)

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]:
        return await self._inner.unwanted(claims)

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]:
        told = await self._inner.let_go(claim, wish)
        self._times.let_go(claim)
        self._metrics.released.labels(claim.kind, type(wish).__name__.lower()).inc()
        return told

    async def finish(self, claim: Claim) -> None:
        await self._inner.finish(claim)
        self._times.let_go(claim)


class MeasuredRecovery:
    """Counts what is taken back from silent workers."""

    def __init__(self, inner: Recovery, metrics: Metrics) -> None:
        self._inner = inner
        self._recovered = metrics.work.recovered

    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> tuple[list[Recovered], list[StoredLiveEvent]]:
        recovered, told = await self._inner.run(silent_seconds=silent_seconds, limits=limits)
        for one in recovered:
            self._recovered.labels(one.claim.kind, "given_up" if one.given_up else "continued").inc()
        return recovered, told


class MeasuredStore:
    """Counts what comes in."""

    def __init__(self, inner: SessionStore, times: SessionTimes) -> None:
        self._inner = inner
        self._times = times

    async def insert(self, session: NewSession, *, max_queue_size: int | None = None) -> None:
        await self._inner.insert(session, max_queue_size=max_queue_size)
        self._times.submitted(session)

    async def submitted(self, session_id: str) -> tuple[str, str] | None:
        return await self._inner.submitted(session_id)


def measured_delivery(
    inner: Callable[[Sequence[StoredLiveEvent]], None], times: SessionTimes
) -> Callable[[Sequence[StoredLiveEvent]], None]:
    """Hands committed events on, and reads the ends of sessions off them."""

    def deliver(events: Sequence[StoredLiveEvent]) -> None:
        times.told(events)
        inner(events)

    return deliver
