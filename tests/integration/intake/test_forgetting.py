"""Old alerts are deleted, but no incident before its investigations are."""

from dataclasses import replace
from datetime import timedelta

import sqlalchemy as sa

from support.intake_world import RESOLVED, ROUTE, IntakeWorld, alert, intake_world
from tarsy.db.retention import PostgresRetentionStore
from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.domain.route import RouteAction
from tarsy.intake.policy import Route


async def _left(ground: IntakeWorld) -> list[int]:
    tables = ("incidents", "alerts", "incident_activity", "changes", "webhook_deliveries")
    return [(await ground.rows(f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables]  # noqa: S608 - our own words


async def test_what_is_old_is_forgotten_once_its_investigations_are_gone(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        ground.clock.at -= timedelta(days=100)
        change = Change(source="ci", fingerprint="c", title="Deploy", outcome=ChangeOutcome.SUCCEEDED, body="{}")
        await ground.take(alert("f1"), alert("f2", problem="open"), changes=(change,), delivery_id="d1")
        await ground.take(alert("f1", RESOLVED))
        ground.routes = [Route(name="quiet", action=RouteAction.RECORD)]
        await ground.take(alert("f3", problem="recorded"))
        assert await _left(ground) == [2, 3, 2, 1, 1]
        assert await PostgresRetentionStore(ground.engine).erase_incidents(days=90) == 2
        # The incidents stay: one has an investigation, which was cancelled but not erased, the other is open.
        assert await _left(ground) == [2, 2, 2, 0, 0]
        async with ground.engine.begin() as connection:
            await connection.execute(sa.text("DELETE FROM alert_sessions"))
        assert await PostgresRetentionStore(ground.engine).erase_incidents(days=90) == 1
        assert [incident["resolved_at"] for incident in await ground.incidents()] == [None]


async def test_what_is_young_is_kept(database_url: str) -> None:
    async with intake_world(database_url, routes=[replace(ROUTE, action=RouteAction.RECORD)]) as ground:
        await ground.take(alert(), delivery_id="d1")
        assert await PostgresRetentionStore(ground.engine).erase_incidents(days=90) == 0
        assert await _left(ground) == [0, 1, 0, 0, 1]
