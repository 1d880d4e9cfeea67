"""WorkerPool: claims work, sends heartbeats, recovers orphans, and stops without losing anything."""

import itertools
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never

import anyio
import structlog
from anyio.abc import TaskGroup

from tarsy.agent.execution import StopReason
from tarsy.config.schema.system import QueueConfig
from tarsy.domain.claim import Claim, WorkKind
from tarsy.domain.work import Claimed, HeartbeatResult, Lane, Park
from tarsy.kit.clock import Clock
from tarsy.queue.handler import Handler, Handlers, OrphanRecovery, Runner
from tarsy.queue.wakeup import Wakeup
from tarsy.session.run_scope import RunScope


class OrphanGrace:
    """Notes when the database answered. By the wall: a machine that slept heard nothing, though its other clock stood still."""

    def __init__(self, now: datetime, *, heartbeat_interval: float, orphan_threshold: float) -> None:
        # Far longer than a healthy process goes without an answer, and shorter than what makes an orphan.
        self._lapse = timedelta(seconds=orphan_threshold / 2)
        # Every worker that lives has sent a heartbeat by then.
        self._round = timedelta(seconds=2 * heartbeat_interval)
        self._answered_at = self._fair_from = now

    def answered(self, now: datetime) -> None:
        if now - self._answered_at > self._lapse:
            self._fair_from = now + self._round
        self._answered_at = now

    def is_good(self, now: datetime) -> bool:
        """Whether a worker that is silent now has had the chance to send a heartbeat."""
        return now >= self._fair_from and now - self._answered_at <= self._lapse


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


@dataclass(slots=True)
class Slot:
    """One worker and what it has in hand."""

    name: str
    lane: Lane
    claim: Claim | None = None
    scope: RunScope | None = None
    busy_since: datetime | None = None
    # There are fewer workers now: this one finishes what it has, and leaves.
    retired: bool = False


