"""A rule of a real Prometheus fires, is repeated by a real Alertmanager, and resolves: one incident, one investigation, true counts."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncEngine

from support.api_world import World, world
from support.claims import take
from support.prometheus import monitoring
from tarsy.db.connection import create_engine
from tarsy.domain.session import AlertSession
from tarsy.domain.work import Claimed
from tarsy.intake.policy import Policy, Route

# Prometheus looks every second, Alertmanager notifies every second or two; the machine may be busy.
WITHIN_SECONDS = 60
# Long enough to be a wait, and shorter than what Alertmanager's own group takes.
POLICY = Policy(routes=(Route(name="test", group_wait=timedelta(seconds=1)),), default_alert_type="kubernetes")


async def _until(api: World, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The page of incidents, once it is as the test wants it."""
    page: dict[str, Any] | None = None
    with anyio.fail_after(WITHIN_SECONDS):
        while page is None or not true(page):
            page = (await api.client.get("/api/v1/incidents")).json()
            await anyio.sleep(0.1)
    return page


async def _begun(engine: AsyncEngine) -> Claimed[AlertSession]:
    """The investigation, once it has waited for companions of its alert."""
    begun = None
    with anyio.fail_after(WITHIN_SECONDS):
        while begun is None:
            begun = await take(engine)
            await anyio.sleep(0.1)
    return begun


async def test_a_rule_that_fires_repeats_and_resolves_is_one_incident_and_one_investigation(database_url: str, tmp_path: Path) -> None:
    engine = create_engine(database_url)
    async with world(database_url, policy=POLICY) as api:
        with monitoring(tmp_path, f"http://127.0.0.1:{api.port}/api/v1/webhook/alertmanager") as watched:
            await _until(api, lambda page: page["total"] == 1)
            begun = await _begun(engine)
            await _until(api, lambda page: page["incidents"][0]["deliveries"] >= 3)
            watched.value = 0
            page = await _until(api, lambda page: page["incidents"][0]["state"] == "resolved")
            with anyio.fail_after(WITHIN_SECONDS):
                while await to_thread.run_sync(watched.notifications) != page["incidents"][0]["deliveries"]:
                    page = (await api.client.get("/api/v1/incidents")).json()
        [incident] = page["incidents"]
        shown = (await api.client.get(f"/api/v1/incidents/{incident['id']}")).json()
    await engine.dispose()
    assert (incident["title"], incident["severity"]) == ("DiskFull: The disk of cart-1 is full", "critical")
    assert (incident["alerts"], incident["firing"]) == (1, 0)
    # It had begun: it goes on, though what it looks into is over.
    assert [(session["id"], session["status"]) for session in shown["sessions"]] == [(begun.claim.subject_id, "in_progress")]
    assert "DiskFull" in begun.subject.alert_data
    assert sum(bar["firing"] + bar["resolved"] for bar in shown["activity"]["bars"]) == incident["deliveries"]
    assert [(member["status"], member["count"]) for member in shown["members"]] == [("resolved", incident["deliveries"])]
