"""WorkerPool: claims work, keeps its claims alive, takes over what others dropped, and stops without losing anything."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import anyio
import structlog
from anyio.abc import TaskGroup

from tarsy.agent.stopping import StopReason
from tarsy.domain.claim import Claim, ClaimKind, ClaimLostError
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.work import Pulse, Work
from tarsy.kit.clock import Clock
from tarsy.queue.orphan_grace import OrphanGrace
from tarsy.queue.ports import Executor, OrphanRecovery, Queue
from tarsy.queue.wakeup import Wakeup
from tarsy.session.cancellation import Cancellations
from tarsy.session.dependencies import RunScope

# Chats and scorings have their own workers: an answer should not wait behind five investigations.
FOLLOWUP_WORKERS = 2
# A pause after an error that is not the database's: long enough not to spin, short enough to be back soon.
ERROR_PAUSE_SECONDS = 1.0
# A network that swallows everything without a word must not stop the heart: its next beat finds another way.
ANSWER_SECONDS = 15.0
# The same for a round of recovery, which may have many to take back.
ROUND_SECONDS = 60.0
# How long runs may take to write their last words and to close their tools when they are told to stop.
STOP_SECONDS = 15.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Times in seconds; see the `queue` section of the configuration."""

    worker_count: int
    max_concurrent_sessions: int
    poll_interval: float
    poll_interval_jitter: float
    heartbeat_interval: float
    orphan_detection_interval: float
    orphan_threshold: float
    graceful_shutdown_timeout: float


@dataclass(slots=True)
class Slot:
    """One worker and what it has in hand."""

    name: str
    kinds: tuple[ClaimKind, ...]
    claim: Claim | None = None
    scope: RunScope | None = None
    busy_since: datetime | None = None


