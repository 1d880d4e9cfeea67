"""WorkerPool: claims work, sends heartbeats, recovers orphans, and stops without losing anything. Without handlers it has no workers."""

import itertools
import random
from collections.abc import Iterable
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
from tarsy.kit.auto_reset_event import AutoResetEvent
from tarsy.kit.clock import Clock
from tarsy.kit.logs import logged_errors
from tarsy.queue.handler import Handler, Handlers, OrphanRecovery, Runner
from tarsy.queue.wakeup import Wakeup
from tarsy.session.run_scope import RunScope

# Chats and scorings have their own workers: an answer should not wait behind five investigations.
FOLLOWUP_WORKERS = 2
# The pause after an error that is not the database's: long enough not to spin, short enough to be back soon.
ERROR_PAUSE_SECONDS = 1.0
# A network that drops everything must not stop the heartbeats: the next one takes another connection.
ANSWER_SECONDS = 15.0
# The same for a round of recovery, which may have many orphans to take back.
ROUND_SECONDS = 60.0
# How long runs may take to write their last step and to close their tools when they are stopped.
STOP_SECONDS = 15.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Worker:
    """A worker, with the work that it has claimed."""

    name: str
    lane: Lane
    claim: Claim | None = None
    scope: RunScope | None = None
    busy_since: datetime | None = None
    # The pool has become smaller: this worker ends after its current work.
    retired: bool = False