class WorkerPool:
    def __init__(
        self, config: QueueConfig, runner: Runner, recovery: OrphanRecovery, handlers: Iterable[Handler[Any]], *, clock: Clock
    ) -> None:
        self._recovery = recovery
        self._clock = clock
        self._configure(config, runner, handlers)
        self._workers: TaskGroup | None = None
        self._bells = {lane: Wakeup() for lane in Lane}
        self._draining = anyio.Event()
        # Set whenever a worker has finished something.
        self._put_down = anyio.Event()
        # Set when the next heartbeat should not wait for its time.
        self._beat_now = anyio.Event()
        self.slots = [
            *(Slot(f"worker-{number}", Lane.INVESTIGATIONS) for number in range(1, config.worker_count + 1)),
            *(Slot(f"followup-{number}", Lane.FOLLOW_UPS) for number in range(1, FOLLOWUP_WORKERS + 1)),
        ]

    def reconfigure(self, config: QueueConfig, runner: Runner, handlers: Iterable[Handler[Any]]) -> None:
        """Work by these rules from the next claim on; what is in hand goes on by those that it began with."""
        self._configure(config, runner, handlers)
        if not self._draining.is_set():
            self._resize(config.worker_count)
        # Sleepers wake up to new intervals, and the retired to leave.
        self.on_gap()

    def _resize(self, count: int) -> None:
        present = [slot for slot in self.slots if slot.lane is Lane.INVESTIGATIONS]
        # Those that have nothing in hand leave first.
        for place, slot in enumerate(sorted(present, key=lambda slot: slot.claim is None)):
            slot.retired = place >= count
        taken = {slot.name for slot in present}
        names = (name for number in itertools.count(1) if (name := f"worker-{number}") not in taken)
        for name in itertools.islice(names, max(0, count - len(present))):
            self._engage(Slot(name, Lane.INVESTIGATIONS))

    def _configure(self, config: QueueConfig, runner: Runner, handlers: Iterable[Handler[Any]]) -> None:
        self._config = config
        self._runner = runner
        self._handlers: Handlers = {handler.rules.kind: handler for handler in handlers}
        self._counted = tuple(kind for kind, handler in self._handlers.items() if handler.rules.counts_as_session)
        self._orphan_grace = OrphanGrace(
            self._clock.now(), heartbeat_interval=config.heartbeat_interval, orphan_threshold=config.orphan_threshold
        )

    def _engage(self, slot: Slot) -> None:
        self.slots.append(slot)
        if self._workers:
            self._workers.start_soon(self._work, slot, name=slot.name)

    def on_work(self, payload: str) -> None:
        """A notification says that there is something of this kind to claim."""
        handler = self._handlers.get(WorkKind(payload))
        if handler:
            self._bells[handler.rules.lane].ring()

    def on_pause(self, payload: str) -> None:
        """A notification says that a pause began or ended: the heartbeat tells what it means for what is in hand, a claim for the rest."""
        del payload  # both ask about everything
        self.on_gap()

    def on_cancel(self, payload: str) -> None:
        """A notification says that what has this id should stop."""
        self._runner.cancellations.cancel(payload)

    def on_gap(self) -> None:
        """Notifications may have been lost."""
        self._beat_now.set()
        for bell in self._bells.values():
            bell.ring_all()

    async def run(self) -> None:
        """Work until `drain` was called and everything in hand is finished or handed back."""
        async with anyio.create_task_group() as upkeep:
            upkeep.start_soon(self._heartbeats, name="heartbeats")
            upkeep.start_soon(self._recover_orphans, name="orphan recovery")
            async with anyio.create_task_group() as workers:
                self._workers = workers
                for slot in self.slots:
                    workers.start_soon(self._work, slot, name=slot.name)
                workers.start_soon(self._enforce_grace, workers, name="shutdown grace")
            upkeep.cancel_scope.cancel()

    async def work_off(self, kind: WorkKind) -> None:
        """Do all waiting work of a kind here and now, for a process that has no other purpose."""
        handler = self._handlers[kind]
        slot = Slot("only", handler.rules.lane)
        while (claimed := await self._claim(handler)) is not None:
            await self._do(slot, handler, claimed)

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
        if await self._all_idle(within=self._config.graceful_shutdown_timeout):
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
        await self._work_until_told(slot)
        if slot.retired:
            self.slots.remove(slot)

    async def _work_until_told(self, slot: Slot) -> None:
        bell = self._bells[slot.lane]
        while not self._is_over_for(slot):
            try:
                found = await self._claim_any(slot.lane)
            except Exception as error:  # whatever it is, the next poll may find it gone
                if not self._runner.is_transient(error):
                    log.exception("queue.claim_failed", worker=slot.name)
                await anyio.sleep(ERROR_PAUSE_SECONDS)
                continue
            if found is None:
                jitter = random.uniform(0, self._config.poll_interval_jitter)  # noqa: S311 - spreads polls, guards nothing
                # It may have been told while it looked.
                if not self._is_over_for(slot):
                    await bell.wait(self._config.poll_interval + jitter)
                continue
            # There may be more where this came from.
            bell.ring()
            await self._do(slot, *found)

    def _is_over_for(self, slot: Slot) -> bool:
        return self._draining.is_set() or slot.retired

    async def _claim_any(self, lane: Lane) -> tuple[Handler[Any], Claimed[Any]] | None:
        for handler in self._handlers.values():
            if handler.rules.lane is lane and (claimed := await self._claim(handler)):
                return handler, claimed
        return None

    async def _claim(self, handler: Handler[Any]) -> Claimed[Any] | None:
        with anyio.fail_after(ANSWER_SECONDS):
            found = await self._runner.queue.claim(
                handler.rules, counted=self._counted, max_concurrent_sessions=self._config.max_concurrent_sessions
            )
        if found is None:
            return None
        claimed, events = found
        self._runner.deliver(events)
        return claimed

    async def _do(self, slot: Slot, handler: Handler[Any], claimed: Claimed[Any]) -> None:
        slot.claim, slot.scope, slot.busy_since = claimed.claim, RunScope(), self._clock.now()
        log.info("work.claimed", kind=claimed.claim.kind, session_id=claimed.claim.session, worker=slot.name)
        try:
            if self._draining.is_set():
                slot.scope.stop(StopReason.HANDED_OVER)
            await self._runner.run_claimed(handler, claimed, slot.scope)
        finally:
            slot.claim, slot.scope, slot.busy_since = None, None, None
            self._put_down.set()

    async def _heartbeats(self) -> None:
        while True:
            with anyio.move_on_after(self._config.heartbeat_interval):
                await self._beat_now.wait()
            self._beat_now = anyio.Event()
            # Also with nothing in hand: it tells whether the database can be heard.
            held = [(slot, slot.claim) for slot in self.slots if slot.claim]
            claims = [claim for _, claim in held]
            try:
                with anyio.fail_after(ANSWER_SECONDS):
                    pulses = await self._runner.queue.beat(claims)
                    unwanted = await self._runner.queue.unwanted(claims)
            except Exception as error:  # noqa: BLE001 - a missed beat is survivable, and the next one is near
                log.warning("queue.heartbeat_failed", error=str(error) or type(error).__name__)
                continue
            self._orphan_grace.answered(self._clock.now())
            for slot, claim in held:
                self._act_on(pulses[claim.id], slot, claim)
            for execution_id in unwanted:
                self._runner.cancellations.cancel(execution_id)

    def _act_on(self, pulse: HeartbeatResult | Park, slot: Slot, claim: Claim) -> None:
        # The slot may have gone on to other work, or have claimed the same again, while the beat was under way.
        if slot.claim is not claim or slot.scope is None:
            return
        match pulse:
            case HeartbeatResult.ALIVE:
                return
            case HeartbeatResult.CANCEL:
                slot.scope.stop(StopReason.CANCELLED)
            case HeartbeatResult.LOST:
                slot.scope.stop(StopReason.LOST)
            case Park():
                if self._handlers[claim.kind].rules.held_by_pause:
                    slot.scope.park(pulse)
            case _:
                assert_never(pulse)

    async def _recover_orphans(self) -> None:
        while True:
            if self._orphan_grace.is_good(self._clock.now()):
                await self._recover()
            jitter = random.uniform(0.8, 1.2)  # noqa: S311 - keeps replicas out of step
            await anyio.sleep(self._config.orphan_detection_interval * jitter)

    async def _recover(self) -> None:
        try:
            with anyio.fail_after(ROUND_SECONDS):
                recovered, events = await self._recovery.run(silent_seconds=self._config.orphan_threshold, limits=self._recovery_limits())
        except Exception as error:  # noqa: BLE001 - another process, or the next round, will do it
            log.warning("queue.recovery_failed", error=str(error) or type(error).__name__)
            return
        self._runner.deliver(events)
        for one in recovered:
            log.warning("work.recovered", kind=one.claim.kind, session_id=one.claim.session, given_up=one.given_up)

    def _recovery_limits(self) -> Mapping[WorkKind, int]:
        every = self._config.max_recoveries
        return {
            kind: every if handler.rules.max_recoveries is None else handler.rules.max_recoveries
            for kind, handler in self._handlers.items()
        }