class WorkerPool:
    def __init__(
        self,
        settings: PoolSettings,
        queue: Queue,
        recovery: OrphanRecovery,
        executor: Executor,
        *,
        cancellations: Cancellations,
        deliver: Callable[[Sequence[StoredLiveEvent]], None],
        clock: Clock,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._settings = settings
        self._queue = queue
        self._recovery = recovery
        self._executor = executor
        self._cancellations = cancellations
        self._deliver = deliver
        self._clock = clock
        self._mask = mask
        self._orphan_grace = OrphanGrace(
            clock.now(), heartbeat_interval=settings.heartbeat_interval, orphan_threshold=settings.orphan_threshold
        )
        self._bells = {ClaimKind.SESSION: Wakeup(), ClaimKind.CHAT: Wakeup()}
        self._draining = anyio.Event()
        # Rung whenever a worker has finished something.
        self._put_down = anyio.Event()
        self.slots = [
            *(Slot(f"worker-{number}", (ClaimKind.SESSION,)) for number in range(1, settings.worker_count + 1)),
            *(Slot(f"followup-{number}", (ClaimKind.CHAT, ClaimKind.SCORE)) for number in range(1, FOLLOWUP_WORKERS + 1)),
        ]

    def on_work(self, payload: str) -> None:
        """A notification says that there is something of this kind to claim."""
        kind = ClaimKind.SESSION if payload == ClaimKind.SESSION else ClaimKind.CHAT
        self._bells[kind].ring()

    def on_cancel(self, payload: str) -> None:
        """A notification says that what has this id should stop."""
        self._cancellations.cancel(payload)

    def on_gap(self) -> None:
        """Notifications may have been lost."""
        for bell in self._bells.values():
            bell.ring_all()

    async def run(self) -> None:
        """Work until `drain` was called and everything in hand is finished or handed back."""
        async with anyio.create_task_group() as upkeep:
            upkeep.start_soon(self._heartbeats, name="heartbeats")
            upkeep.start_soon(self._recover_orphans, name="orphan recovery")
            async with anyio.create_task_group() as workers:
                for slot in self.slots:
                    workers.start_soon(self._work, slot, name=slot.name)
                workers.start_soon(self._enforce_grace, workers, name="shutdown grace")
            upkeep.cancel_scope.cancel()

    async def work_off(self, kind: ClaimKind) -> None:
        """Do all waiting work of a kind here and now, for a process that has no other purpose."""
        slot = Slot("only", (kind,))
        while (work := await self._claim_any(slot.kinds)) is not None:
            await self._do(slot, work)

    def drain(self) -> None:
        """Stop claiming, everywhere at once; what runs may finish within the grace time."""
        self._draining.set()
        for bell in self._bells.values():
            bell.ring_all()

    def stop_now(self) -> None:
        """Hand back what runs, without waiting for it."""
        self.drain()
        for slot in self.slots:
            if slot.scope:
                slot.scope.stop(StopReason.HANDED_OVER)

    async def _enforce_grace(self, workers: TaskGroup) -> None:
        await self._draining.wait()
        if await self._all_idle(within=self._settings.graceful_shutdown_timeout):
            return
        log.warning("queue.grace_over", running=sum(slot.claim is not None for slot in self.slots))
        self.stop_now()
        if not await self._all_idle(within=STOP_SECONDS):
            workers.cancel_scope.cancel()

    async def _all_idle(self, *, within: float) -> bool:
        with anyio.move_on_after(within):
            while any(slot.claim for slot in self.slots):
                self._put_down = anyio.Event()
                await self._put_down.wait()
            return True
        return False

    async def _work(self, slot: Slot) -> None:
        bell = self._bells[slot.kinds[0]]
        while not self._draining.is_set():
            try:
                claimed = await self._claim_any(slot.kinds)
            except Exception as error:  # whatever it is, the next poll may find it gone
                if not self._queue.is_transient(error):
                    log.exception("queue.claim_failed", worker=slot.name)
                await anyio.sleep(ERROR_PAUSE_SECONDS)
                continue
            if claimed is None:
                jitter = random.uniform(0, self._settings.poll_interval_jitter)  # noqa: S311 - spreads polls, guards nothing
                await bell.wait(self._settings.poll_interval + jitter)
                continue
            # There may be more where this came from.
            bell.ring()
            await self._do(slot, claimed)

    async def _claim_any(self, kinds: Sequence[ClaimKind]) -> Work | None:
        for kind in kinds:
            with anyio.fail_after(ANSWER_SECONDS):
                claimed = await self._queue.claim(kind, cap=self._settings.max_concurrent_sessions)
            if claimed:
                work, events = claimed
                self._deliver(events)
                return work
        return None

    async def _do(self, slot: Slot, work: Work) -> None:
        """One piece of work, whatever happens in it: a broken session harms neither its neighbours nor the process."""
        slot.claim, slot.scope, slot.busy_since = work.claim, RunScope(), self._clock.now()
        log.info("work.claimed", kind=work.claim.kind.value, session_id=work.session.id, worker=slot.name)
        try:
            if self._draining.is_set():
                slot.scope.stop(StopReason.HANDED_OVER)
            await self._executor.execute(work, slot.scope)
            await self._put_away(work, slot.scope.stopped)
        except ClaimLostError:
            log.warning("work.lost", kind=work.claim.kind.value, session_id=work.session.id)
        except Exception as error:  # the per-session guard
            log.exception("work.broke", kind=work.claim.kind.value, session_id=work.session.id)
            await self._give_up(work.claim, error)
        finally:
            slot.claim, slot.scope, slot.busy_since = None, None, None
            self._put_down.set()

    async def _put_away(self, work: Work, stopped: StopReason | None) -> None:
        """What follows when a run was cut short."""
        if stopped is StopReason.HANDED_OVER:
            self._deliver(await self._queue.hand_back(work.claim))
        elif stopped is StopReason.LOST:
            raise ClaimLostError(work.claim)

    async def _give_up(self, claim: Claim, error: Exception) -> None:
        """End what broke by itself: it would break again. Only when the database was away, recovery tries once more."""
        if self._queue.is_transient(error):
            return
        reason = f"internal error: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no details'}"
        try:
            self._deliver(await self._recovery.fail(claim, self._mask(reason)))
        except Exception as again:  # noqa: BLE001 - recovery finds it by its silence
            log.warning("work.not_ended", kind=claim.kind.value, session_id=claim.session_id, error=str(again))

    async def _heartbeats(self) -> None:
        while True:
            await anyio.sleep(self._settings.heartbeat_interval)
            # Also with nothing in hand: it tells whether the database can be heard.
            held = [(slot, slot.claim) for slot in self.slots if slot.claim]
            claims = [claim for _, claim in held]
            try:
                with anyio.fail_after(ANSWER_SECONDS):
                    pulses = await self._queue.beat(claims)
                    unwanted = await self._queue.unwanted(claims)
            except Exception as error:  # noqa: BLE001 - a missed beat is survivable, and the next one is near
                log.warning("queue.heartbeat_failed", error=str(error) or type(error).__name__)
                continue
            self._orphan_grace.answered(self._clock.now())
            for slot, claim in held:
                self._act_on(pulses[claim.id], slot, claim)
            for execution_id in unwanted:
                self._cancellations.cancel(execution_id)

    def _act_on(self, pulse: Pulse, slot: Slot, claim: Claim) -> None:
        # The slot may have gone on to other work, or have claimed the same again, while the beat was under way.
        if slot.claim is not claim or slot.scope is None or pulse is Pulse.ALIVE:
            return
        slot.scope.stop(StopReason.CANCELLED if pulse is Pulse.CANCEL else StopReason.LOST)

    async def _recover_orphans(self) -> None:
        while True:
            if self._orphan_grace.is_good(self._clock.now()):
                await self._recover()
            jitter = random.uniform(0.8, 1.2)  # noqa: S311 - keeps replicas out of step
            await anyio.sleep(self._settings.orphan_detection_interval * jitter)

    async def _recover(self) -> None:
        try:
            with anyio.fail_after(ROUND_SECONDS):
                recovered, events = await self._recovery.run(silent_seconds=self._settings.orphan_threshold)
        except Exception as error:  # noqa: BLE001 - another process, or the next round, will do it
            log.warning("queue.recovery_failed", error=str(error) or type(error).__name__)
            return
        self._deliver(events)
        for one in recovered:
            log.warning("work.recovered", session_id=one.session_id, given_up=one.given_up)