class WorkerPool:
    """The workers of a process. `run` works until `drain` or `stop_now` is called; database notifications (`NOTIFY`) only make it faster."""

    def __init__(
        self, config: QueueConfig, runner: Runner, recovery: OrphanRecovery | None, handlers: Iterable[Handler[Any]], *, clock: Clock
    ) -> None:
        # None: it leaves orphans to other processes.
        self._recovery = recovery
        self._clock = clock
        self._configure(config, runner, handlers)
        self._orphan_grace = OrphanGrace(
            clock.now(), heartbeat_interval=config.heartbeat_interval, orphan_threshold=config.orphan_threshold
        )
        # Set while `run` runs: the tasks of the workers.
        self._tasks: TaskGroup | None = None
        self._wakeups = {lane: Wakeup() for lane in Lane}
        self._draining = anyio.Event()
        # Cancelled when running work is released at once.
        self._shutdown_grace = anyio.CancelScope()
        # Set by `stop_now`, so that callers cut their own waits short.
        self.stopping_now = anyio.Event()
        # Set whenever a worker has finished something.
        self._worker_freed = AutoResetEvent()
        # Set when the next heartbeat should be sent at once.
        self._heartbeat_due = AutoResetEvent()
        self.workers: list[Worker] = []
        self._resize()

    def _configure(self, config: QueueConfig, runner: Runner, handlers: Iterable[Handler[Any]]) -> None:
        self._config = config
        self._runner = runner
        self._handlers: Handlers = {handler.rules.kind: handler for handler in handlers}
        self._counted = tuple(kind for kind, handler in self._handlers.items() if handler.rules.counts_as_session)

    def reconfigure(self, config: QueueConfig, runner: Runner, handlers: Iterable[Handler[Any]]) -> None:
        """Use this configuration from the next claim on; work that is running keeps the one it began with."""
        self._configure(config, runner, handlers)
        self._orphan_grace.configure(heartbeat_interval=config.heartbeat_interval, orphan_threshold=config.orphan_threshold)
        if not self._draining.is_set():
            self._resize()
        # Idle workers take up the new intervals, and retired ones end.
        self.wake_all()

    def _resize(self) -> None:
        """Give each lane that has a handler its number of workers."""
        lanes = {handler.rules.lane for handler in self._handlers.values()}
        # One for every notification that may be sent at once: a receiver that hangs keeps no worker from the other targets.
        senders = sum(handler.rules.max_concurrent or 1 for handler in self._handlers.values() if handler.rules.lane is Lane.NOTIFICATIONS)
        for lane, name, wanted in (
            (Lane.INVESTIGATIONS, "worker", self._config.worker_count),
            (Lane.FOLLOW_UPS, "followup", FOLLOWUP_WORKERS),
            (Lane.NOTIFICATIONS, "notifier", senders),
        ):
            count = wanted if lane in lanes else 0
            present = [worker for worker in self.workers if worker.lane is lane]
            # Idle workers retire first.
            for place, worker in enumerate(sorted(present, key=lambda worker: worker.claim is None)):
                worker.retired = place >= count
            taken = {worker.name for worker in present}
            names = (free for number in itertools.count(1) if (free := f"{name}-{number}") not in taken)
            for free in itertools.islice(names, max(0, count - len(present))):
                worker = Worker(free, lane)
                self.workers.append(worker)
                if self._tasks:
                    self._tasks.start_soon(self._work, worker, name=worker.name)

    # ---- database notifications

    def on_work(self, payload: str) -> None:
        """There is work of this kind to claim."""
        handler = self._handlers.get(WorkKind(payload))
        if handler:
            self._wakeups[handler.rules.lane].wake_one()

    def on_pause(self, payload: str) -> None:
        """A pause began or ended: the next heartbeat parks running work, and the next claim respects it."""
        del payload  # heartbeats and claims ask about all chains
        self.wake_all()

    def on_cancel(self, payload: str) -> None:
        """The work or execution with this id is to be cancelled."""
        self._runner.cancellations.cancel(payload)

    def wake_all(self) -> None:
        """Send a heartbeat and look for work at once: database notifications may have been lost, or what may be claimed has changed."""
        self._heartbeat_due.set()
        for wakeup in self._wakeups.values():
            wakeup.wake_all()

    # ---- the life of the pool

    async def run(self) -> None:
        """Work until `drain` was called and all work is finished or released."""
        async with anyio.create_task_group() as maintenance:
            if self._handlers:
                maintenance.start_soon(self._send_heartbeats, name="heartbeats")
            if self._recovery:
                maintenance.start_soon(self._recover_orphans, self._recovery, name="orphan recovery")
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                for worker in self.workers:
                    tasks.start_soon(self._work, worker, name=worker.name)
                tasks.start_soon(self._enforce_shutdown_grace, tasks, name="shutdown grace")
            maintenance.cancel_scope.cancel()

    async def run_waiting(self, kind: WorkKind) -> None:
        """Do all waiting work of a kind one after the other, without heartbeats, and return."""
        handler = self._handlers[kind]
        worker = Worker("only", handler.rules.lane)
        while (claimed := await self._claim(handler)) is not None:
            await self._run_claimed(worker, handler, claimed)

    @property
    def is_draining(self) -> bool:
        """Whether the pool was told to stop claiming."""
        return self._draining.is_set()

    def drain(self) -> None:
        """Stop claiming; running work may finish within the grace time, as long as the database answers."""
        if not self._draining.is_set():
            # The next heartbeat shows whether the database answers.
            self._heartbeat_due.set()
        self._draining.set()
        for wakeup in self._wakeups.values():
            wakeup.wake_all()

    def stop_now(self) -> None:
        """Stop claiming and release running work at once."""
        self.drain()
        self._shutdown_grace.cancel()
        self.stopping_now.set()
        for worker in self.workers:
            if worker.scope:
                worker.scope.stop(StopReason.HANDED_OVER)

    async def _enforce_shutdown_grace(self, tasks: TaskGroup) -> None:
        await self._draining.wait()
        with self._shutdown_grace:
            if await self._all_idle(within=self._config.graceful_shutdown_timeout):
                return
            log.warning("queue.grace_over", running=sum(worker.claim is not None for worker in self.workers))
            self.stop_now()
        if not await self._all_idle(within=STOP_SECONDS):
            tasks.cancel_scope.cancel()

    async def _all_idle(self, *, within: float) -> bool:
        with anyio.move_on_after(within):
            while any(worker.claim for worker in self.workers):
                await self._worker_freed.wait()
            return True
        return False

    # ---- one worker

    async def _work(self, worker: Worker) -> None:
        """Claim work and run it until the pool drains or the worker retires."""
        wakeup = self._wakeups[worker.lane]
        while not self._is_over_for(worker):
            try:
                found = None
                for handler in self._handlers.values():
                    if handler.rules.lane is worker.lane and (claimed := await self._claim(handler)):
                        found = handler, claimed
                        break
            except Exception as error:  # any error may be gone at the next poll
                if not self._runner.is_transient(error):
                    log.exception("queue.claim_failed", worker=worker.name)
                await anyio.sleep(ERROR_PAUSE_SECONDS)
                continue
            if found:
                # There may be more: another worker tries, too.
                wakeup.wake_one()
                await self._run_claimed(worker, *found)
            # The pool may have begun to drain during the claim.
            elif not self._is_over_for(worker):
                jitter = random.uniform(0, self._config.poll_interval_jitter)  # noqa: S311 - spreads polls, guards nothing
                await wakeup.wait(self._config.poll_interval + jitter)
        if worker.retired:
            self.workers.remove(worker)

    def _is_over_for(self, worker: Worker) -> bool:
        return self._draining.is_set() or worker.retired

    async def _claim(self, handler: Handler[Any]) -> Claimed[Any] | None:
        with anyio.fail_after(ANSWER_SECONDS):
            return await self._runner.queue.claim(
                handler.rules, counted=self._counted, max_concurrent_sessions=self._config.max_concurrent_sessions
            )

    async def _run_claimed(self, worker: Worker, handler: Handler[Any], claimed: Claimed[Any]) -> None:
        worker.claim, worker.scope, worker.busy_since = claimed.claim, RunScope(), self._clock.now()
        log.info("work.claimed", kind=claimed.claim.kind, session_id=claimed.claim.session, worker=worker.name)
        try:
            if self._draining.is_set():
                worker.scope.stop(StopReason.HANDED_OVER)
            await self._runner.run_claimed(handler, claimed, worker.scope)
        finally:
            worker.claim, worker.scope, worker.busy_since = None, None, None
            self._worker_freed.set()

    # ---- heartbeats and orphans

    async def _send_heartbeats(self) -> None:
        while True:
            await self._heartbeat_due.wait(self._config.heartbeat_interval)
            held = [(worker, worker.claim) for worker in self.workers if worker.claim]
            claims = [claim for _, claim in held]
            try:
                # Also without any claim: the answer shows that the database can be reached.
                with anyio.fail_after(ANSWER_SECONDS):
                    results = await self._runner.queue.heartbeat(claims)
                    cancelled = await self._runner.queue.cancelled_executions(claims)
            except Exception as error:  # noqa: BLE001 - one missed heartbeat is no harm, and the next one is near
                log.warning("queue.heartbeat_failed", error=str(error) or type(error).__name__)
                if self._draining.is_set():
                    # Work cannot finish without the database: after a restart, or in another process, it is resumed.
                    self.stop_now()
                continue
            self._orphan_grace.answered(self._clock.now())
            for worker, claim in held:
                self._apply(results[claim.id], worker, claim)
            for execution_id in cancelled:
                self._runner.cancellations.cancel(execution_id)

    def _apply(self, result: HeartbeatResult | Park, worker: Worker, claim: Claim) -> None:
        # While the heartbeat was on its way, the worker may have gone on to other work, or have claimed the same work again.
        if worker.claim is not claim or worker.scope is None:
            return
        match result:
            case HeartbeatResult.ALIVE:
                return
            case HeartbeatResult.CANCEL:
                worker.scope.stop(StopReason.CANCELLED)
            case HeartbeatResult.LOST:
                worker.scope.stop(StopReason.LOST)
            case Park():
                # A reload may have removed the handler of work that still runs.
                handler = self._handlers.get(claim.kind)
                if handler and handler.rules.held_by_pause:
                    worker.scope.park(result)
            case _:
                assert_never(result)

    async def _recover_orphans(self, recovery: OrphanRecovery) -> None:
        while True:
            if self._orphan_grace.is_over(self._clock.now()):
                limits = {
                    kind: self._config.max_recoveries if handler.rules.max_recoveries is None else handler.rules.max_recoveries
                    for kind, handler in self._handlers.items()
                }
                with logged_errors("queue.recovery_failed"), anyio.fail_after(ROUND_SECONDS):
                    for one in await recovery.run(silent_seconds=self._config.orphan_threshold, limits=limits):
                        log.warning("work.recovered", kind=one.claim.kind, session_id=one.claim.session, given_up=one.given_up)
            jitter = random.uniform(0.8, 1.2)  # noqa: S311 - keeps replicas out of step
            await anyio.sleep(self._config.orphan_detection_interval * jitter)


