"""Sessions that wait for a budget are woken when there is room, also after the database was away."""

from collections.abc import Sequence

import anyio
import pytest

from tarsy.domain.period_budget import PeriodBudget
from tarsy.wiring import upkeep
from tarsy.wiring.upkeep import BudgetWatch


async def test_a_check_that_failed_is_repeated_also_after_the_last_budget_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "BUDGET_CHECK_SECONDS", 0.0)
    checked, outages = anyio.Event(), [OSError("the database is away")]

    async def wake(budgets: Sequence[PeriodBudget]) -> None:
        assert budgets == ()
        if outages:
            raise outages.pop()
        checked.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(BudgetWatch((), wake).run)
            await checked.wait()
            tasks.cancel_scope.cancel()
