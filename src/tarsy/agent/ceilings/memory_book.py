"""A book in memory, for runs that no other process takes part in."""

from collections.abc import Sequence
from decimal import Decimal

from tarsy.domain.budget import Reservation, SpentBy
from tarsy.domain.period_budget import PeriodBudget, PeriodState


class MemoryBook:
    """Keeps what is reserved; nothing was used before."""

    def __init__(self) -> None:
        self.reserved: list[Reservation] = []

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        del session_id
        return ()

    async def is_critical(self, session_id: str) -> bool:
        del session_id
        return False

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        needed = sum((one.wanted.usd for one in self.reserved), Decimal(0)) + reservation.wanted.usd + reservation.kept.usd
        for budget in periods:
            if needed > budget.usd:
                return PeriodState(budget=budget, spent=needed - reservation.wanted.usd - reservation.kept.usd)
        self.reserved.append(reservation)
        return None
