"""A kind of work: its rules, its handler, and the way from a claim to its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, assert_never

import structlog

from tarsy.agent.execution import StopReason
from tarsy.domain.claim import Claim, ClaimLostError, WorkKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, End, HeartbeatResult, Park, Recovered, Release, Requeue, RetryLater, RunEnd, WorkRules
from tarsy.session.run_scope import Cancellations, RunScope


class Queue(Protocol):
    async def claim(
        self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int
    ) -> tuple[Claimed[Any], list[StoredLiveEvent]] | None: ...

    async def beat(self, claims: Sequence[Claim]) -> Mapping[str, HeartbeatResult | Park]: ...

    async def unwanted(self, claims: Sequence[Claim]) -> Sequence[str]: ...

    async def let_go(self, claim: Claim, wish: Release) -> list[StoredLiveEvent]: ...

    async def finish(self, claim: Claim) -> None: ...


class OrphanRecovery(Protocol):
    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> tuple[list[Recovered], list[StoredLiveEvent]]: ...


Noun = TypeVar("Noun")

log = structlog.get_logger(__name__)


class Handler(Protocol[Noun]):
    """Does one kind of work."""

    @property
    def rules(self) -> WorkRules: ...

    async def run(self, claimed: Claimed[Noun], scope: RunScope) -> RunEnd | Park:
        """Do the work to its end, or as far as it goes before it has to wait."""
        ...

    async def end_early(self, claimed: Claimed[Noun], status: RunStatus) -> RunEnd:
        """What it means that the work was cancelled, or ran out of time."""
        ...


def _session_of(claim: Claim) -> dict[str, str]:
    """The session and its trace, whose id is the session's as OpenTelemetry writes it."""
    return {"session_id": claim.session, "trace_id": claim.session.replace("-", "")} if claim.session else {}


Handlers = Mapping[WorkKind, Handler[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs whatever was claimed: a broken piece of work harms neither its neighbours nor the process."""

    queue: Queue
    cancellations: Cancellations
    deliver: Callable[[Sequence[StoredLiveEvent]], None]
    # Whether an error says that the database is away for now.
    is_transient: Callable[[BaseException], bool]
    mask: Callable[[str], str] = str

    async def run_claimed(self, handler: Handler[Any], claimed: Claimed[Any], scope: RunScope) -> None:
        """From the claim to its end, whatever happens in between."""
        told = {"kind": claimed.claim.kind, "subject_id": claimed.claim.subject_id, **_session_of(claimed.claim)}
        # Whatever is logged on the way says which session it was about.
        with structlog.contextvars.bound_contextvars(**told):
            try:
                await self._run(handler, claimed, scope)
            except ClaimLostError:
                log.warning("work.lost")
            except Exception as error:  # the per-session guard
                log.exception("work.broke")
                await self._give_up(handler, claimed, error)

    async def _run(self, handler: Handler[Any], claimed: Claimed[Any], scope: RunScope) -> None:
        ended: RunEnd | Park = RunEnd.WRITTEN
        with self.cancellations.registered(claimed.claim.subject_id, lambda: scope.stop(StopReason.CANCELLED)):
            async with scope.limited(claimed.seconds_left):
                ended = await handler.run(claimed, scope)
        match scope.stopped:
            case None:
                await self._end(claimed, ended)
            case StopReason.CANCELLED:
                await self._end(claimed, await handler.end_early(claimed, RunStatus.CANCELLED))
            case StopReason.TIMED_OUT:
                await self._end(claimed, await handler.end_early(claimed, RunStatus.TIMED_OUT))
            case StopReason.HANDED_OVER:
                await self._let_go(claimed, Requeue())
            case StopReason.PARKED:
                await self._let_go(claimed, scope.parking or Requeue())
            case StopReason.LOST:
                raise ClaimLostError(claimed.claim)
            case _:
                assert_never(scope.stopped)

    async def _end(self, claimed: Claimed[Any], ended: RunEnd | Park) -> None:
        match ended:
            case Park():
                await self._let_go(claimed, ended)
            case RunEnd.FINISHED:
                await self.queue.finish(claimed.claim)
            case RunEnd.WRITTEN:
                return
            case _:
                assert_never(ended)

    async def _let_go(self, claimed: Claimed[Any], wish: Release) -> None:
        self.deliver(await self.queue.let_go(claimed.claim, wish))

    async def _give_up(self, handler: Handler[Any], claimed: Claimed[Any], error: Exception) -> None:
        """Try again what the rules let be tried again; end what broke for good. When the database was away, recovery sees to it."""
        if self.is_transient(error):
            return
        pause = handler.rules.retry.delay_after(claimed.failures + 1)
        reason = f"internal error: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}"
        wish = End(RunStatus.FAILED, self.mask(reason)) if pause is None else RetryLater(pause)
        try:
            await self._let_go(claimed, wish)
        except Exception as again:  # noqa: BLE001 - recovery finds it by its silence
            log.warning("work.not_ended", kind=claimed.claim.kind, subject_id=claimed.claim.subject_id, error=str(again))
