"""Worker processes that are stopped, paused and cancelled from outside."""

import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from support.connection_cutter import cutting
from support.followups import open_followup
from support.queue_ground import LONG, Ground
from support.queue_scenario import followups, lengthy, scenario, short, three_stages
from support.replica import Replica
from support.story import check_ended, check_events, ledger, read_story
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.followups import ChatRepository, ScoreRepository
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.parking import CancelAnswer
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.claim import CHAT_ANSWER, SCORING, WorkKind

pytestmark = pytest.mark.xdist_group("chaos")

# The goal is a second; a loaded machine gets more before the test fails, but less than until the next heartbeat.
CANCEL_SECONDS = 30.0
TOOL_RUNS = "SELECT EXISTS (SELECT FROM timeline_events WHERE session_id = $1 AND event_type = 'tool_result' AND status = 'streaming')"
MODEL_SPEAKS = "SELECT EXISTS (SELECT FROM timeline_events WHERE session_id = $1 AND status = 'streaming')"
JUDGE_READS = "SELECT EXISTS (SELECT FROM agent_executions WHERE session_id = $1 AND status = 'active')"


async def cancel(ground: Ground, session_id: str) -> CancelAnswer:
    engine = create_engine(ground.url)
    try:
        return await SessionRepository(Publisher(engine)).request_cancel(session_id, actor="somebody")
    finally:
        await engine.dispose()


@pytest.mark.parametrize("in_tool", [True, False], ids=["in a tool", "in a model call"])
async def test_a_cancellation_from_another_process_arrives_at_once(ground: Ground, *, in_tool: bool) -> None:
    session_id = await ground.submit(scenario(lengthy(in_tool=in_tool), ground.directory))
    with Replica(url=ground.url, directory=ground.directory, heartbeat="60s", orphan="1h", replay_speed=1.0).running():
        await ground.until(TOOL_RUNS if in_tool else MODEL_SPEAKS, session_id)
        started, asked_at = time.monotonic(), datetime.now(UTC)
        assert await cancel(ground, session_id) is CancelAnswer.CANCELLING
        await ground.until_ended(session_id, within=CANCEL_SECONDS)
        ended = time.monotonic() - started
    story = await read_story(ground.url, session_id)
    stopped_at = max(row["completed_at"] for row in story.timeline if row["status"] == "cancelled")
    print(f"\nstopped after {(stopped_at - asked_at).total_seconds():.3f} s, ended after {ended:.3f} s")  # noqa: T201 - for `make chaos`
    assert story.session["status"] == "cancelled"
    check_ended(story)
    check_events(story)


async def test_one_agent_of_a_stage_can_be_cancelled_even_if_nobody_was_notified(ground: Ground) -> None:
    """The notification is lost; the heartbeat finds the request."""
    session_id = await ground.submit(scenario(lengthy(in_tool=True), ground.directory))
    with Replica(url=ground.url, directory=ground.directory, heartbeat="500ms", replay_speed=1.0).running():
        await ground.until(TOOL_RUNS, session_id)
        await ground.fetch("UPDATE agent_executions SET cancel_requested = true WHERE session_id = $1", session_id)
        await ground.until_ended(session_id, within=CANCEL_SECONDS)
    story = await read_story(ground.url, session_id)
    assert [row["status"] for row in story.executions] == ["cancelled"]
    check_ended(story)
    check_events(story)


async def test_the_first_signal_lets_sessions_finish_and_claims_no_more(ground: Ground) -> None:
    made = scenario(short(0.5), ground.directory)
    first = await ground.submit(made)
    replica = Replica(url=ground.url, directory=ground.directory, workers=1, replay_speed=1.0).start()
    await ground.until("SELECT status = 'in_progress' FROM alert_sessions WHERE id = $1", first)
    second = await ground.submit(made)
    os.kill(replica.pid or 0, signal.SIGTERM)
    await anyio.to_thread.run_sync(replica.join, 30)
    assert replica.exitcode == 0
    assert await ground.status(first) == "completed"
    assert await ground.status(second) == "pending"


