"""Retention: what is old is hidden, erased and forgotten, by whichever process comes to it first."""

import random
from typing import Protocol

import anyio
import structlog

from tarsy.config.schema.system import RetentionConfig

ACTOR = "retention"
# Live events are many and short-lived: they are looked at more often than sessions, though never without a pause.
SHORTEST_PAUSE_SECONDS = 60.0

log = structlog.get_logger(__name__)


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
