"""Work whose worker fell silent: taken back once, continued three times at most, closed to whoever held it before."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import KINDS, MAX_RECOVERIES, claimed, release_claim, take, take_back
from support.followups import open_followup
from support.queue_ground import Ground
from support.queue_scenario import Scenario
from support.stage_records import Ran
from support.timeline_entries import streaming
from tarsy.db import connection
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.run.history import SessionHistory
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.session.followups import ChatRepository
from tarsy.db.session.repository import SessionRepository
from tarsy.db.work.parking import CancelAnswer
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, Claim, ClaimLostError, WorkKind
from tarsy.domain.execution import AgentExecution
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.work import Claimed, End, Recovered, Requeue, poison_reason
from tarsy.kit.clock import SystemClock
from tarsy.session.executor import SessionExecutor
from tarsy.tools.masking.masker import Unmasked

TABLES = {INVESTIGATION: "alert_sessions", CHAT_ANSWER: "chat_user_messages", SCORING: "session_scores"}
STAGE_TYPES = {INVESTIGATION: StageType.INVESTIGATION, CHAT_ANSWER: StageType.CHAT, SCORING: StageType.SCORING}


def no_user(_events: object) -> None: ...


async def waiting(engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind) -> None:
    if kind == INVESTIGATION:
        await ground.submit(made)
    else:
        await open_followup(engine, ground, made, kind)


def begun_stage(claim: Claim) -> Stage:
    return Stage(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_name="begun",
        stage_index=0,
        stage_type=STAGE_TYPES[claim.kind],
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
        started_at=datetime.now(UTC),
    )


async def begin(engine: AsyncEngine, claim: Claim) -> None:
    """What a worker writes before it dies: a stage, and an event that streams."""
    stage = begun_stage(claim)
    journal = PostgresJournal(engine, no_user)
    await journal.commit(Step(claim=claim, stages=(stage,)))
    await journal.commit(Step(claim=claim, opened=(streaming(claim, stage.id),)))


async def row(ground: Ground, claim: Claim) -> dict[str, Any]:
    """The noun that was claimed, with what its work says."""
    query = (
        f"SELECT n.*, w.recoveries, w.claim_token, w.state FROM {TABLES[claim.kind]} n JOIN work w ON w.subject_id = n.id WHERE w.id = $1"  # noqa: S608 - fixed names
    )
    return (await ground.fetch(query, claim.id))[0]


async def recover(engine: AsyncEngine, ground: Ground) -> list[StoredLiveEvent]:
    await ground.let_an_hour_pass()
    return (await take_back(engine))[1]


@pytest.mark.parametrize("kind", KINDS)
async def test_orphaned_work_is_taken_back_and_its_former_owner_is_refused(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    lost = await claimed(engine, kind)
    await begin(engine, lost)
    events = await recover(engine, ground)
    assert events[0].payload["type"] == "timeline_event.completed"
    assert (await ground.fetch("SELECT status FROM timeline_events")) == [{"status": "interrupted"}]
    taken = await row(ground, lost)
    assert (taken["status"], taken["claim_token"], taken["recoveries"]) == ("pending", None, 1)
    before = await ground.fetch("SELECT count(*) FROM events")
    late = Step(claim=lost, opened=(streaming(lost, str((await ground.fetch("SELECT id FROM stages"))[0]["id"])),))
    with pytest.raises(ClaimLostError):
        await PostgresJournal(engine, no_user).commit(late)
    assert await ground.fetch("SELECT count(*) FROM events") == before
    again = await claimed(engine, kind)
    assert again.id == lost.id
    assert again.token != lost.token
    with pytest.raises(ClaimLostError):
        await PostgresJournal(engine, no_user).commit(late)


async def test_of_several_processes_that_recover_exactly_one_wins(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    await waiting(engine, ground, made, INVESTIGATION)
    orphan = await claimed(engine, INVESTIGATION)
    await ground.let_an_hour_pass()
    won: list[str] = []

    async def one() -> None:
        recovered, _ = await take_back(engine)
        won.extend(taken.claim.id for taken in recovered)

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(one)
    assert won == [orphan.id]
    assert (await row(ground, orphan))["recoveries"] == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_work_whose_workers_die_in_the_same_step_again_and_again_fails_with_a_reason(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    orphan = await claimed(engine, kind)
    await begin(engine, orphan)
    events = await recover(engine, ground)
    for _ in range(MAX_RECOVERIES + 1):
        await claimed(engine, kind)
        events = await recover(engine, ground)
    ended = await row(ground, orphan)
    reason = poison_reason(MAX_RECOVERIES)
    assert (ended["status"], ended["error_message"]) == ("failed", reason)
    assert ended["completed_at"]
    assert await ground.fetch("SELECT status, error_message FROM stages") == [{"status": "failed", "error_message": reason}]
    last = "session.completed" if kind == INVESTIGATION else "chat.message"
    assert last in {event.payload["type"] for event in events}


@pytest.mark.parametrize("kind", [INVESTIGATION, CHAT_ANSWER])
async def test_what_was_being_cancelled_when_its_worker_died_ends_cancelled(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    orphan = await claimed(engine, kind)
    await begin(engine, orphan)
    if kind == INVESTIGATION:
        await SessionRepository(Publisher(engine)).request_cancel(orphan.subject_id, actor="somebody")
    else:
        await ChatRepository(Publisher(engine)).request_cancel(orphan.session_id, orphan.subject_id, actor="somebody")
    await recover(engine, ground)
    assert (await row(ground, orphan))["status"] == "cancelled"
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "cancelled"}]
    assert await ground.fetch("SELECT status FROM timeline_events") == [{"status": "interrupted"}]


@pytest.mark.parametrize("kind", KINDS)
async def test_work_that_is_handed_back_waits_again_and_nothing_of_it_streams(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    given = await claimed(engine, kind)
    await begin(engine, given)
    await release_claim(engine, given, Requeue())
    back = await row(ground, given)
    assert (back["status"], back["claim_token"], back["recoveries"]) == ("pending", None, 0)
    assert await ground.fetch("SELECT status FROM timeline_events") == [{"status": "interrupted"}]
    assert (await claimed(engine, kind)).id == given.id


@pytest.mark.parametrize("kind", [CHAT_ANSWER, SCORING])
async def test_what_is_being_cancelled_is_not_handed_back_but_ended(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    unwanted = await claimed(engine, kind)
    await ground.fetch("UPDATE work SET cancel_requested = true WHERE id = $1", unwanted.id)
    await release_claim(engine, unwanted, Requeue())
    ended = await row(ground, unwanted)
    assert (ended["status"], ended["state"]) == ("cancelled", "done")


@pytest.mark.parametrize("kind", [INVESTIGATION, CHAT_ANSWER])
async def test_what_is_cancelled_while_it_waits_for_its_next_worker_leaves_nothing_open(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    given = await claimed(engine, kind)
    await begin(engine, given)
    await release_claim(engine, given, Requeue())
    if kind == INVESTIGATION:
        answer = await SessionRepository(Publisher(engine)).request_cancel(given.subject_id, actor="somebody")
    else:
        answer = await ChatRepository(Publisher(engine)).request_cancel(given.session_id, given.subject_id, actor="somebody")
    assert answer is CancelAnswer.CANCELLED
    assert (await row(ground, given))["status"] == "cancelled"
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "cancelled"}]
    reported = await ground.fetch("SELECT payload ->> 'type' AS type FROM events WHERE channel LIKE 'session:%' ORDER BY id DESC LIMIT 2")
    last = "session.completed" if kind == INVESTIGATION else "chat.message"
    assert [event["type"] for event in reported] == [last, "stage.completed"]


async def conclude(engine: AsyncEngine, claim: Claim, stage_id: str, index: int, ran: Ran) -> None:
    """An agent of a stage that has not ended comes to its conclusion, or is stopped with one."""
    at = datetime.now(UTC)
    execution = AgentExecution(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_id=stage_id,
        agent_name=f"Agent{index}",
        agent_index=index,
        llm_backend="langchain",
        llm_provider="p",
        model_name="m",
        tool_calling="native",
        status=ran.status,
        completed_at=at,
    )
    concluded = replace(
        streaming(claim, stage_id),
        execution_id=execution.id,
        event_type=TimelineEventType.FINAL_ANALYSIS,
        status=TimelineStatus.COMPLETED,
        content=ran.text,
        metadata=ran.metadata,
        completed_at=at,
    )
    await PostgresJournal(engine, no_user).commit(Step(claim=claim, executions=(execution,)))
    await PostgresJournal(engine, no_user).commit(Step(claim=claim, opened=(concluded,)))


async def cancelled_while_it_waits(engine: AsyncEngine, ground: Ground, taken: Claimed[Any]) -> None:
    del ground
    await release_claim(engine, taken.claim, Requeue())
    await SessionRepository(Publisher(engine)).request_cancel(taken.claim.subject_id, actor="somebody")


async def cancelled_by_its_worker(engine: AsyncEngine, ground: Ground, taken: Claimed[Any]) -> None:
    del ground
    await investigations(engine).end_early(taken, RunStatus.CANCELLED)


async def out_of_time(engine: AsyncEngine, ground: Ground, taken: Claimed[Any]) -> None:
    del ground
    await investigations(engine).end_early(taken, RunStatus.TIMED_OUT)


async def given_up(engine: AsyncEngine, ground: Ground, taken: Claimed[Any]) -> None:
    await ground.fetch("UPDATE work SET claimed_at = now() WHERE id = $1", taken.claim.id)
    await ground.let_an_hour_pass()
    await take_back(engine, limit=0)


async def broken(engine: AsyncEngine, ground: Ground, taken: Claimed[Any]) -> None:
    del ground
    await release_claim(engine, taken.claim, End(RunStatus.FAILED, "internal error"))


def investigations(engine: AsyncEngine) -> SessionExecutor:
    """Good for ending what runs, and for nothing else."""
    unused = cast("Any", None)
    return SessionExecutor(
        stages=unused,
        journal=PostgresJournal(engine, no_user),
        history=SessionHistory(engine),
        ledgers=unused,
        prices=unused,
        runbooks=unused,
        progress=unused,
        mask=Unmasked(),
        clock=SystemClock(),
    )


def checked(text: str, verified: int, status: RunStatus = RunStatus.COMPLETED) -> Ran:
    counts = {"cited": verified, "verified": verified, "id_only": 0, "failed": 0, "uncited": 0}
    return Ran(text, status, {"citations": counts})


NETWORK, SWITCH = "It was the network.", " The switch was off.\n"


@pytest.mark.parametrize(
    ("ran", "analysis", "verified"),
    [
        ((checked(NETWORK, 3), checked(SWITCH, 1)), "## Agent1\n\nIt was the network.\n\n## Agent2\n\nThe switch was off.", 4),
        ((checked(NETWORK, 3), checked(SWITCH, 1, RunStatus.CANCELLED)), NETWORK, 3),
        ((checked(SWITCH, 1, RunStatus.TIMED_OUT),), "The switch was off.", 1),
    ],
    ids=["both completed", "one was stopped", "all were stopped"],
)
@pytest.mark.parametrize(
    "ends", [cancelled_while_it_waits, cancelled_by_its_worker, out_of_time, given_up, broken], ids=lambda way: way.__name__
)
async def test_a_session_keeps_the_same_analysis_and_citations_however_it_ends_early(
    engine: AsyncEngine,
    ground: Ground,
    made: Scenario,
    ends: Callable[[AsyncEngine, Ground, Claimed[Any]], Awaitable[None]],
    ran: Sequence[Ran],
    analysis: str,
    verified: int,
) -> None:
    await ground.submit(made)
    taken = await take(engine)
    assert taken
    await begin(engine, taken.claim)
    stage_id = str((await ground.fetch("SELECT id FROM stages"))[0]["id"])
    for index, one in enumerate(ran, start=1):
        await conclude(engine, taken.claim, stage_id, index, one)
    await ends(engine, ground, taken)
    ended = await row(ground, taken.claim)
    assert (ended["final_analysis"], ended["analysis_is_partial"], ended["state"]) == (analysis, True, "done")
    assert json.loads(ended["citations"])["verified"] == verified
    reported = await ground.fetch(
        "SELECT payload ->> 'final_analysis' AS text FROM events WHERE channel LIKE 'session:%' ORDER BY id DESC LIMIT 1"
    )
    assert reported == [{"text": analysis}]


async def test_a_session_that_moves_on_in_between_is_not_given_up_however_often_its_workers_die(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    session_id = await ground.submit(made)
    for number in range(2 * MAX_RECOVERIES):
        orphan = await claimed(engine)
        stage = replace(begun_stage(orphan), stage_index=number)
        await PostgresJournal(engine, no_user).commit(Step(claim=orphan, stages=(stage,)))
        await recover(engine, ground)
    (after,) = await ground.fetch("SELECT state, recoveries FROM work WHERE subject_id = $1", session_id)
    assert (after["state"], after["recoveries"]) == ("ready", 2 * MAX_RECOVERIES)


async def test_a_recovered_session_keeps_its_deadline(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    """Otherwise each worker that dies would give it the whole time again."""
    await ground.submit(made)
    first = await take(engine)
    assert first
    assert first.seconds_left == made.chain.session_timeout
    await ground.fetch("UPDATE work SET deadline = deadline - interval '14 minutes'")
    await recover(engine, ground)
    second = await take(engine)
    assert second
    assert second.seconds_left is not None
    assert second.seconds_left <= made.chain.session_timeout - 14 * 60


async def test_time_between_a_hand_over_and_the_next_claim_does_not_run(engine: AsyncEngine, ground: Ground, made: Scenario) -> None:
    """A server that is stopped in order for an hour must not find its sessions timed out."""
    await ground.submit(made)
    first = await take(engine)
    assert first
    await ground.fetch("UPDATE work SET deadline = deadline - interval '5 minutes'")
    await release_claim(engine, first.claim, Requeue())
    await ground.fetch("UPDATE work SET handed_back_at = now() - interval '1 hour', deadline = deadline - interval '1 hour'")
    second = await take(engine)
    assert second
    assert second.seconds_left is not None
    assert made.chain.session_timeout - 6 * 60 < second.seconds_left <= made.chain.session_timeout - 5 * 60


@pytest.mark.parametrize("kind", KINDS)
async def test_work_that_cannot_be_done_fails_at_once_with_all_that_it_has_open(
    engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind
) -> None:
    await waiting(engine, ground, made, kind)
    broken = await claimed(engine, kind)
    await begin(engine, broken)
    await release_claim(engine, broken, End(RunStatus.FAILED, "internal error: ValueError: no such thing"))
    ended = await row(ground, broken)
    assert (ended["status"], ended["error_message"]) == ("failed", "internal error: ValueError: no such thing")
    assert await ground.fetch("SELECT status FROM stages") == [{"status": "failed"}]
    assert await release_claim(engine, broken, End(RunStatus.FAILED, "again")) == []


@pytest.mark.parametrize("in_a_statement", [False, True], ids=["between statements", "in the middle of one"])
async def test_work_whose_worker_is_paused_in_the_middle_of_a_transaction_is_taken_back_all_the_same(
    database_url: str, ground: Ground, made: Scenario, monkeypatch: pytest.MonkeyPatch, *, in_a_statement: bool
) -> None:
    monkeypatch.setattr(connection, "IDLE_IN_TRANSACTION_SECONDS", 1)
    monkeypatch.setattr(connection, "TRANSACTION_SECONDS", 2)
    engine = connection.create_engine(database_url)
    await waiting(engine, ground, made, INVESTIGATION)
    held = await claimed(engine, INVESTIGATION)
    await ground.let_an_hour_pass()
    async with engine.connect() as paused:
        # As a step begins; then nothing more comes.
        await paused.execute(sa.text("SELECT id FROM work WHERE id = :id FOR SHARE"), {"id": held.id})
        if in_a_statement:
            driver: Any = (await paused.get_raw_connection()).driver_connection
            await driver.prepare("SELECT 1")
        assert (await take_back(engine))[0] == []
        recovered: list[Recovered] = []
        with anyio.fail_after(60):
            while not recovered:
                await anyio.sleep(0.1)
                recovered, _ = await take_back(engine)
        with pytest.raises(DBAPIError) as woken:
            await paused.execute(sa.text("SELECT 1"))
    assert is_transient(woken.value)
    assert await ground.status(held.subject_id) == "pending"
    await engine.dispose()
