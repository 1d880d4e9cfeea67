"""What ails the installation, as the API tells it."""

from dataclasses import replace
from functools import partial
from uuid import uuid4

from anyio import to_thread

from support.agent_scenario import SUMMARY, Scenario, agent, chain, fails, says, stage
from support.api_world import serving, world
from tarsy.cli.machine_checkup import check_database
from tarsy.cli.main import app
from tarsy.db.processes import ProcessRepository
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.overview import LiveProcess
from tarsy.kit.clock import SystemClock
from tarsy.settings import Settings

TRACK = "0.look/1.Investigator"


async def test_an_installation_that_only_serves_is_told_that_it_has_no_workers(database_url: str) -> None:
    async with world(database_url) as api:
        await api.submit()
        told = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
        assert [one["message"] for one in told if one["source"] == "workers"] == [
            "No process has workers: nothing is investigated; 1 sessions wait. Start one: tarsy serve --role worker."
        ]
        doctor = [(one.subject, one.text) async for one in check_database(Settings(env={}, database_url=database_url))]
        assert ("workers", "No process has workers: nothing is investigated; 1 sessions wait.") in doctor
        engine = api.services.usage._engine  # pyright: ignore[reportPrivateUsage] - the world's own
        process = LiveProcess(id="w", role="worker", workers=2, version="1", started_at=SystemClock().now())
        await ProcessRepository(engine).beat(process)
        after = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
    assert [one for one in after if one["source"] == "workers"] == []


async def test_a_model_that_fails_again_and_again_is_told(database_url: str) -> None:
    failing = [says(TRACK, turn, fails("invalid_request")) for turn in range(3)]
    story = Scenario(chain(stage(agent(mcp_servers=(), max_iterations=5)), scoring=None), [*failing, says(f"1.{SUMMARY}", 0, "Disk.")])
    async with story.continued(database_url) as running, serving(running.services) as api:
        for _ in range(3):
            await running.services.sessions.insert(replace(story.session(), id=str(uuid4()), created_at=SystemClock().now()))
        assert running.pool is not None
        await running.pool.work_off(INVESTIGATION)
        told = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
    (model,) = [one["message"] for one in told if one["source"] == "model"]
    assert "last with invalid_request" in model


async def test_clean_ups_are_noted_even_when_there_was_nothing_to_clear_and_backups_when_they_are_told_of(database_url: str) -> None:
    async with world(database_url) as api:
        assert (await api.services.vital_signs.read()).cleaned_up_at is None
        await api.services.vital_signs.note_clean_up()
        assert (await api.services.vital_signs.read()).cleaned_up_at is not None
        assert (await api.services.vital_signs.read()).backed_up_at is None
        await to_thread.run_sync(partial(app, ["db", "backed-up", "--database-url", database_url], standalone_mode=False))
        assert (await api.services.vital_signs.read()).backed_up_at is not None
