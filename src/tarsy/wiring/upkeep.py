"""Periodic tasks besides the workers: retention, waking sessions that wait for a budget, the heartbeat of a process."""

import random
from collections.abc import Awaitable, Callable, Sequence

import anyio
import structlog

from tarsy.config.schema.system import RetentionConfig
from tarsy.db.processes import ProcessRepository
from tarsy.db.retention import PostgresRetentionStore
from tarsy.domain.diagnosis import LiveProcess, Overview
from tarsy.domain.period_budget import PeriodBudget
from tarsy.kit.auto_reset_event import AutoResetEvent
from tarsy.kit.logs import logged_errors

log = structlog.get_logger(__name__)

ACTOR = "retention"
# Live events are many and short-lived: they are purged more often than sessions, but not all the time.
SHORTEST_PAUSE_SECONDS = 60.0


class Retention:
    """Hides and erases old sessions, incidents and live events. Every process tries; the first one does the work."""

    def __init__(self, config: RetentionConfig, store: PostgresRetentionStore) -> None:
        self._config = config
        self._store = store
        self._reconfigured = AutoResetEvent()

    def reconfigure(self, config: RetentionConfig) -> None:
        """Start a round with the new configuration at once."""
        self._config = config
        self._reconfigured.set()

    async def run(self) -> None:
        """Clean up now and then, until cancelled."""
        # Not at once: a process that starts has sessions to run, and many (replays, evals) end before there is anything to clean up.
        pause = SHORTEST_PAUSE_SECONDS
        while True:
            # Replicas that were started together should not all run at once.
            await self._reconfigured.wait(pause * random.uniform(0.8, 1.2))  # noqa: S311 - spreads rounds, guards nothing
            with logged_errors("retention.failed"):
                await self.clean_up()
            pause = max(min(self._config.cleanup_interval, self._config.event_ttl), SHORTEST_PAUSE_SECONDS)

    async def clean_up(self) -> None:
        """Do one round."""
        config = self._config
        hidden = await self._store.hide_sessions(days=config.session_retention_days, actor=ACTOR)
        erased = 0
        if config.hard_delete_after_days is not None:
            erased = await self._store.erase_sessions(days=config.hard_delete_after_days, actor=ACTOR, hidden_only=True)
        incidents = await self._store.erase_incidents(days=config.session_retention_days)
        await self._store.erase_audit_log(days=config.audit_log_days)
        events = await self._store.erase_events(older_than_seconds=config.event_ttl)
        await self._store.record_clean_up()
        if hidden or erased or incidents or events:
            log.info(
                "retention.cleared", sessions_hidden=hidden, sessions_erased=erased, incidents_erased=incidents, events_forgotten=events
            )


# Reservations are released when calls end; a session that waits for one has waited for minutes, so half a minute more does not matter.
BUDGET_CHECK_SECONDS = 30.0


class BudgetWatch:
    """Wakes sessions that a budget keeps waiting as soon as there is room: it was raised, or not all that was reserved was spent."""

    def __init__(self, budgets: Sequence[PeriodBudget], wake: Callable[[Sequence[PeriodBudget]], Awaitable[None]]) -> None:
        # Those in force.
        self.budgets = budgets
        self._wake = wake
        self._changed = AutoResetEvent()

    def reconfigure(self, budgets: Sequence[PeriodBudget]) -> None:
        """Check at once: a budget may have been raised or removed."""
        self.budgets = budgets
        self._changed.set()

    async def run(self) -> None:
        """Check at once, because the configuration may have changed while no process ran, and then now and then, until cancelled."""
        while True:
            pause: float | None = BUDGET_CHECK_SECONDS
            with logged_errors("budgets.check_failed"):
                await self._wake(self.budgets)
                # Nothing changes without budgets: wait for a reload.
                pause = BUDGET_CHECK_SECONDS if self.budgets else None
            await self._changed.wait(pause)


# As often as Prometheus usually scrapes.
HEARTBEAT_SECONDS = 15.0
# A database that does not answer must not keep a process from ending.
LEAVE_SECONDS = 2.0


class Presence:
    """Sends the heartbeats of a process. `report` gets the overview of the installation in the one process that reports it, None in the others."""

    def __init__(
        self,
        processes: ProcessRepository,
        process: Callable[[], LiveProcess],
        report: Callable[[Overview | None], None],
    ) -> None:
        self._processes = processes
        # A function: a reload may change the number of workers.
        self._process = process
        self._report = report

    async def run(self) -> None:
        """Send heartbeats until cancelled, then leave."""
        try:
            while True:
                overview = None
                with logged_errors("presence.failed"), anyio.fail_after(HEARTBEAT_SECONDS):
                    overview = await self._processes.heartbeat(self._process())
                self._report(overview)
                await anyio.sleep(HEARTBEAT_SECONDS)
        finally:
            with anyio.move_on_after(LEAVE_SECONDS, shield=True):
                try:
                    await self._processes.leave(self._process().id)
                except Exception as error:  # noqa: BLE001 - the others notice the missing heartbeats
                    log.info("presence.not_left", error=str(error) or type(error).__name__)
