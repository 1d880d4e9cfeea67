"""Sessions in PostgreSQL: the list, the queue's limit, changes of status, and their events."""

from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.agent_scenario import agent, chain, stage
from support.api_rows import claim_state
from support.statements import log_statements
from tarsy.config.resolve.resolved import ResolvedChallenge
from tarsy.db.connection import create_engine
from tarsy.db.errors import BadCursorError, NotFoundError
from tarsy.db.masking_key import masking_key
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.session.listing import SessionFilter, SessionSummary
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.session.repository import SessionRepository
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.tables import agent_executions as executions
from tarsy.db.tables import alert_sessions, llm_interactions, stages, work
from tarsy.db.work.parking import CancelAnswer
from tarsy.domain.execution import AgentType
from tarsy.domain.live_events import SESSIONS_CHANNEL, session_channel
from tarsy.domain.session import NewSession
from tarsy.domain.skill import text_hash
from tarsy.domain.status import SESSION_TRANSITIONS, SessionStatus, sources_of
from tarsy.session.plan import plan

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SNAPSHOT = {"stages": [{"name": "a", "synthesis": None}, {"name": "b", "synthesis": {"agent_name": "S"}}]}


@pytest.fixture
async def engine(database_url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(database_url)
    yield engine
    await engine.dispose()


@pytest.fixture
def sessions(engine: AsyncEngine) -> SessionRepository:
    return SessionRepository(Publisher(engine))


def new(minute: int = 0, **more: Any) -> NewSession:
    values: dict[str, Any] = {
        "id": str(uuid4()),
        "alert_data": "pod api-7f9c is down",
        "alert_type": "kubernetes",
        "chain_id": "kubernetes",
        "chain_snapshot": SNAPSHOT,
        "author": "alice",
        "nonce": "n" * 32,
        "created_at": AT + timedelta(minutes=minute),
        **more,
    }
    return NewSession(**values)


async def put(engine: AsyncEngine, session_id: str, status: SessionStatus) -> None:
    values = {"status": status.value, "completed_at": AT if status.is_final else None}
    async with engine.begin() as connection:
        await connection.execute(sa.update(alert_sessions).where(alert_sessions.c.id == session_id).values(values))
        await connection.execute(sa.update(work).where(work.c.subject_id == session_id).values(claim_state(status)))


def ids(page: Sequence[SessionSummary]) -> list[str]:
    return [session.id for session in page]


async def test_pages_follow_each_other_without_gap_or_repetition(sessions: SessionRepository) -> None:
    # Five share a moment: the id decides among them.
    stored = [new(minute=minute // 5) for minute in range(12)]
    for session in stored:
        await sessions.insert(session)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await sessions.list(limit=5, cursor=cursor)
        seen += ids(page.sessions)
        cursor = page.next_cursor
        if cursor is None:
            break
    expected = sorted(stored, key=lambda session: (session.created_at, session.id), reverse=True)
    assert seen == [session.id for session in expected]


@pytest.mark.parametrize("cursor", ["nonsense", "", "MjAyNi0wMS0wMQ", "é", "a" * 300])
async def test_a_made_up_cursor_is_refused(sessions: SessionRepository, cursor: str) -> None:
    if cursor:
        with pytest.raises(BadCursorError):
            await sessions.list(cursor=cursor)
    else:
        assert (await sessions.list(cursor=cursor)).sessions == ()


async def test_filters_narrow_the_list(sessions: SessionRepository, engine: AsyncEngine) -> None:
    first, second, third = new(0), new(1, alert_type="database", chain_id="db"), new(2)
    for session in (first, second, third):
        await sessions.insert(session)
    await put(engine, third.id, SessionStatus.COMPLETED)

    async def found(**where: Any) -> list[str]:
        return ids((await sessions.list(SessionFilter(**where))).sessions)

    assert await found(statuses=(SessionStatus.PENDING,)) == [second.id, first.id]
    assert await found(statuses=(SessionStatus.COMPLETED, SessionStatus.FAILED)) == [third.id]
    assert await found(alert_type="database") == [second.id]
    assert await found(chain_id="kubernetes") == [third.id, first.id]
    assert await found(created_from=AT + timedelta(minutes=1), created_to=AT + timedelta(minutes=2)) == [second.id]


async def test_words_are_found_whole_by_their_beginning_and_never_break_the_query(sessions: SessionRepository, engine: AsyncEngine) -> None:
    disk, memory = new(0, alert_data="disk pressure on node-17"), new(1, alert_data="out of memory in payments")
    for session in (disk, memory):
        await sessions.insert(session)
    async with engine.begin() as connection:
        reported = sa.update(alert_sessions).where(alert_sessions.c.id == memory.id)
        await connection.execute(reported.values(final_analysis="The limit of 512Mi is too low for the nightly batch."))

    async def found(text: str) -> list[str]:
        return ids((await sessions.list(SessionFilter(text=text))).sessions)

    assert await found("disk node") == [disk.id]
    assert await found("paym") == [memory.id]
    assert await found('"nightly batch"') == [memory.id]
    assert await found("disk or payments") == [memory.id, disk.id]
    assert await found("pressure -disk") == []
    assert await found("pressure -node-17") == []
    assert await found('memory -"disk pressure"') == [memory.id]
    for odd in ("!!!", "'", "a & | b", ":*", '"', "-", "\\", "(", "\U0001f525", "a" * 500):
        await found(odd)


async def test_a_page_of_waiting_sessions_costs_two_queries_whatever_its_size(sessions: SessionRepository, engine: AsyncEngine) -> None:
    for minute in range(30):
        await sessions.insert(new(minute))
    statements: list[str] = []

    log_statements(engine, statements)
    page = await sessions.list(limit=30)
    assert len(page.sessions) == 30
    assert len(statements) == 2


async def test_a_row_shows_how_far_a_session_is_and_what_it_cost(sessions: SessionRepository, engine: AsyncEngine) -> None:
    waiting, running = new(0), new(1)
    for session in (waiting, running):
        await sessions.insert(session)
    await put(engine, running.id, SessionStatus.IN_PROGRESS)
    await _add_stage_with_call(engine, running.id)
    shown = {session.id: session for session in (await sessions.list()).sessions}
    assert (shown[waiting.id].position.queue_position, shown[running.id].position.queue_position) == (1, None)
    async with engine.begin() as connection:
        heartbeat = {"claimed_by": "pod-1", "heartbeat_at": AT}
        await connection.execute(sa.update(work).where(work.c.subject_id == running.id).values(**heartbeat))
    details = [(await sessions.detail(session.id)).position for session in (waiting, running)]
    assert [(one.pod_id, one.last_interaction_at) for one in details] == [(None, None), ("pod-1", AT)]
    assert (shown[running.id].current_stage_name, shown[running.id].current_stage_index) == ("b", 1)
    # Two stages, one synthesis, the executive summary.
    assert shown[running.id].stage_count == 4
    assert (shown[running.id].total_tokens, shown[waiting.id].total_tokens) == (42, 0)


@pytest.mark.parametrize("changes", [{}, {"challenge": ResolvedChallenge()}, {"executive_summary": None}])
async def test_a_row_counts_the_stages_that_the_progress_of_its_session_counts(
    sessions: SessionRepository, changes: dict[str, Any]
) -> None:
    act = stage(agent("Remediator", type=AgentType.ACTION), name="act")
    resolved = chain(stage(agent("A"), agent("B"), name="look"), stage(agent("A"), name="conclude"), act, **changes)
    await sessions.insert(new(chain_snapshot=resolved.model_dump(mode="json")))
    (shown,) = (await sessions.list()).sessions
    assert shown.stage_count == len(plan(resolved))


async def _add_stage_with_call(engine: AsyncEngine, session_id: str) -> None:
    stage, execution = str(uuid4()), str(uuid4())
    of_session = {"session_id": session_id, "stage_id": stage}
    async with engine.begin() as connection:
        for index, (kind, name, identity) in enumerate(
            (("investigation", "a", str(uuid4())), ("investigation", "b", stage), ("chat", "c", str(uuid4())))
        ):
            row = {"id": identity, "session_id": session_id, "stage_name": name, "stage_index": index, "stage_type": kind}
            await connection.execute(sa.insert(stages).values(**row, expected_agent_count=1, status="active"))
        agent = {
            "agent_name": "A",
            "agent_index": 1,
            "llm_backend": "langchain",
            "llm_provider": "p",
            "model_name": "m",
            "tool_calling": "native",
        }
        await connection.execute(sa.insert(executions).values(id=execution, **of_session, **agent, status="active"))
        call = {"kind": "iteration", "track": "t", "turn": 0, "provider": "p", "model": "m", "request_hash": "h", "message_count": 0}
        timed: dict[str, Any] = {"request": {}, "started_at": AT, "duration_ms": 1, "total_tokens": 42}
        await connection.execute(sa.insert(llm_interactions).values(id=str(uuid4()), **of_session, execution_id=execution, **call, **timed))


async def test_places_in_the_queue_move_up(sessions: SessionRepository, engine: AsyncEngine) -> None:
    first, second = new(0), new(1)
    for session in (second, first):
        await sessions.insert(session)
    assert [(await sessions.detail(session.id)).position.queue_position for session in (first, second)] == [1, 2]
    await put(engine, first.id, SessionStatus.IN_PROGRESS)
    assert [(await sessions.detail(session.id)).position.queue_position for session in (first, second)] == [None, 1]
    state = await sessions.queue_state()
    assert (state.pending, state.running, state.oldest_pending_at) == (1, 1, second.created_at)


async def test_submitting_and_cancelling_are_announced_on_both_channels(sessions: SessionRepository, engine: AsyncEngine) -> None:
    session = new()
    await sessions.insert(session)
    await sessions.request_cancel(session.id, actor="bob")
    outbox = Outbox(engine)
    for channel in (session_channel(session.id), SESSIONS_CHANNEL):
        reported = await outbox.read_after(channel, 0, 10)
        assert [entry.payload["status"] for entry in reported] == ["pending", "cancelled"]
        assert [entry.payload["type"] for entry in reported] == ["session.status", "session.completed"]


@pytest.mark.parametrize("status", list(SessionStatus))
async def test_cancelling_moves_only_where_the_table_leads(sessions: SessionRepository, engine: AsyncEngine, status: SessionStatus) -> None:
    session = new()
    await sessions.insert(session)
    await put(engine, session.id, status)
    answer = await sessions.request_cancel(session.id, actor="bob")
    after = (await sessions.get(session.id)).status
    assert after is status or status in sources_of(after, SESSION_TRANSITIONS)
    expected = {
        SessionStatus.PENDING: CancelAnswer.CANCELLED,
        SessionStatus.IN_PROGRESS: CancelAnswer.CANCELLING,
        SessionStatus.CANCELLING: CancelAnswer.CANCELLING,
        SessionStatus.WAITING: CancelAnswer.CANCELLED,
    }
    assert answer is expected.get(status, CancelAnswer.ALREADY_ENDED)


async def test_erasing_leaves_nothing_but_the_audit_log(sessions: SessionRepository, engine: AsyncEngine) -> None:
    session = new()
    await sessions.insert(session)
    await _add_stage_with_call(engine, session.id)
    await put(engine, session.id, SessionStatus.FAILED)
    await sessions.purge(session.id, actor="bob")
    with pytest.raises(NotFoundError):
        await sessions.get(session.id)
    async with engine.connect() as connection:
        for table in ("stages", "agent_executions", "llm_interactions", "events"):
            assert (await connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))) == 0  # noqa: S608 - names from above
        assert (await connection.scalar(sa.text("SELECT count(*) FROM event_channels WHERE name LIKE 'session:%'"))) == 0
        assert (await connection.scalar(sa.text("SELECT count(*) FROM audit_log"))) == 2


async def test_processes_that_start_together_or_later_have_the_same_masking_key(database_url: str) -> None:
    engines = [create_engine(database_url) for _ in range(3)]
    keys: list[bytes] = []

    async def read(engine: AsyncEngine) -> None:
        keys.append(await masking_key(engine))

    async with anyio.create_task_group() as tasks:
        for engine in engines:
            tasks.start_soon(read, engine)
    await read(engines[0])
    for engine in engines:
        await engine.dispose()
    assert len(keys) == 4
    assert len(set(keys)) == 1
    assert len(keys[0]) == 32


async def test_a_recording_with_skills_needs_one_connection_at_a_time(database_url: str) -> None:
    """Otherwise as many people as the pool has connections keep each other, and the heartbeats, waiting."""
    engine, text = create_engine(database_url, connections=1), "Look at the disk first."
    skills = {"disk": {"files": {"SKILL.md": text_hash(text)}}}
    session = new(chain_snapshot={**SNAPSHOT, "skills": skills})
    await SkillTextRepository(engine).store([text])
    await SessionRepository(Publisher(engine)).insert(session)
    with anyio.fail_after(5):
        recording = await RecordingSource(engine).read(session.id)
    await engine.dispose()
    assert recording
    assert recording.skills == {text_hash(text): text}
