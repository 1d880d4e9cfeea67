"""A kind of work: its rules, its handler, and the way from a claim to its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, assert_never

import structlog

from tarsy.agent.execution import StopReason
from tarsy.domain.claim import Claim, ClaimLostError, WorkKind
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, End, HeartbeatResult, Park, Recovered, Requeue, WorkRules
from tarsy.session.run_scope import Cancellations, RunScope

Subject = TypeVar("Subject")

log = structlog.get_logger(__name__)


class Handler(Protocol[Subject]):
    """Does one kind of work."""

    @property
    def rules(self) -> WorkRules: ...

    async def run(self, claimed: Claimed[Subject], scope: RunScope) -> Park | End | None:
        """Do the work, and return how to release it; None if its end is stored already."""
        ...

    async def end_early(self, claimed: Claimed[Subject], status: RunStatus) -> End | None:
        """End work that was cancelled or timed out; return None if its end is stored already."""
        ...


Handlers = Mapping[WorkKind, Handler[Any]]


class Queue(Protocol):
    """The table of work."""

    async def claim(self, rules: WorkRules, *, counted: Sequence[WorkKind], max_concurrent_sessions: int) -> Claimed[Any] | None: ...

    async def heartbeat(self, claims: Sequence[Claim]) -> Mapping[str, HeartbeatResult | Park]: ...

    async def cancelled_executions(self, claims: Sequence[Claim]) -> Sequence[str]: ...

    async def release(self, claim: Claim, how: Requeue | Park | End) -> None: ...


class OrphanRecovery(Protocol):
    """Takes back the work of processes that send no heartbeats."""

    async def run(self, *, silent_seconds: float, limits: Mapping[WorkKind, int]) -> list[Recovered]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs claimed work of any kind. Work that fails harms neither other work nor the process."""

    queue: Queue
    cancellations: Cancellations
    # Whether an error means that the database is temporarily unavailable.
    is_transient: Callable[[BaseException], bool]
    mask: Callable[[str], str] = str
    # Called with each claim after its run, however that ended.
    forget: Callable[[Claim], None] = lambda _claim: None

    async def run_claimed(self, handler: Handler[Any], claimed: Claimed[Any], scope: RunScope) -> None:
        """Run work from its claim to its end and release the claim. Raises nothing but cancellation."""
        claim = claimed.claim
        about = {"kind": claim.kind, "subject_id": claim.subject_id}
        if claim.session:
            # The id of a session's trace is the session's own, as OpenTelemetry writes it.
            about |= {"session_id": claim.session, "trace_id": claim.session.replace("-", "")}
        with structlog.contextvars.bound_contextvars(**about):
            try:
                how = await self._run(handler, claimed, scope)
                if how is not None:
                    await self.queue.release(claim, how)
            except ClaimLostError:
                log.warning("work.lost")
            except Exception as error:  # a bug ends this work, not the worker
                log.exception("work.broke")
                await self._end_failed(claim, error)
            finally:
                self.forget(claim)

    async def _run(self, handler: Handler[Any], claimed: Claimed[Any], scope: RunScope) -> Requeue | Park | End | None:
        how: Park | End | None = None
        with self.cancellations.registered(claimed.claim.subject_id, lambda: scope.stop(StopReason.CANCELLED)):
            async with scope.limited(claimed.seconds_left):
                how = await handler.run(claimed, scope)
        match scope.stopped:
            case None:
                return how
            case StopReason.CANCELLED:
                return await handler.end_early(claimed, RunStatus.CANCELLED)
            case StopReason.TIMED_OUT:
                return await handler.end_early(claimed, RunStatus.TIMED_OUT)
            case StopReason.HANDED_OVER:
                return Requeue()
            case StopReason.PARKED:
                return scope.parking or Requeue()
            case StopReason.LOST:
                raise ClaimLostError(claimed.claim)
            case _:
                assert_never(scope.stopped)

    async def _end_failed(self, claim: Claim, error: Exception) -> None:
        """End the work. If the database was unavailable, orphan recovery finds it."""
        if self.is_transient(error):
            return
        reason = f"internal error: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}"
        try:
            await self.queue.release(claim, End(RunStatus.FAILED, self.mask(reason)))
        except Exception as release_error:  # noqa: BLE001 - orphan recovery finds it by its missing heartbeats
            log.warning("work.not_ended", error=str(release_error) or type(release_error).__name__)
