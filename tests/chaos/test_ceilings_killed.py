"""kill -9 before and in model calls: what was reserved stays spent if the request was sent, and the session ends under its ceiling all the same."""

import signal
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from support.agent_scenario import SESSION_ID
from support.claims import take_back
from support.deadly_model import deadly, worker
from support.queue_ground import LONG, Ground
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.db.spending import PostgresSpendingStore
from tarsy.domain.budget import Ceiling
from tarsy.domain.period_budget import BudgetPeriod, PeriodBudget

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(600 if LONG else 180)]

CEILING = Ceiling(usd=Decimal("2.2"))
# In which of its calls each worker is killed; one more lives.
KILLS = (1, 3, 1) if LONG else (1, 3)
DAY = PeriodBudget(per=BudgetPeriod.DAY, usd=Decimal(100))


async def test_what_killed_workers_had_sent_stays_spent_and_what_they_had_not_is_freed(ground: Ground) -> None:
    engine = create_engine(ground.url)
    store = PostgresSpendingStore(engine)
    await SessionRepository(Publisher(engine)).insert(deadly(ground.directory, CEILING, 0).session())

    async def killed(kill_at: int, *, unsent: bool = False) -> tuple[Decimal, Decimal]:
        """Kill a worker; return what its session has spent, and what its end freed of the budget of the day."""
        assert await worker(ground.url, ground.directory, CEILING, kill_at, unsent=unsent) == -signal.SIGKILL
        (before,) = await store.states([DAY], datetime.now(UTC))
        await ground.let_an_hour_pass()
        await take_back(engine, limit=20)
        (after,) = await store.states([DAY], datetime.now(UTC))
        return await spent(), before.used - after.used

    async def spent() -> Decimal:
        return sum((one.spent.usd for one in await store.spent(SESSION_ID)), Decimal(0))

    first, freed = await killed(1, unsent=True)
    assert first == 0
    assert freed > 0
    found = [await killed(kill_at) for kill_at in KILLS]
    amounts = [amount for amount, _ in found]
    assert {freed for _, freed in found} == {0}
    assert sorted({first, *amounts}) == [first, *amounts], "spent stays spent, and every call that was sent is paid for"
    assert await worker(ground.url, ground.directory, CEILING, 0) == 0
    total = await spent()
    await engine.dispose()

    (session,) = await ground.fetch("SELECT status, analysis_partial_reason AS reason FROM alert_sessions WHERE id = $1", SESSION_ID)
    assert session == {"status": "completed", "reason": "It was ended by its ceiling of $2.20."}
    assert amounts[-1] < total <= Decimal("2.2")
