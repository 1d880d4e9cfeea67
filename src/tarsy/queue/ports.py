"""What the worker pool needs from the table of work."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.work import Claimed, Parking, Pulse, Recovered, Release, WorkRules


class Queue(Protocol):
    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None: ...

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse | Parking]: ...

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]: ...

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]: ...

    async def finish(self, claim: Claim) -> None: ...


class OrphanRecovery(Protocol):
    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> tuple[list[Recovered], list[StoredLiveEvent]]: ...
