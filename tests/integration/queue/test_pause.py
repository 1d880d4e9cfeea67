"""The stop switch: nothing is begun, what runs is parked if that was asked for, and everything goes on afterwards."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from typer.testing import CliRunner

from support.claims import claimed, release_claim, take
from support.followups import open_followup
from support.queue_ground import GIVE_UP_SECONDS, Ground
from support.queue_scenario import Scenario, lengthy, scenario
from support.replica import Replica
from tarsy.cli.main import app
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.claim import CHAT_ANSWER
from tarsy.domain.live_events import SESSIONS_CHANNEL
from tarsy.domain.work import Park

MODEL_SPEAKS = "SELECT count(*) > 0 FROM timeline_events WHERE session_id = $1"


@pytest.mark.parametrize("chain", [None, "chaos"])
async def test_what_is_paused_is_not_begun_until_the_pause_ends(
    engine: AsyncEngine, ground: Ground, made: Scenario, chain: str | None
) -> None:
    pauses, session_id = PauseRepository(Publisher(engine)), await ground.submit(made)
    await pauses.pause(chain, actor="alice", reason="costs", now=False)
    assert await take(engine) is None
    assert (await SessionRepository(Publisher(engine)).detail(session_id)).position.waiting_reason == "paused by alice: costs"
    assert await pauses.resume(chain, actor="bob") == []
    assert await take(engine)
    reported = [event.payload for event in await Outbox(engine).read_after(SESSIONS_CHANNEL, 0, 10)]
    assert [len(event["pauses"]) for event in reported if event["type"] == "pauses.changed"] == [1, 0]
    audited = await ground.fetch(
        "SELECT actor, action, details ->> 'chain_id' AS chain FROM audit_log WHERE action LIKE 'work.%' ORDER BY id"
    )
    assert [(row["actor"], row["action"], row["chain"]) for row in audited] == [
        ("alice", "work.paused", chain),
        ("bob", "work.resumed", chain),
    ]


async def test_a_second_pause_of_the_same_chain_replaces_the_first_with_its_time(engine: AsyncEngine) -> None:
    pauses = PauseRepository(Publisher(engine))
    (first,) = await pauses.pause(None, actor="alice", reason="costs", now=False)
    (second,) = await pauses.pause(None, actor="bob", reason="an upgrade", now=True)
    assert (second.actor, second.reason, second.parks_running) == ("bob", "an upgrade", True)
    assert second.since > first.since
    assert await pauses.current() == [second]


async def test_other_chains_go_on_and_questions_are_held_too(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await open_followup(engine, ground, made, CHAT_ANSWER)
    await PauseRepository(Publisher(engine)).pause("chaos", actor="alice", reason="", now=False)
    other = await ground.submit(made, chain_id="other")
    assert (await claimed(engine)).subject_id == other
    assert await take(engine, CHAT_ANSWER) is None


async def test_what_a_pause_parks_just_when_it_ends_is_not_left_behind(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    """The worker is about to park it, and by then the pause is over."""
    session_id, pauses = await ground.submit(made), PauseRepository(Publisher(engine))
    claim = await claimed(engine)
    await pauses.pause(None, actor="alice", reason="", now=True)
    await pauses.resume(None, actor="alice")
    await release_claim(engine, claim, Park("paused by alice", pause=""))
    assert await ground.status(session_id) == "pending"
    assert await take(engine)


@asynccontextmanager
async def speaking(ground: Ground) -> AsyncGenerator[str]:
    """A real process whose model answers for a minute."""
    session_id = await ground.submit(scenario(lengthy(in_tool=False), ground.directory))
    with Replica(url=ground.url, directory=ground.directory, replay_speed=1.0).running():
        await ground.until(MODEL_SPEAKS, session_id)
        yield session_id


def tarsy(ground: Ground, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--database-url", ground.url])
    assert result.exit_code == 0, result.output
    return result.output


# With the tests of chaos, which start replicas too: what forks them imports the program once for all.
@pytest.mark.xdist_group("chaos")
@pytest.mark.timeout(180)
async def test_a_running_session_is_parked_now_and_goes_on_where_it_was(ground: Ground) -> None:
    async with speaking(ground) as session_id:
        reported = await anyio.to_thread.run_sync(tarsy, ground, "pause", "--now", "--reason", "a leak")
        assert "everything: paused by command line: a leak" in reported
        await ground.until("SELECT status = 'waiting' FROM alert_sessions WHERE id = $1", session_id, within=GIVE_UP_SECONDS)
        listed = await anyio.to_thread.run_sync(tarsy, ground, "sessions", "list")
        assert " waiting " in listed
        assert "(paused by command line: a leak)" in listed
        assert await ground.fetch("SELECT status FROM agent_executions") == [{"status": "active"}]
        assert not await ground.fetch("SELECT id FROM timeline_events WHERE status = 'streaming'")
        assert "Nothing is paused." in await anyio.to_thread.run_sync(tarsy, ground, "resume")
        await ground.until("SELECT status = 'in_progress' FROM alert_sessions WHERE id = $1", session_id)
        (row,) = await ground.fetch("SELECT recoveries FROM work")
        assert row["recoveries"] == 0
        await ground.fetch("UPDATE work SET cancel_requested = true")
        await ground.until_ended(session_id)
