"""What is wrong with the installation, as the API reports it."""

from dataclasses import replace
from functools import partial
from uuid import uuid4

import asyncpg
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncEngine

from support.agent_scenario import SUMMARY, Scenario, agent, chain, fails, says, stage
from support.api_world import World, serving, world
from tarsy.cli.doctor_checks import check_database
from tarsy.cli.main import app
from tarsy.db.processes import BACKUP, CLEAN_UP, ProcessRepository, record_upkeep
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.diagnosis import LONG_QUEUE, LiveProcess
from tarsy.kit.clock import SystemClock
from tarsy.settings import Settings

TRACK = "0.look/1.Investigator"


async def test_an_installation_that_only_serves_is_warned_that_it_has_no_workers(database_url: str) -> None:
    async with world(database_url) as api:
        await api.submit()
        reported = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
        assert [one["message"] for one in reported if one["source"] == "workers"] == [
            "No process has workers: nothing is investigated; 1 sessions wait. Start one: tarsy serve --role worker."
        ]
        doctor = [(one.subject, one.text) async for one in check_database(Settings(env={}, database_url=database_url))]
        assert ("workers", "No process has workers: nothing is investigated; 1 sessions wait.") in doctor
        engine = _engine(api)
        process = LiveProcess(id="w", role="worker", workers=2, version="1", started_at=SystemClock().now())
        await ProcessRepository(engine).heartbeat(process)
        after = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
    assert [one for one in after if one["source"] == "workers"] == []


async def test_a_model_that_fails_again_and_again_is_reported(database_url: str) -> None:
    failing = [says(TRACK, turn, fails("invalid_request")) for turn in range(3)]
    story = Scenario(chain(stage(agent(mcp_servers=(), max_iterations=5)), scoring=None), [*failing, says(f"1.{SUMMARY}", 0, "Disk.")])
    async with story.continued(database_url) as running, serving(running.services) as api:
        for _ in range(3):
            await running.services.repositories.sessions.insert(replace(story.session(), id=str(uuid4()), created_at=SystemClock().now()))
        await running.pool.run_waiting(INVESTIGATION)
        reported = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
    (model,) = [one["message"] for one in reported if one["source"] == "model"]
    assert "last with invalid_request" in model


async def test_a_queue_is_reported_while_it_grows(database_url: str) -> None:
    async with world(database_url) as api:
        for number in range(LONG_QUEUE):
            assert await _reported(api, "queue") == [], f"{number} are no queue"
            await api.submit(f"alert {number}")
        (grows,) = await _reported(api, "queue")
        assert grows.startswith(f"The queue grows: {LONG_QUEUE} sessions wait; {LONG_QUEUE} sessions were submitted and 0 ended")
        doctor = [one.text async for one in check_database(Settings(env={}, database_url=database_url)) if one.subject == "queue"]
        assert grows.startswith(doctor[0])
        # They came before the half hour that counts: the queue is long, but no longer than it was.
        await _sql(database_url, "UPDATE alert_sessions SET created_at = created_at - interval '1 hour'")
        assert await _reported(api, "queue") == []


async def test_upkeep_that_is_late_is_reported(database_url: str) -> None:
    async with world(database_url) as api:
        engine = _engine(api)
        await ProcessRepository(engine).heartbeat(
            LiveProcess(id="w", role="worker", workers=2, version="1", started_at=SystemClock().now())
        )
        await record_upkeep(engine, CLEAN_UP)
        await record_upkeep(engine, BACKUP)
        assert await _reported(api, "upkeep") == []
        await _sql(database_url, "UPDATE upkeep SET done_at = done_at - interval '40 hours'")
        cleared, saved = await _reported(api, "upkeep")
        assert cleared.startswith("Old data was last erased 40 hours ago.")
        assert saved.startswith("The last backup was made 40 hours ago.")
        doctor = [one.text async for one in check_database(Settings(env={}, database_url=database_url)) if one.subject == "upkeep"]
        assert [cleared.startswith(doctor[0]), saved.startswith(doctor[1])] == [True, True]


def _engine(api: World) -> AsyncEngine:
    return api.services.usage._engine  # pyright: ignore[reportPrivateUsage] - the world's own


async def _reported(api: World, source: str) -> list[str]:
    reported = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
    return [one["message"] for one in reported if one["source"] == source]


async def _sql(database_url: str, statement: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute(statement)
    await connection.close()


async def test_clean_ups_are_noted_even_when_there_was_nothing_to_clear_and_backups_when_they_are_reported(database_url: str) -> None:
    async with world(database_url) as api:
        assert (await api.services.system.vital_signs.read()).cleaned_up_at is None
        await record_upkeep(_engine(api), CLEAN_UP)
        assert (await api.services.system.vital_signs.read()).cleaned_up_at is not None
        assert (await api.services.system.vital_signs.read()).backed_up_at is None
        await to_thread.run_sync(partial(app, ["db", "backed-up", "--database-url", database_url], standalone_mode=False))
        assert (await api.services.system.vital_signs.read()).backed_up_at is not None
