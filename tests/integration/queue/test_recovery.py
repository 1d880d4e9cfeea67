"""Work whose worker fell silent: taken back once, continued three times at most, closed to whoever held it before."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from support.followups import open_followup
from support.queue_ground import Ground
from support.queue_scenario import Scenario
from support.timeline_entries import streaming
from tarsy.db import connection
from tarsy.db.chats import ChatRepository
from tarsy.db.journal import PostgresJournal
from tarsy.db.queue import WorkQueue
from tarsy.db.recovery import POISONED, Recovery
from tarsy.db.retry import is_transient
from tarsy.db.sessions import CancelAnswer, SessionRepository
from tarsy.domain.claim import Claim, ClaimKind, ClaimLostError
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.work import MAX_RECOVERIES, Recovered

TABLES = {ClaimKind.SESSION: "alert_sessions", ClaimKind.CHAT: "chat_user_messages", ClaimKind.SCORE: "session_scores"}
STAGE_TYPES = {ClaimKind.SESSION: StageType.INVESTIGATION, ClaimKind.CHAT: StageType.CHAT, ClaimKind.SCORE: StageType.SCORING}


def nobody(_events: object) -> None: ...


async def waiting(engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind) -> None:
    if kind is ClaimKind.SESSION:
        await ground.submit(made)
    else:
        await open_followup(engine, ground, made, kind)


async def claim(engine: AsyncEngine, kind: ClaimKind) -> Claim:
    claimed = await WorkQueue(engine, pod_id="test").claim(kind, cap=10)
    assert claimed
    return claimed[0].claim


async def begin(engine: AsyncEngine, claim: Claim) -> None:
    """What a worker writes before it dies: a stage, and an event that streams."""
    stage = Stage(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_name="begun",
        stage_index=0,
        stage_type=STAGE_TYPES[claim.kind],
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
        started_at=datetime.now(UTC),
    )
    journal = PostgresJournal(engine, nobody)
    await journal.commit(Step(claim=claim, stages=(stage,)))
    await journal.commit(Step(claim=claim, opened=(streaming(claim, stage.id),)))


async def row(ground: Ground, claim: Claim) -> dict[str, Any]:
    return (await ground.fetch(f"SELECT * FROM {TABLES[claim.kind]} WHERE id = $1", claim.id))[0]  # noqa: S608 - fixed names


async def recover(engine: AsyncEngine, ground: Ground) -> list[StoredLiveEvent]:
    await ground.let_an_hour_pass()
    return (await Recovery(engine).run(silent_seconds=60))[1]


@pytest.mark.parametrize("kind", ClaimKind)
async def test_orphaned_work_is_taken_back_and_its_former_owner_is_refused(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    lost = await claim(engine, kind)
    await begin(engine, lost)
    events = await recover(engine, ground)
    assert events[0].payload["type"] == "timeline_event.completed"
    assert (await ground.fetch("SELECT status FROM timeline_events")) == [{"status": "interrupted"}]
    taken = await row(ground, lost)
    assert (taken["status"], taken["claim_token"], taken["recoveries"]) == ("pending", None, 1)
    before = await ground.fetch("SELECT count(*) FROM events")
    late = Step(claim=lost, opened=(streaming(lost, str((await ground.fetch("SELECT id FROM stages"))[0]["id"])),))
    with pytest.raises(ClaimLostError):
        await PostgresJournal(engine, nobody).commit(late)
    assert await ground.fetch("SELECT count(*) FROM events") == before
    again = await claim(engine, kind)
    assert again.id == lost.id
    assert again.token != lost.token
    with pytest.raises(ClaimLostError):
        await PostgresJournal(engine, nobody).commit(late)


async def test_of_several_processes_that_recover_exactly_one_wins(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await waiting(engine, ground, made, ClaimKind.SESSION)
    orphan = await claim(engine, ClaimKind.SESSION)
    await ground.let_an_hour_pass()
    won: list[str] = []

    async def one() -> None:
        recovered, _ = await Recovery(engine).run(silent_seconds=60)
        won.extend(taken.claim_id for taken in recovered)

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(one)
    assert won == [orphan.id]
    assert (await row(ground, orphan))["recoveries"] == 1


@pytest.mark.parametrize("kind", ClaimKind)
async def test_work_that_was_recovered_three_times_fails_with_a_reason(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    for _ in range(MAX_RECOVERIES):
        orphan = await claim(engine, kind)
        await recover(engine, ground)
    orphan = await claim(engine, kind)
    await begin(engine, orphan)
    events = await recover(engine, ground)
    ended = await row(ground, orphan)
    assert (ended["status"], ended["error_message"]) == ("failed", POISONED)
    assert ended["completed_at"]
    assert await ground.fetch("SELECT status, error_message FROM stages") == [{"status": "failed", "error_message": POISONED}]
    last = "session.completed" if kind is ClaimKind.SESSION else "chat.message"
    assert last in {event.payload["type"] for event in events}


@pytest.mark.parametrize("kind", [ClaimKind.SESSION, ClaimKind.CHAT])
async def test_what_was_being_cancelled_when_its_worker_died_ends_cancelled(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    orphan = await claim(engine, kind)
    await begin(engine, orphan)
    if kind is ClaimKind.SESSION:
        await SessionRepository(engine).request_cancel(orphan.id, actor="somebody")
    else:
        await ground.fetch("UPDATE chat_user_messages SET cancel_requested = true")
    await recover(engine, ground)
    assert (await row(ground, orphan))["status"] == "cancelled"
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "cancelled"}]
    assert await ground.fetch("SELECT status FROM timeline_events") == [{"status": "interrupted"}]


@pytest.mark.parametrize("kind", ClaimKind)
async def test_work_that_is_handed_back_waits_again_and_nothing_of_it_streams(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    given = await claim(engine, kind)
    await begin(engine, given)
    await WorkQueue(engine, pod_id="test").hand_back(given)
    back = await row(ground, given)
    assert (back["status"], back["claim_token"], back["recoveries"]) == ("pending", None, 0)
    assert await ground.fetch("SELECT status FROM timeline_events") == [{"status": "interrupted"}]
    assert (await claim(engine, kind)).id == given.id


@pytest.mark.parametrize("kind", [ClaimKind.CHAT, ClaimKind.SCORE])
async def test_what_is_being_cancelled_is_not_handed_back(engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind) -> None:
    await waiting(engine, ground, made, kind)
    unwanted = await claim(engine, kind)
    await ground.fetch(f"UPDATE {TABLES[kind]} SET cancel_requested = true")  # noqa: S608 - fixed names
    assert await WorkQueue(engine, pod_id="test").hand_back(unwanted) == []
    assert (await row(ground, unwanted))["status"] == "active"
    await recover(engine, ground)
    assert (await row(ground, unwanted))["status"] == "cancelled"


@pytest.mark.parametrize("kind", [ClaimKind.SESSION, ClaimKind.CHAT])
async def test_what_is_cancelled_while_it_waits_for_its_next_worker_leaves_nothing_open(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    given = await claim(engine, kind)
    await begin(engine, given)
    await WorkQueue(engine, pod_id="test").hand_back(given)
    if kind is ClaimKind.SESSION:
        answer = await SessionRepository(engine).request_cancel(given.id, actor="somebody")
    else:
        answer = await ChatRepository(engine).request_cancel(given.session_id, given.id, actor="somebody")
    assert answer is CancelAnswer.CANCELLED
    assert (await row(ground, given))["status"] == "cancelled"
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "cancelled"}]
    told = await ground.fetch("SELECT payload ->> 'type' AS type FROM events WHERE channel LIKE 'session:%' ORDER BY id DESC LIMIT 2")
    last = "session.completed" if kind is ClaimKind.SESSION else "chat.message"
    assert [event["type"] for event in told] == [last, "stage.completed"]


async def test_a_session_that_is_cancelled_while_it_waits_again_keeps_the_analysis_it_has(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    await waiting(engine, ground, made, ClaimKind.SESSION)
    given = await claim(engine, ClaimKind.SESSION)
    await begin(engine, given)
    stage_id = str((await ground.fetch("SELECT id FROM stages"))[0]["id"])
    at = datetime.now(UTC)
    concluded = replace(
        streaming(given, stage_id),
        event_type=TimelineEventType.FINAL_ANALYSIS,
        status=TimelineStatus.COMPLETED,
        content="It was the network.",
        completed_at=at,
    )
    await PostgresJournal(engine, nobody).commit(Step(claim=given, opened=(concluded,)))
    await WorkQueue(engine, pod_id="test").hand_back(given)
    await SessionRepository(engine).request_cancel(given.id, actor="somebody")
    ended = await row(ground, given)
    assert (ended["final_analysis"], ended["analysis_is_partial"]) == ("It was the network.", True)
    told = await ground.fetch(
        "SELECT payload ->> 'final_analysis' AS text FROM events WHERE channel LIKE 'session:%' ORDER BY id DESC LIMIT 1"
    )
    assert told == [{"text": "It was the network."}]


@pytest.mark.parametrize("kind", ClaimKind)
async def test_work_that_cannot_be_done_fails_at_once_with_all_that_it_has_open(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: ClaimKind
) -> None:
    await waiting(engine, ground, made, kind)
    broken = await claim(engine, kind)
    await begin(engine, broken)
    await Recovery(engine).fail(broken, "internal error: ValueError: no such thing")
    ended = await row(ground, broken)
    assert (ended["status"], ended["error_message"]) == ("failed", "internal error: ValueError: no such thing")
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "failed"}]
    assert await Recovery(engine).fail(broken, "again") == []


@pytest.mark.parametrize("in_a_statement", [False, True], ids=["between statements", "in the middle of one"])
async def test_work_whose_worker_is_paused_in_the_middle_of_a_transaction_is_taken_back_all_the_same(
    database_url: str, ground: Ground, made: Scenario, monkeypatch: pytest.MonkeyPatch, *, in_a_statement: bool
) -> None:
    monkeypatch.setattr(connection, "IDLE_IN_TRANSACTION_SECONDS", 1)
    monkeypatch.setattr(connection, "TRANSACTION_SECONDS", 2)
    engine = connection.create_engine(database_url)
    await waiting(engine, ground, made, ClaimKind.SESSION)
    held = await claim(engine, ClaimKind.SESSION)
    await ground.let_an_hour_pass()
    async with engine.connect() as paused:
        # As a step begins; then nothing more comes.
        await paused.execute(sa.text("SELECT id FROM alert_sessions WHERE id = :id FOR SHARE"), {"id": held.id})
        if in_a_statement:
            driver: Any = (await paused.get_raw_connection()).driver_connection
            await driver.prepare("SELECT 1")
        assert (await Recovery(engine).run(silent_seconds=60))[0] == []
        recovered: list[Recovered] = []
        with anyio.fail_after(60):
            while not recovered:
                await anyio.sleep(0.1)
                recovered, _ = await Recovery(engine).run(silent_seconds=60)
        with pytest.raises(DBAPIError) as woken:
            await paused.execute(sa.text("SELECT 1"))
    assert is_transient(woken.value)
    assert await ground.status(held.id) == "pending"
    await engine.dispose()