async def test_the_second_signal_hands_sessions_back_at_once_and_another_process_continues_them(ground: Ground) -> None:
    session_id = await ground.submit(scenario(lengthy(in_tool=True), ground.directory))
    replica = Replica(url=ground.url, directory=ground.directory, grace="60s", replay_speed=1.0).start()
    await ground.until_seen(lambda: len(ledger(ground.directory)) == 1)
    for _ in range(2):
        os.kill(replica.pid or 0, signal.SIGTERM)
        await anyio.sleep(0.1)
    await anyio.to_thread.run_sync(replica.join, 30)
    assert replica.exitcode == 0
    row = (await ground.fetch("SELECT state, recoveries, claim_token FROM work WHERE subject_id = $1", session_id))[0]
    assert row == {"state": "ready", "recoveries": 0, "claim_token": None}
    assert await ground.status(session_id) == "pending"
    assert not (await ground.fetch("SELECT id FROM timeline_events WHERE status = 'streaming'"))
    with Replica(url=ground.url, directory=ground.directory, replay_speed=1.0).running():
        await ground.until_seen(lambda: [line["tool"] for line in ledger(ground.directory)] == ["wait", "wait"])
        await cancel(ground, session_id)
        await ground.until_ended(session_id)


async def test_a_database_that_accepts_connections_and_never_answers_does_not_hold_up_the_end_of_a_process(ground: Ground) -> None:
    session_id = await ground.submit(scenario(lengthy(in_tool=True), ground.directory))
    async with cutting(ground.url) as (network, engine):
        url = engine.url.render_as_string(hide_password=False)
        patience = None if LONG else 2.0
        replica = Replica(url=url, directory=ground.directory, grace="900s", replay_speed=1.0, patience=patience).start()
        # Not when the database knows of the call: the replica, which has not been answered yet, might never make it.
        await ground.until_seen(lambda: len(ledger(ground.directory)) == 1)
        network.is_silent = True
        os.kill(replica.pid or 0, signal.SIGTERM)
        started = time.monotonic()
        await anyio.to_thread.run_sync(replica.join, 60)
        print(f"\nended after {time.monotonic() - started:.1f} s")  # noqa: T201 - for `make chaos`
    assert replica.exitcode == 1
    assert "server.ended_unfinished" in _log(ground.directory)
    await ground.let_an_hour_pass()
    with Replica(url=ground.url, directory=ground.directory, replay_speed=1.0).running():
        await ground.until_seen(lambda: [line["tool"] for line in ledger(ground.directory)] == ["wait", "wait"])
        await cancel(ground, session_id)
        await ground.until_ended(session_id)


@pytest.mark.timeout(300)
async def test_a_worker_that_was_paused_too_long_notices_that_its_session_has_gone(ground: Ground) -> None:
    """SIGSTOP, another one finishes the session, SIGCONT: nothing the sleeper still wants to write is taken."""
    session_id = await ground.submit(scenario(short(1.0), ground.directory))
    other = Replica(
        url=ground.url, directory=ground.directory / "other", heartbeat="300ms", orphan="1s", detection="300ms", replay_speed=1.0
    )
    sleeper = replace(other, directory=ground.directory / "sleeper").start()
    await ground.until(MODEL_SPEAKS, session_id)
    os.kill(sleeper.pid or 0, signal.SIGSTOP)
    try:
        with other.running():
            await ground.until_ended(session_id, within=150)
            story = await read_story(ground.url, session_id)
            os.kill(sleeper.pid or 0, signal.SIGCONT)
            await ground.until_seen(lambda: "work.lost" in _log(ground.directory / "sleeper"))
    finally:
        os.kill(sleeper.pid or 0, signal.SIGCONT)
        os.kill(sleeper.pid or 0, signal.SIGTERM)
        await anyio.to_thread.run_sync(sleeper.join, 30)
    assert sleeper.exitcode == 0
    assert await read_story(ground.url, session_id) == story
    assert story.session["status"] == "completed"
    # Once, or more often where the machine stood still and the other worker missed its heartbeats.
    assert story.session["recoveries"] >= 1
    check_events(story)


