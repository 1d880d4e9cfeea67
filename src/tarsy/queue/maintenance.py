"""Periodic tasks besides the workers: retention, waking sessions that wait for a budget, the heartbeat of a process."""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import anyio
import structlog

from tarsy.config.schema.system import RetentionConfig
from tarsy.domain.diagnosis import LiveProcess, Overview
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.period_budget import PeriodBudget

log = structlog.get_logger(__name__)

ACTOR = "retention"
# Live events are many and short-lived: they are looked at more often than sessions, though never without a pause.
SHORTEST_PAUSE_SECONDS = 60.0


class OldSessions(Protocol):
    async def hide(self, *, days: int, actor: str) -> int: ...

    async def erase(self, *, days: int, actor: str, hidden_only: bool) -> int: ...


class OldEvents(Protocol):
    async def purge(self, *, older_than_seconds: float) -> int: ...


class OldIncidents(Protocol):
    async def forget(self, *, days: int) -> int: ...


class Upkeep(Protocol):
    async def note_clean_up(self) -> None: ...


class Retention:
    def __init__(self, config: RetentionConfig, sessions: OldSessions, incidents: OldIncidents, events: OldEvents, upkeep: Upkeep) -> None:
        self._upkeep = upkeep
        self._config = config
        self._sessions = sessions
        self._incidents = incidents
        self._events = events
        self._reconfigured = anyio.Event()

    def reconfigure(self, config: RetentionConfig) -> None:
        self._config = config
        self._reconfigured.set()

    async def run(self) -> None:
        """Clear away until cancelled."""
        while True:
            try:
                await self.clear_away()
            except Exception as error:  # noqa: BLE001 - another process, or the next round, will do it
                log.warning("retention.failed", error=str(error))
            await self._rest()

    async def _rest(self) -> None:
        """Until the next round is due, or other rules hold."""
        pause = max(min(self._config.cleanup_interval, self._config.event_ttl), SHORTEST_PAUSE_SECONDS)
        # Replicas that were started together should not all come at once.
        with anyio.move_on_after(pause * random.uniform(0.8, 1.2)):  # noqa: S311 - spreads rounds, guards nothing
            await self._reconfigured.wait()
            self._reconfigured = anyio.Event()

    async def clear_away(self) -> None:
        """One round."""
        config = self._config
        hidden = await self._sessions.hide(days=config.session_retention_days, actor=ACTOR)
        erased = 0
        if config.hard_delete_after_days is not None:
            erased = await self._sessions.erase(days=config.hard_delete_after_days, actor=ACTOR, hidden_only=True)
        incidents = await self._incidents.forget(days=config.session_retention_days)
        forgotten = await self._events.purge(older_than_seconds=config.event_ttl)
        await self._upkeep.note_clean_up()
        if hidden or erased or incidents or forgotten:
            told = {"sessions_hidden": hidden, "sessions_erased": erased, "incidents_erased": incidents, "events_forgotten": forgotten}
            log.info("retention.cleared", **told)


# Reservations are let go of when calls end; what waits for that has waited for minutes already.
INTERVAL_SECONDS = 30.0

Wake = Callable[[Sequence[PeriodBudget]], Awaitable[Sequence[StoredLiveEvent]]]
Deliver = Callable[[Sequence[StoredLiveEvent]], None]


class BudgetWatch:
    """`budgets` are those in force."""

    def __init__(self, budgets: Sequence[PeriodBudget], wake: Wake) -> None:
        self.budgets = budgets
        self._wake = wake
        self._changed = anyio.Event()

    def reconfigure(self, budgets: Sequence[PeriodBudget]) -> None:
        """Look at once: a budget may have been raised, or be gone."""
        self.budgets = budgets
        self._changed.set()

    async def run(self, deliver: Deliver) -> None:
        """Look until cancelled, for the first time at once: the configuration may have changed while no process ran."""
        while True:
            await self._look(deliver)
            with anyio.move_on_after(INTERVAL_SECONDS if self.budgets else None):
                await self._changed.wait()
            self._changed = anyio.Event()

    async def _look(self, deliver: Deliver) -> None:
        try:
            deliver(await self._wake(self.budgets))
        except Exception as error:  # noqa: BLE001 - another process, or the next look, will do it
            log.warning("budgets.not_looked_at", error=str(error) or type(error).__name__)


# As often as Prometheus usually asks.
HEARTBEAT_SECONDS = 15.0
# A database that is away must not keep a process from ending.
LEAVE_SECONDS = 2.0


class Processes(Protocol):
    async def beat(self, process: LiveProcess) -> Overview | None: ...

    async def leave(self, process_id: str) -> None: ...


class Presence:
    """`told` gets the overview after each sign of life of the process that speaks for all, and None in the others."""

    def __init__(
        self,
        processes: Processes,
        process: Callable[[], LiveProcess],
        told: Callable[[Overview | None], None],
        interval: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._processes = processes
        # As it is now: a reload may have changed the number of its workers.
        self._process = process
        self._told = told
        self._interval = interval

    async def run(self) -> None:
        """Beat until cancelled, then leave."""
        try:
            while True:
                self._told(await self._beat())
                await anyio.sleep(self._interval)
        finally:
            with anyio.move_on_after(LEAVE_SECONDS, shield=True):
                await self._leave()

    async def _beat(self) -> Overview | None:
        try:
            with anyio.fail_after(self._interval):
                return await self._processes.beat(self._process())
        except Exception as error:  # noqa: BLE001 - the next beat is near
            log.warning("presence.failed", error=str(error) or type(error).__name__)
            return None

    async def _leave(self) -> None:
        try:
            await self._processes.leave(self._process().id)
        except Exception as error:  # noqa: BLE001 - its silence will tell
            log.info("presence.not_left", error=str(error) or type(error).__name__)
