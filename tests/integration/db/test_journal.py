"""The journal on a network that cuts connections in the worst moments: a step is written once, whatever happens to its commit."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import anyio
import orjson
import pytest
import sqlalchemy as sa

from support.claims import claimed
from support.connection_cutter import cutting
from support.queue_ground import Ground
from support.queue_scenario import scenario, short
from support.timeline_entries import streaming, warning
from tarsy.db import notifications
from tarsy.db.connection import create_engine, listen_connection
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.spending import PostgresSpendingStore
from tarsy.domain.budget import NOTHING, Reservation, Spent
from tarsy.domain.citation import CitationCounts
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, Claim, ClaimLostError
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.interaction import MCPInteraction, MCPInteractionKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.period_budget import BudgetPeriod, PeriodBudget
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import Stage, StageClose, StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import Step, StoredRun
from tarsy.domain.timeline import TimelineClose, TimelineEventType

STREAMED = str(uuid4())


@pytest.fixture
async def claim(ground: Ground) -> Claim:
    await ground.submit(scenario(short(0.0), ground.directory))
    engine = create_engine(ground.url)
    try:
        return await claimed(engine)
    finally:
        await engine.dispose()


@pytest.fixture
def ground(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(database_url, tmp_path_factory.mktemp("ground"))


def opens(claim: Claim) -> Step:
    return Step(claim=claim, opened=(warning(claim, "second"),))


def only_closes(claim: Claim) -> Step:
    closed = TimelineClose(event_id=STREAMED, status=TimelineStatus.COMPLETED, content="second", completed_at=datetime.now(UTC))
    return Step(claim=claim, closed=(closed,))


def ends(claim: Claim) -> Step:
    close = SessionClose(status=SessionStatus.COMPLETED, completed_at=datetime.now(UTC), final_analysis="second")
    return Step(claim=claim, session_close=close)


# The message on the wire at which a step of each kind is decided: its only statement, or the end of its transaction.
KINDS: dict[Callable[[Claim], Step], bytes] = {opens: b"second", only_closes: b"second", ends: b"COMMIT;"}


@pytest.mark.parametrize("arrives", [True, False], ids=["the answer is lost", "the commit is lost"])
@pytest.mark.parametrize("second", KINDS, ids=lambda kind: kind.__name__)
async def test_a_step_whose_connection_is_cut_at_its_commit_is_written_once(
    database_url: str, ground: Ground, claim: Claim, second: Callable[[Claim], Step], *, arrives: bool
) -> None:
    async with cutting(database_url) as (cutter, engine):
        journal = PostgresJournal(engine, lambda _events: None)
        await journal.commit(Step(claim=claim, opened=(replace(streaming(claim), id=STREAMED),)))
        cutter.cut_at, cutter.arrives = KINDS[second], arrives
        await journal.commit(second(claim))
        assert cutter.cuts == 1
    reported = [
        row["text"] for row in await ground.fetch("SELECT CAST(payload AS text) AS text FROM events WHERE channel LIKE 'session:%'")
    ]
    assert len([text for text in reported if "second" in text]) == 1
    numbers = await ground.fetch("SELECT id FROM events WHERE channel LIKE 'session:%' ORDER BY id")
    assert [row["id"] for row in numbers] == list(range(1, len(reported) + 1))


async def test_a_sub_agent_is_stored_once_though_nothing_announces_it_and_the_answer_is_lost(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    async with cutting(database_url) as (cutter, engine):
        journal, stage = PostgresJournal(engine, lambda _events: None), begun_stage(claim)
        await journal.commit(Step(claim=claim, stages=(stage,)))
        cutter.cut_at, cutter.arrives = b"second", True
        await journal.commit(Step(claim=claim, executions=(replace(new_execution(stage), agent_name="second"),)))
        assert cutter.cuts == 1
    assert await ground.fetch("SELECT agents FROM session_figures") == [{"agents": 1}]


async def test_a_reservation_whose_answer_is_lost_does_not_count_twice(database_url: str, claim: Claim) -> None:
    """Otherwise the second attempt finds no room beside the first."""
    budget = PeriodBudget(per=BudgetPeriod.DAY, usd=Decimal(3))
    async with cutting(database_url) as (cutter, engine):
        stage = begun_stage(claim)
        execution = new_execution(stage)
        await PostgresJournal(engine, lambda _events: None).commit(Step(claim=claim, stages=(stage,), executions=(execution,)))
        amounts = {"wanted": Spent(usd=Decimal(2)), "kept": NOTHING}
        two = Reservation(id=str(uuid4()), claim=claim, stage_id=stage.id, execution_id=execution.id, **amounts)
        cutter.cut_at, cutter.arrives = b"COMMIT;", True
        assert await PostgresSpendingStore(engine).reserve(two, [budget]) is None
        assert cutter.cuts == 1


async def test_an_attempt_that_nobody_waits_for_any_more_is_waited_for_before_the_next(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    others = create_engine(database_url)
    async with cutting(database_url) as (cutter, engine), others.begin() as slow, anyio.create_task_group() as tasks:
        # Somebody else holds the channel, so that the first attempt is still under way when its connection is gone.
        await slow.execute(sa.text("SELECT FROM event_channels WHERE name LIKE 'session:%' FOR UPDATE"))
        cutter.cut_at, cutter.arrives = b"second", True
        tasks.start_soon(PostgresJournal(engine, lambda _events: None).commit, opens(claim))
        await ground.until("SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        await slow.commit()
    await others.dispose()
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": "second"}]


async def test_a_step_adds_to_the_figures_of_its_session(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    took_over = replace(warning(claim, "the other model"), event_type=TimelineEventType.PROVIDER_FALLBACK)
    await journal.commit(replace(all_odd(claim), opened=(took_over,)))
    await journal.commit(Step(claim=claim, opened=(replace(took_over, id=str(uuid4())), warning(claim, "counts for nothing"))))
    # Whoever answers a question did not work on the session.
    answers = replace(all_odd(claim), claim=replace(claim, kind=CHAT_ANSWER), messages=(), mcp_interactions=())
    await journal.commit(replace(answers, stages=tuple(replace(stage, stage_index=1) for stage in answers.stages)))
    await engine.dispose()
    assert await ground.fetch("SELECT agents, fallbacks FROM session_figures") == [{"agents": 1, "fallbacks": 2}]


ODD = "a\x00b\ud800c é"
KEPT = "a\ufffdb\ufffdc é"


def all_odd(claim: Claim) -> Step:
    """A step of a model that names its tools as nobody should, and of a tool whose schema has no limits."""
    at, stage_id, execution_id = datetime.now(UTC), str(uuid4()), str(uuid4())
    stage = Stage(
        id=stage_id,
        session_id=claim.session_id,
        stage_name=ODD,
        stage_index=0,
        stage_type=StageType.INVESTIGATION,
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
    )
    execution = AgentExecution(
        id=execution_id,
        session_id=claim.session_id,
        stage_id=stage_id,
        agent_name=ODD,
        agent_index=1,
        llm_backend="langchain",
        llm_provider="p",
        model_name="m",
        tool_calling="native",
        status=RunStatus.ACTIVE,
    )
    body = ConversationMessage(Role.TOOL, ODD, tool_call_id=ODD, tool_name=ODD)
    exchange = MCPInteraction(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_id=stage_id,
        execution_id=execution_id,
        kind=MCPInteractionKind.TOOL_LIST,
        server=ODD,
        tool=ODD,
        call_id=ODD,
        arguments=ODD,
        result={ODD: [2**63, 2**64, -(2**63) - 1, 1.5, True, None]},
        is_error=True,
        error_message=ODD,
        started_at=at,
        duration_ms=1,
    )
    return Step(
        claim=claim,
        stages=(stage,),
        executions=(execution,),
        messages=(Message(id=str(uuid4()), execution_id=execution_id, sequence_number=1, body=body, created_at=at),),
        opened=(warning(claim, ODD),),
        mcp_interactions=(exchange,),
    )


async def test_what_postgresql_cannot_store_is_stored_as_far_as_it_can(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    await journal.commit(all_odd(claim))
    ends = SessionClose(
        status=SessionStatus.FAILED,
        completed_at=datetime.now(UTC),
        final_analysis=ODD,
        executive_summary=ODD,
        executive_summary_error=ODD,
        error_message=ODD,
    )
    await journal.commit(Step(claim=claim, session_close=ends))
    await engine.dispose()
    assert await ground.fetch("SELECT content FROM timeline_events") == [{"content": KEPT}]
    assert await ground.fetch("SELECT content, tool_call_id, tool_name FROM messages") == [
        {"content": KEPT, "tool_call_id": KEPT, "tool_name": KEPT}
    ]
    (exchange,) = await ground.fetch("SELECT server, tool, call_id, arguments, error_message, result FROM mcp_interactions")
    assert orjson.loads(exchange.pop("result")) == {KEPT: [2**63, str(2**64), str(-(2**63) - 1), 1.5, True, None]}
    assert set(exchange.values()) == {KEPT}
    (session,) = await ground.fetch("SELECT final_analysis, executive_summary, executive_summary_error, error_message FROM alert_sessions")
    assert set(session.values()) == {KEPT}


def begun_stage(claim: Claim, index: int = 0) -> Stage:
    return Stage(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_name=f"stage {index}",
        stage_index=index,
        stage_type=StageType.INVESTIGATION,
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
    )


async def test_a_stage_that_begins_in_the_step_that_ends_another_is_announced_after_it(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    first, second = begun_stage(claim), begun_stage(claim, 1)
    await journal.commit(Step(claim=claim, stages=(first,)))
    close = StageClose(stage_id=first.id, status=RunStatus.COMPLETED, completed_at=datetime.now(UTC))
    await journal.commit(Step(claim=claim, stages=(second,), stage_closes=(close,)))
    await engine.dispose()
    reported = await ground.fetch(
        "SELECT payload ->> 'stage_id' AS stage_id, payload ->> 'type' AS type FROM events WHERE channel LIKE 'session:%' ORDER BY id"
    )
    stages = [(row["type"], row["stage_id"]) for row in reported if row["stage_id"]]
    assert stages == [("stage.started", first.id), ("stage.completed", first.id), ("stage.started", second.id)]
    kept = await ground.fetch("SELECT status FROM stages ORDER BY stage_index")
    assert [row["status"] for row in kept] == ["completed", "active"]


async def test_the_end_of_a_session_ends_its_work_and_wakes_what_waited_for_it(database_url: str, ground: Ground, claim: Claim) -> None:
    engine, received = create_engine(database_url), list[object]()
    close = SessionClose(
        status=SessionStatus.COMPLETED,
        completed_at=datetime.now(UTC),
        citations=CitationCounts(cited=2, verified=1),
    )

    def receive(*reported: object) -> None:
        received.append(reported[3])

    async with listen_connection(database_url) as listening:
        await listening.add_listener(notifications.WORK, receive)
        await PostgresJournal(engine, lambda _events: None).commit(Step(claim=claim, session_close=close))
        # A notification of what was committed before arrives with the answer.
        await listening.fetch("SELECT")
    await engine.dispose()
    assert received == [INVESTIGATION]
    assert await ground.fetch("SELECT state, claim_token FROM work") == [{"state": "done", "claim_token": None}]
    (session,) = await ground.fetch("SELECT status, citations ->> 'verified' AS verified FROM alert_sessions")
    assert session == {"status": "completed", "verified": "1"}


async def test_a_session_ends_with_its_last_stage_and_is_announced_after_it(database_url: str, ground: Ground, claim: Claim) -> None:
    engine, delivered = create_engine(database_url), list[StoredLiveEvent]()
    journal, stage = PostgresJournal(engine, delivered.extend), begun_stage(claim)
    await journal.commit(Step(claim=claim, stages=(stage,)))
    delivered.clear()
    close = StageClose(stage_id=stage.id, status=RunStatus.COMPLETED, completed_at=datetime.now(UTC))
    await journal.commit(replace(ends(claim), stage_closes=(close,)))
    await engine.dispose()
    assert [event.payload["type"] for event in delivered] == ["stage.completed", "session.completed", "session.completed"]
    (session,) = await ground.fetch("SELECT alert_type FROM alert_sessions")
    assert {event.payload["alert_type"] for event in delivered[1:]} == {session["alert_type"]}
    assert await ground.fetch("SELECT final_analysis FROM alert_sessions") == [{"final_analysis": "second"}]


@pytest.mark.parametrize("written", ["UPDATE work SET heartbeat_at = now()", "UPDATE alert_sessions SET author = author"])
async def test_a_session_that_another_writer_holds_while_it_ends_ends_when_that_one_lets_go(
    database_url: str, ground: Ground, claim: Claim, written: str
) -> None:
    engine, others = create_engine(database_url), create_engine(database_url)
    async with others.begin() as slow, anyio.create_task_group() as tasks:
        await slow.execute(sa.text(written))
        tasks.start_soon(PostgresJournal(engine, lambda _events: None).commit, ends(claim))
        await ground.until("SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
        await slow.commit()
    await engine.dispose()
    await others.dispose()
    assert await ground.fetch("SELECT state FROM work") == [{"state": "done"}]
    assert await ground.fetch("SELECT status FROM alert_sessions") == [{"status": "completed"}]


async def test_a_session_that_was_asked_to_stop_in_its_last_moment_ends_cancelled(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(sa.text("UPDATE work SET cancel_requested = true"))
    await PostgresJournal(engine, lambda _events: None).commit(ends(claim))
    await engine.dispose()
    (session,) = await ground.fetch("SELECT status, analysis_is_partial FROM alert_sessions")
    assert session == {"status": "cancelled", "analysis_is_partial": True}


async def test_what_still_streams_when_its_session_ends_is_interrupted(database_url: str, ground: Ground, claim: Claim) -> None:
    engine, stage = create_engine(database_url), begun_stage(claim)
    journal = PostgresJournal(engine, lambda _events: None)
    await journal.commit(Step(claim=claim, stages=(stage,)))
    await journal.commit(Step(claim=claim, opened=(replace(streaming(claim), stage_id=stage.id),)))
    await journal.commit(ends(claim))
    await engine.dispose()
    assert await ground.fetch("SELECT status FROM timeline_events") == [{"status": "interrupted"}]
    assert await ground.fetch("SELECT status FROM alert_sessions") == [{"status": "completed"}]


async def test_the_end_of_a_session_is_not_written_under_a_claim_that_was_lost(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    with pytest.raises(ClaimLostError):
        await PostgresJournal(engine, lambda _events: None).commit(ends(replace(claim, token=str(uuid4()))))
    await engine.dispose()
    assert await ground.fetch("SELECT status FROM alert_sessions") == [{"status": "in_progress"}]


def new_execution(stage: Stage) -> AgentExecution:
    return AgentExecution(
        id=str(uuid4()),
        session_id=stage.session_id,
        stage_id=stage.id,
        agent_name="Investigator",
        agent_index=1,
        llm_backend="langchain",
        llm_provider="p",
        model_name="m",
        tool_calling="native",
        status=RunStatus.PENDING,
    )


async def test_an_execution_is_read_back_by_any_process_as_it_was_stored(database_url: str, claim: Claim) -> None:
    engine = create_engine(database_url)
    stage = begun_stage(claim)
    execution = new_execution(stage)
    journal = PostgresJournal(engine, lambda _events: None)
    await journal.commit(Step(claim=claim, stages=(stage,), executions=(execution,)))
    assert await journal.load(execution.id) == StoredRun()
    body = ConversationMessage(Role.USER, "look")
    answered = Message(id=str(uuid4()), execution_id=execution.id, sequence_number=1, body=body, created_at=datetime.now(UTC))
    begins = ExecutionChange(execution_id=execution.id, at=datetime.now(UTC), status=RunStatus.ACTIVE)
    await journal.commit(Step(claim=claim, messages=(answered,), execution_changes=(begins,)))
    for reader in (journal, PostgresJournal(engine, lambda _events: None)):
        stored = await reader.load(execution.id)
        assert (stored.begun, [message.body.content for message in stored.messages]) == (True, ["look"])
    await engine.dispose()


def moved(execution: AgentExecution, status: RunStatus, error: str | None = None) -> ExecutionChange:
    return ExecutionChange(execution_id=execution.id, at=datetime.now(UTC), status=status, error_message=error)


async def test_an_entry_that_is_opened_and_closed_in_one_step_is_announced_and_stored_like_one_of_two(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    streamed, after = replace(streaming(claim), metadata={"source": "react"}), warning(claim, "behind it")
    closed = TimelineClose(
        event_id=streamed.id,
        status=TimelineStatus.COMPLETED,
        content="all of it",
        completed_at=datetime.now(UTC),
        metadata={"draft": True},
        event_type=TimelineEventType.FINAL_ANALYSIS,
    )
    await journal.commit(Step(claim=claim, opened=(streamed, after), closed=(closed,)))
    # Closed once: a second close finds nothing.
    await journal.commit(Step(claim=claim, closed=(replace(closed, content="too late"),)))
    await engine.dispose()
    stored = await ground.fetch("SELECT event_type, status, content, metadata FROM timeline_events ORDER BY position")
    assert [(row["event_type"], row["status"], row["content"]) for row in stored] == [
        ("final_analysis", "completed", "all of it"),
        ("warning", "completed", "behind it"),
    ]
    assert orjson.loads(stored[0]["metadata"]) == {"source": "react", "draft": True}
    reported = await ground.fetch(
        "SELECT payload ->> 'type' AS type, coalesce(payload #>> '{event,status}', payload ->> 'status') AS status"
        " FROM events WHERE channel LIKE 'session:%' AND payload ->> 'type' LIKE 'timeline%' ORDER BY id LIMIT 3"
    )
    assert [(row["type"], row["status"]) for row in reported] == [
        ("timeline_event.created", "streaming"),
        ("timeline_event.completed", "completed"),
        ("timeline_event.created", "completed"),
    ]


async def test_an_agent_that_begins_in_the_step_that_brings_it_is_stored_as_active(database_url: str, ground: Ground, claim: Claim) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    stage = begun_stage(claim)
    execution = new_execution(stage)
    begins = moved(execution, RunStatus.ACTIVE)
    await journal.commit(Step(claim=claim, stages=(stage,), executions=(execution,), execution_changes=(begins,)))
    assert await journal.load(execution.id) == StoredRun(begun=True)
    assert await PostgresJournal(engine, lambda _events: None).load(execution.id) == StoredRun(begun=True)
    await engine.dispose()
    stored = await ground.fetch("SELECT status, started_at, completed_at FROM agent_executions")
    assert stored == [{"status": "active", "started_at": begins.at, "completed_at": None}]


async def test_an_agent_that_ends_in_the_step_that_tells_that_it_began_has_both_times(
    database_url: str, ground: Ground, claim: Claim
) -> None:
    engine = create_engine(database_url)
    journal = PostgresJournal(engine, lambda _events: None)
    stage = begun_stage(claim)
    execution = new_execution(stage)
    await journal.commit(Step(claim=claim, stages=(stage,), executions=(execution,)))
    changes = begins, fails = moved(execution, RunStatus.ACTIVE), moved(execution, RunStatus.FAILED, "it broke")
    await journal.commit(Step(claim=claim, execution_changes=changes))
    # What has ended stays as it is.
    await journal.commit(Step(claim=claim, execution_changes=(moved(execution, RunStatus.ACTIVE), moved(execution, RunStatus.COMPLETED))))
    await engine.dispose()
    stored = await ground.fetch("SELECT status, error_message, started_at, completed_at FROM agent_executions")
    assert stored == [{"status": "failed", "error_message": "it broke", "started_at": begins.at, "completed_at": fails.at}]


async def test_the_plan_of_the_statement_of_steps_is_made_once_and_kept(database_url: str, claim: Claim) -> None:
    engine = create_engine(database_url, connections=1)
    journal = PostgresJournal(engine, lambda _events: None)
    # PostgreSQL makes five plans for the values that are given, and keeps one for all values if that is no more expensive.
    for _ in range(8):
        await journal.commit(opens(claim))
    async with engine.connect() as connection:
        query = sa.text("SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE :beginning")
        assert (await connection.execute(query, {"beginning": "%WITH claimed AS%"})).all() == [(3, 5)]
    await engine.dispose()