async def test_a_broken_session_fails_with_a_reason_and_its_neighbours_do_not_notice(ground: Ground) -> None:
    made = scenario(short(0.0), ground.directory)
    shapeless = await ground.submit(made, chain_snapshot={"no": "chain"})
    toolless = made.chain.model_copy(update={"mcp_servers": {}})
    unplayable = await ground.submit(made, chain_snapshot=toolless.model_dump(mode="json"))
    fine = await ground.submit(made)
    with Replica(url=ground.url, directory=ground.directory).running():
        await ground.until_ended(shapeless, unplayable, fine)
    rows = {
        str(row["id"]): row
        for row in await ground.fetch(
            "SELECT s.id, status, error_message, recoveries FROM alert_sessions s JOIN work w ON w.subject_id = s.id"
        )
    }
    assert rows[fine]["status"] == "completed"
    assert (rows[shapeless]["status"], rows[shapeless]["recoveries"]) == ("failed", 0)
    assert "internal error: ValidationError" in rows[shapeless]["error_message"]
    assert (rows[unplayable]["status"], rows[unplayable]["recoveries"]) == ("failed", 0)
    assert "KeyError" in rows[unplayable]["error_message"]


CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'tarsy'
    """


async def test_a_worker_whose_own_database_connections_are_cut_all_the_time_goes_on(ground: Ground) -> None:
    session_id = await ground.submit(scenario(three_stages() if LONG else short(0.0), ground.directory))
    ended = anyio.Event()

    async def cut() -> None:
        stored = -1
        while not ended.is_set():
            # Whenever something more is stored: by the clock, a slow machine would never get as far as that.
            if (reported := len(await ground.fetch("SELECT id FROM events"))) != stored:
                await ground.fetch(CUT)
                stored = reported
            await anyio.sleep(0.05)

    with Replica(url=ground.url, directory=ground.directory).running():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut)
            await ground.until_ended(session_id)
            ended.set()
    story = await read_story(ground.url, session_id)
    assert story.session["status"] == "completed", [story.session["error_message"], *(row["error_message"] for row in story.executions)]
    assert story.session["recoveries"] == 0
    check_ended(story)
    check_events(story)


@pytest.mark.parametrize("kind", [CHAT_ANSWER, SCORING])
async def test_an_answer_or_a_judgement_whose_worker_is_killed_is_finished_by_another(ground: Ground, kind: WorkKind) -> None:
    made = scenario(followups(), ground.directory, scored=True)
    engine = create_engine(ground.url)
    session_id = await open_followup(engine, ground, made, kind)
    await engine.dispose()
    first = Replica(url=ground.url, directory=ground.directory / "first", replay_speed=1.0).start()
    await ground.until(MODEL_SPEAKS if kind is CHAT_ANSWER else JUDGE_READS, session_id)
    first.kill()
    await anyio.to_thread.run_sync(first.join, 30)
    await ground.let_an_hour_pass()
    table = SUBJECTS[kind].statuses.table.name
    with Replica(url=ground.url, directory=ground.directory / "second").running():
        await ground.until(f"SELECT status = 'completed' FROM {table} WHERE session_id = $1", session_id)  # noqa: S608 - fixed names
    row = (await ground.fetch("SELECT recoveries, claim_token FROM work WHERE session_id = $1 AND kind = $2", session_id, kind))[0]
    assert row == {"recoveries": 1, "claim_token": None}
    assert not await ground.fetch("SELECT id FROM timeline_events WHERE status = 'streaming'")
    # Free for the next question, or the next judgement.
    engine = create_engine(ground.url)
    if kind is CHAT_ANSWER:
        await ChatRepository(Publisher(engine)).ask(session_id, "And then?", author="somebody")
    else:
        await ScoreRepository(engine).request(session_id, requested_by="somebody")
    await engine.dispose()


def _log(directory: Path) -> str:
    return "".join(path.read_text() for path in directory.glob("replica-*.log"))
