"""kill -9 in the middle of model calls: what was reserved for them stays spent, and the session ends under its ceiling all the same."""

import signal
from decimal import Decimal

import pytest

from support.agent_scenario import SESSION_ID
from support.claims import take_back
from support.deadly_model import deadly, worker
from support.queue_ground import ROUNDS, Ground
from tarsy.db.connection import create_engine
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.budget import Ceiling

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(600 if ROUNDS else 180)]

CEILING = Ceiling(usd=Decimal("2.2"))
# In which of its calls each worker is killed; one more lives.
KILLS = (1, 3, 1) if ROUNDS else (1, 3)
_USED = """
    SELECT coalesce((SELECT sum(cost_usd) FROM llm_interactions WHERE session_id = $1), 0)
        + coalesce((SELECT sum(usd) FROM reservations WHERE session_id = $1 AND NOT is_kept), 0) AS usd
"""


async def test_what_killed_workers_had_reserved_stays_spent(ground: Ground) -> None:
    engine = create_engine(ground.url)
    await SessionRepository(engine).insert(deadly(ground.directory, CEILING, 0).session())
    spent = [Decimal(0)]
    for kill_at in KILLS:
        assert await worker(ground.url, ground.directory, CEILING, kill_at) == -signal.SIGKILL
        await ground.let_an_hour_pass()
        await take_back(engine, limit=20)
        spent.append((await ground.fetch(_USED, SESSION_ID))[0]["usd"])
    assert await worker(ground.url, ground.directory, CEILING, 0) == 0
    await engine.dispose()

    assert sorted(set(spent)) == spent, "spent stays spent, and every call that was made is paid for"
    (session,) = await ground.fetch("SELECT status, analysis_partial_reason AS reason FROM alert_sessions WHERE id = $1", SESSION_ID)
    assert session == {"status": "completed", "reason": "It was ended by its ceiling of $2.20."}
    total = (await ground.fetch(_USED, SESSION_ID))[0]["usd"]
    assert spent[-1] < total <= Decimal("2.2")
