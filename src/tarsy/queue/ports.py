"""What the worker pool needs from the queue's database, and who does the work it claims."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tarsy.domain.claim import Claim, ClaimKind
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.work import Pulse, Recovered, Work
from tarsy.session.dependencies import RunScope


class Queue(Protocol):
    async def claim(self, kind: ClaimKind, *, cap: int) -> tuple[Work, list[StoredLiveEvent]] | None: ...

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, Pulse]: ...

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]: ...

    async def hand_back(self, claim: Claim) -> list[StoredLiveEvent]: ...

    def is_transient(self, error: BaseException) -> bool:
        """Whether an error says that the database is away for now, not that it refuses what it was asked."""
        ...


class OrphanRecovery(Protocol):
    async def run(self, *, silent_seconds: float) -> tuple[list[Recovered], list[StoredLiveEvent]]: ...

    async def fail(self, claim: Claim, reason: str) -> list[StoredLiveEvent]: ...


class Executor(Protocol):
    """Does a piece of work to its end, or until its scope is stopped."""

    async def execute(self, work: Work, scope: RunScope) -> None: ...
