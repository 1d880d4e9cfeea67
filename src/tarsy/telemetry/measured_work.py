"""Decorators around the ports of the queue, the journal and the way in."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.session import NewSession
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.work import Claimed, Parking, Pulse, Recovered, Release, WorkRules
from tarsy.telemetry.committed_steps import StepReader
from tarsy.telemetry.metrics import Metrics
from tarsy.telemetry.ports import Journal, Queue, Recovery, SessionStore
from tarsy.telemetry.session_times import SessionTimes


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
