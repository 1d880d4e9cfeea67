"""Decorators around the journal, the history and the queue, which feed the book and tell what has ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.history import StageRecord
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.work import Claimed, Parking, Pulse, Release, WorkRules
from tarsy.telemetry.ports import History, Journal, Queue
from tarsy.telemetry.traces.run_book import RunBook
from tarsy.telemetry.traces.told_runs import ToldRuns


class TracedJournal:
    def __init__(self, inner: Journal, runs: ToldRuns) -> None:
        self._inner = inner
        self._runs = runs

    async def commit(self, step: Step) -> Committed:
        committed = await self._inner.commit(step)
        if not committed.refused:
            self._runs.committed(step)
        return committed

    async def load(self, execution_id: str) -> StoredRun:
        return await self._inner.load(execution_id)


class TracedHistory:
    """A worker that continues a session reads back what is open: that is how its spans are known here."""

    def __init__(self, inner: History, book: RunBook) -> None:
        self._inner = inner
        self._book = book

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.stages(session_id)
        self._book.read_back(records)
        return records

    async def told(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.told(session_id)
        self._book.read_back(records)
        return records

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        return await self._inner.questions(session_id)


class TracedQueue:
    def __init__(self, inner: Queue, book: RunBook) -> None:
        self._inner = inner
        self._book = book

    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None:
        found = await self._inner.claim(rules, counted=counted, max_concurrent_sessions=max_concurrent_sessions)
        if found:
            self._book.claimed(found[0].noun)
        return found

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse | Parking]:
        return await self._inner.beat(claims)

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]:
        return await self._inner.unwanted(claims)

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]:
        told = await self._inner.let_go(claim, wish)
        self._book.let_go(claim)
        return told

    async def finish(self, claim: Claim) -> None:
        await self._inner.finish(claim)
