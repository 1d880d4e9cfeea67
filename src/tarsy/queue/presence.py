"""Signs of life of a process, whatever its role: so that the others know that it is there, and which of them speaks for all."""

from collections.abc import Callable
from typing import Protocol

import anyio
import structlog

from tarsy.domain.overview import LiveProcess, Overview

# As often as Prometheus usually asks.
INTERVAL_SECONDS = 15.0
# A database that is away must not keep a process from ending.
LEAVE_SECONDS = 2.0

log = structlog.get_logger(__name__)


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
        interval: float = INTERVAL_SECONDS,
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
