"""Metrics and spans of sessions and work: decorators around the ports of the queue and the journal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarsy.agent.ports import Journal
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.live_events import SESSIONS_CHANNEL, LiveEventType, StoredLiveEvent
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.session import AlertSession, NewSession, SessionClose
from tarsy.domain.status import SessionStatus
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.work import Claimed, End, HeartbeatResult, Park, Recovered, Requeue, WorkRules
from tarsy.queue.handler import OrphanRecovery, Queue
from tarsy.telemetry.metrics import BoundedLabel, Metrics, SessionMetrics
from tarsy.telemetry.traced_runs import RunSpans

# Values of the label `how`.
_RELEASED: Mapping[type[Requeue | Park | End], str] = {Requeue: "continues", Park: "parking", End: "ends"}


class SessionTimes:
    """Measures how long sessions waited and ran, and counts how they ended. The process that ends a session is one that claimed it."""

    def __init__(self, metrics: SessionMetrics) -> None:
        self._metrics = metrics
        self._alert_type = BoundedLabel()
        # By the token of their claim.
        self._claimed: dict[str, AlertSession] = {}

    def count_submission(self, session: NewSession) -> None:
        self._metrics.submitted.labels(self._alert_type(session.alert_type)).inc()

    def follow(self, claim: Claim, subject: object) -> None:
        if isinstance(subject, AlertSession):
            self._claimed[claim.token] = subject

    def forget(self, claim: Claim) -> None:
        self._claimed.pop(claim.token, None)

    def observe_end(self, claim: Claim, close: SessionClose) -> None:
        session = self._claimed.pop(claim.token, None)
        if session is None or session.started_at is None:
            return
        self._metrics.wait.observe((session.started_at - session.created_at).total_seconds())
        self._metrics.run.labels(close.status.value).observe((close.completed_at - session.started_at).total_seconds())
        if close.status is SessionStatus.COMPLETED:
            self._metrics.alert_to_verdict.observe((close.completed_at - session.created_at).total_seconds())

    def count_ends(self, events: Iterable[StoredLiveEvent]) -> None:
        """Count the sessions that ended. Every end publishes one event in the channel of the session list."""
        for event in events:
            if event.channel == SESSIONS_CHANNEL and event.payload["type"] == LiveEventType.SESSION_COMPLETED.value:
                self._metrics.ended.labels(self._alert_type(event.payload["alert_type"]), event.payload["status"]).inc()


class StepMetrics:
    """Counts the calls, citations and ceilings of committed steps: each is counted once, and only if it was stored."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._provider, self._model = BoundedLabel(), BoundedLabel()
        self._server, self._tool = BoundedLabel(), BoundedLabel()

    def count(self, step: Step) -> None:
        for call in step.llm_interactions:
            self._count_model_call(call)
        for change in step.execution_changes:
            if change.llm_provider is not None:
                labels = self._provider(change.llm_provider), self._model(change.model_name or "")
                self._metrics.models.fallbacks.labels(*labels).inc()
        for close in step.closed:
            if close.metadata.get("folded"):
                self._metrics.tools.shortened.labels("folded").inc()
        for cited in step.citations:
            self._metrics.sessions.citations.labels(cited.checked.status.value).inc()
        for given in step.inputs:
            if isinstance(met := given.placed.value, CeilingMet):
                self._metrics.sessions.ceilings.labels(met.account, met.limit).inc()
        for exchange in step.mcp_interactions:
            self._count_tool_call(exchange)

    def _count_model_call(self, call: LLMInteraction) -> None:
        metrics, usage = self._metrics.models, call.usage
        model = self._provider(call.provider), self._model(call.model)
        metrics.calls.labels(*model, call.kind.value, call.error_code or "ok").inc()
        metrics.seconds.labels(*model).observe(call.duration_ms / 1000)
        if call.first_chunk_ms is not None:
            metrics.first_chunk.labels(*model).observe(call.first_chunk_ms / 1000)
        metrics.tokens.labels(*model, "input").inc(usage.input_tokens)
        metrics.tokens.labels(*model, "cached_input").inc(usage.cached_tokens)
        metrics.tokens.labels(*model, "output").inc(usage.output_tokens)
        metrics.tokens.labels(*model, "thinking").inc(usage.thinking_tokens)
        if call.cost_usd is not None:
            metrics.cost.labels(*model).inc(float(call.cost_usd))
        elif usage.total_tokens:
            metrics.unpriced.labels(*model).inc()
        if call.kind is LLMInteractionKind.SUMMARIZATION and call.error_code is None:
            self._metrics.tools.shortened.labels("summarised").inc()

    def _count_tool_call(self, call: MCPInteraction) -> None:
        if call.kind is not MCPInteractionKind.TOOL_CALL:
            return
        # A name that no server offers is rejected before it becomes a call: it is not stored, and makes no series.
        tool = self._server(call.server), self._tool(call.tool or "")
        timed_out = bool(call.result and call.result.get("is_timeout"))
        self._metrics.tools.calls.labels(*tool, "timeout" if timed_out else "error" if call.is_error else "ok").inc()
        self._metrics.tools.seconds.labels(*tool).observe(call.duration_ms / 1000)


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What one process measures; `spans` is None if no collector is configured."""

    metrics: Metrics
    times: SessionTimes
    spans: RunSpans | None = None

    def follow(self, claim: Claim, subject: object) -> None:
        """Follow the work of a claim until its end."""
        self.times.follow(claim, subject)
        if self.spans:
            self.spans.follow(claim, subject)

    def forget(self, claim: Claim) -> None:
        """Forget the work of a claim whose run has ended, or goes on in another process."""
        self.times.forget(claim)
        if self.spans:
            self.spans.forget(claim)


class MeasuredJournal:
    """Times the commit of each step; once it is committed, counts its contents and exports the spans that end with it."""

    def __init__(self, inner: Journal, telemetry: Telemetry) -> None:
        self._inner = inner
        self._seconds = telemetry.metrics.work.step
        self._steps = StepMetrics(telemetry.metrics)
        self._times = telemetry.times
        self._spans = telemetry.spans

    async def commit(self, step: Step) -> Committed:
        with self._seconds.time():
            committed = await self._inner.commit(step)
        if not committed.refused:
            self._steps.count(step)
        if step.session_close:
            self._times.observe_end(step.claim, step.session_close)
        if self._spans and not committed.refused:
            self._spans.record(step)
        return committed

    async def load(self, execution_id: str) -> StoredRun:
        return await self._inner.load(execution_id)


class MeasuredQueue:
    """Counts claims and releases, and follows the claimed sessions for their times and spans."""

    def __init__(self, inner: Queue, telemetry: Telemetry) -> None:
        self._inner = inner
        self._telemetry = telemetry
        self._metrics = telemetry.metrics.work

    async def claim(self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int) -> Claimed[Any] | None:
        claimed = await self._inner.claim(rules, counted=counted, max_concurrent_sessions=max_concurrent_sessions)
        if claimed:
            self._metrics.claimed.labels(rules.kind).inc()
            self._telemetry.follow(claimed.claim, claimed.subject)
        return claimed

    async def heartbeat(self, claims: Sequence[Claim]) -> Mapping[str, HeartbeatResult | Park]:
        return await self._inner.heartbeat(claims)

    async def cancelled_executions(self, claims: Sequence[Claim]) -> Sequence[str]:
        return await self._inner.cancelled_executions(claims)

    async def release(self, claim: Claim, how: Requeue | Park | End) -> None:
        await self._inner.release(claim, how)
        self._metrics.released.labels(claim.kind, _RELEASED[type(how)]).inc()


class MeasuredRecovery:
    """Counts orphans that are recovered."""

    def __init__(self, inner: OrphanRecovery, metrics: Metrics) -> None:
        self._inner = inner
        self._recovered = metrics.work.recovered

    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> list[Recovered]:
        recovered = await self._inner.run(silent_seconds=silent_seconds, limits=limits)
        for one in recovered:
            self._recovered.labels(one.claim.kind, "given_up" if one.given_up else "continued").inc()
        return recovered


def measured_delivery(
    inner: Callable[[Sequence[StoredLiveEvent]], None], times: SessionTimes
) -> Callable[[Sequence[StoredLiveEvent]], None]:
    """Return a function that delivers committed events and counts the sessions that ended."""

    def deliver(events: Sequence[StoredLiveEvent]) -> None:
        times.count_ends(events)
        inner(events)

    return deliver