class OrphanGrace:
    """Decides whether missing heartbeats mean that a worker is gone: while the database was unavailable, no worker could send any.

    It uses the wall clock, because the monotonic clock stands still while a machine sleeps.
    """

    def __init__(self, now: datetime, *, heartbeat_interval: float, orphan_threshold: float) -> None:
        self.configure(heartbeat_interval=heartbeat_interval, orphan_threshold=orphan_threshold)
        self._answered_at = self._over_at = now

    def configure(self, *, heartbeat_interval: float, orphan_threshold: float) -> None:
        """Use these times from now on; an outage that has begun, or has just ended, still counts."""
        # Far longer than a healthy process goes without an answer, and shorter than the orphan threshold.
        self._lapse = timedelta(seconds=orphan_threshold / 2)
        # Every live worker has sent a heartbeat by then.
        self._round = timedelta(seconds=2 * heartbeat_interval)

    def answered(self, now: datetime) -> None:
        """Note that the database answered. After a gap, or when the clock was set back, the other workers get time to send their heartbeats."""
        if not timedelta() <= now - self._answered_at <= self._lapse:
            self._over_at = now + self._round
        self._answered_at = now

    def is_over(self, now: datetime) -> bool:
        """Return whether every live worker has had the chance to send a heartbeat."""
        return now >= self._over_at and now - self._answered_at <= self._lapse
