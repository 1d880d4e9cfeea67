"""Submissions that arrive at the same time share a transaction, and nothing else."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import asyncpg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from support.queue_ground import Ground
from support.queue_scenario import Scenario, scenario, short
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session import admission
from tarsy.db.session.admission import insert_sessions
from tarsy.db.session.repository import SessionRepository
from tarsy.db.tables import alert_sessions

TOGETHER = 40


@pytest.fixture
def made(tmp_path: Path) -> Scenario:
    return scenario(short(0.0), tmp_path)


@pytest.fixture
async def engine(database_url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(database_url)
    yield engine
    await engine.dispose()


async def transactions_of_sessions(ground: Ground) -> int:
    # Rows written by one transaction carry its id.
    return (await ground.fetch("SELECT count(DISTINCT CAST(xmin AS text)) AS n FROM alert_sessions"))[0]["n"]


async def test_a_crowd_is_stored_in_a_few_transactions_and_announced_in_order(
    engine: AsyncEngine, database_url: str, made: Scenario, tmp_path: Path
) -> None:
    repository, ground = SessionRepository(Publisher(engine)), Ground(database_url, tmp_path)
    async with anyio.create_task_group() as tasks:
        for _ in range(TOGETHER):
            tasks.start_soon(repository.insert, made.session())
    assert (await ground.fetch("SELECT count(*) AS n FROM alert_sessions WHERE status = 'pending'"))[0]["n"] == TOGETHER
    assert await transactions_of_sessions(ground) < TOGETHER / 4
    reported = await ground.fetch(
        "SELECT id, session_id, payload ->> 'session_id' AS about FROM events WHERE channel = 'sessions' ORDER BY id"
    )
    assert [row["id"] for row in reported] == list(range(1, TOGETHER + 1))
    assert all(str(row["session_id"]) == row["about"] for row in reported)
    own = await ground.fetch("SELECT channel, id, session_id FROM events WHERE channel LIKE 'session:%'")
    assert {(row["channel"], row["id"]) for row in own} == {(f"session:{row['session_id']}", 1) for row in reported}
    assert (await ground.fetch("SELECT count(DISTINCT session_id) AS n FROM audit_log WHERE actor = 'chaos'"))[0]["n"] == TOGETHER


async def test_one_that_cannot_be_stored_does_not_keep_the_others_out(
    engine: AsyncEngine, database_url: str, made: Scenario, tmp_path: Path
) -> None:
    repository, ground = SessionRepository(Publisher(engine)), Ground(database_url, tmp_path)
    refused: list[str] = []

    async def submit(alert: str) -> None:
        try:
            await repository.insert(made.session(alert_data=alert))
        except DBAPIError:
            refused.append(alert)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(submit, f"alert {number}" if number != 6 else "alert \x00")
    assert refused == ["alert \x00"]
    assert (await ground.fetch("SELECT count(*) AS n FROM alert_sessions"))[0]["n"] == 9


async def test_a_chain_is_complete_whether_the_database_copies_it_or_reads_it_anew(engine: AsyncEngine, made: Scenario) -> None:
    repository = SessionRepository(Publisher(engine))
    sent, copied, anew = made.session(), made.session(), made.session()
    await repository.insert(sent)
    await repository.insert(copied)
    assert (await repository.get(copied.id)).chain_snapshot == sent.chain_snapshot
    async with engine.begin() as connection:
        # As retention does to sessions that have ended: there is nothing left to copy from.
        await connection.execute(sa.delete(alert_sessions))
    await repository.insert(anew)
    assert (await repository.get(anew.id)).chain_snapshot == sent.chain_snapshot


# What the database does for one of them takes a minute.
SLOW = """
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.alert_data = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
    CREATE TRIGGER dawdle BEFORE INSERT ON alert_sessions FOR EACH ROW EXECUTE FUNCTION dawdle();
"""


async def test_one_that_takes_too_long_does_not_keep_the_others_out(
    engine: AsyncEngine, database_url: str, made: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "STATEMENT_SECONDS", 1)
    repository, ground = SessionRepository(Publisher(engine)), Ground(database_url, tmp_path)
    connection = await asyncpg.connect(database_url)
    await connection.execute(SLOW)
    await connection.close()
    refused: list[str] = []

    async def submit(alert: str) -> None:
        try:
            await repository.insert(made.session(alert_data=alert))
        except DBAPIError:
            refused.append(alert)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(submit, f"alert {number}" if number != 6 else "slow")
    assert refused == ["slow"]
    assert (await ground.fetch("SELECT count(*) AS n FROM alert_sessions"))[0]["n"] == 9


RUNS = ("a_", "a-", "a.", "a/", "a@", "a:", "1e", "-1", "é_", "a?b=", "a-b.c/d@e_", "http://", "<a ", "<!-- ", '<a b="', "&#1", "x")


@pytest.mark.parametrize("run", RUNS)
async def test_no_text_keeps_the_index_busy(engine: AsyncEngine, made: Scenario, run: str) -> None:
    """Bounded by the server: what took twelve seconds for half of this must be done within the limit of a statement."""
    session = made.session(alert_data=run * (60_000 // len(run)))
    async with engine.begin() as connection:
        await connection.execute(sa.text("SET LOCAL statement_timeout = '5s'"))
        await insert_sessions(connection, [session])
        text = {"final_analysis": run * (60_000 // len(run)), "completed_at": session.created_at, "status": "completed"}
        await connection.execute(sa.update(alert_sessions).values(text))


async def test_who_gives_up_waiting_takes_nobody_along(engine: AsyncEngine, database_url: str, made: Scenario, tmp_path: Path) -> None:
    repository, ground = SessionRepository(Publisher(engine)), Ground(database_url, tmp_path)
    scopes: list[anyio.CancelScope] = []

    async def impatient() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await repository.insert(made.session())

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(impatient)
            tasks.start_soon(repository.insert, made.session())
        await anyio.wait_all_tasks_blocked()
        for scope in scopes:
            scope.cancel()
    assert (await ground.fetch("SELECT count(*) AS n FROM alert_sessions"))[0]["n"] == 10
