"""Wakes investigations that a budget did not let begin as soon as there is room: it was raised, or what was reserved was not all used."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import structlog

from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.period_budget import PeriodBudget

# Reservations are let go of when calls end; what waits for that has waited for minutes already.
INTERVAL_SECONDS = 30.0

log = structlog.get_logger(__name__)

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
