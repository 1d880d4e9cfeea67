"""Statements of the driver on connections of the engine's pool."""

import traceback

import anyio
import asyncpg
import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InvalidRequestError

from tarsy.db.connection import POOL_SIZE, create_engine, pool_use
from tarsy.db.driver import Statement, borrowed, transaction
from tarsy.db.retry import cause_of, is_transient

_PID = Statement("SELECT pg_backend_pid() AS pid")
_TOLD = Statement("INSERT INTO told (words) VALUES (:words)")
_ALL = Statement("SELECT words FROM told ORDER BY words")


async def test_the_driver_and_sqlalchemy_share_the_connections_of_one_pool(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    pids: set[int] = set()
    for _ in range(POOL_SIZE):
        async with borrowed(engine) as connection:
            pids |= {row["pid"] for row in await _PID.rows(connection)}
        async with engine.connect() as connection:
            pids.add((await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())
    assert len(pids) == 1
    await engine.dispose()


async def test_a_connection_whose_statement_was_cancelled_is_not_handed_out_again(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    async with borrowed(engine) as connection:
        (before,) = await _PID.rows(connection)
    with anyio.move_on_after(0.2) as patience:
        async with borrowed(engine) as connection:
            await Statement("SELECT pg_sleep(60)").rows(connection)
    assert patience.cancelled_caught
    async with borrowed(engine) as connection:
        (after,) = await _PID.rows(connection)
    assert after["pid"] != before["pid"]
    await engine.dispose()


async def test_a_statement_is_part_of_the_transaction_that_sqlalchemy_has_open(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE told (words text)"))
    async with engine.begin() as connection:
        await _TOLD.rows(connection, {"words": "taken back"})
        await connection.rollback()
    async with engine.begin() as connection:
        await _TOLD.rows(connection, {"words": "kept"})
    async with borrowed(engine) as connection:
        assert [row["words"] for row in await _ALL.rows(connection)] == ["kept"]
    await engine.dispose()


async def test_a_transaction_that_fails_leaves_nothing_behind_and_its_connection_is_used_again(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    async with borrowed(engine) as connection:
        await Statement("CREATE TABLE told (words text UNIQUE)").rows(connection)
        (before,) = await _PID.rows(connection)
    secret = {"words": "of a secret"}

    async def twice() -> None:
        async with transaction(engine) as connection:
            await _TOLD.rows(connection, secret)
            await _TOLD.rows(connection, secret)

    with pytest.raises(DBAPIError) as refused:
        await twice()
    assert not is_transient(refused.value)
    told = "".join(traceback.format_exception(refused.value))
    assert "of a secret" not in told
    async with borrowed(engine) as connection:
        assert await _ALL.rows(connection) == []
        (after,) = await _PID.rows(connection)
    assert after["pid"] == before["pid"]
    await engine.dispose()


async def test_a_connection_that_the_server_closes_in_the_middle_is_worth_another_try(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    with pytest.raises(DBAPIError) as lost:
        async with borrowed(engine) as connection:
            await Statement("SELECT pg_terminate_backend(pg_backend_pid())").rows(connection)
    assert is_transient(lost.value)
    async with borrowed(engine) as connection:
        assert await _PID.rows(connection)
    await engine.dispose()


async def test_a_server_that_refuses_the_connection_itself_is_told_by_the_same_name(empty_database_url: str) -> None:
    engine = create_engine(make_url(empty_database_url).set(database="missing").render_as_string(hide_password=False))
    with pytest.raises(DBAPIError) as refused:
        async with borrowed(engine):
            pass
    assert isinstance(cause_of(refused.value), asyncpg.InvalidCatalogNameError)
    await engine.dispose()


async def test_a_connection_that_the_server_closed_while_it_lay_idle_is_not_handed_out(empty_database_url: str) -> None:
    engine, other = create_engine(empty_database_url), create_engine(empty_database_url)
    async with borrowed(engine) as connection:
        (before,) = await _PID.rows(connection)
    async with borrowed(other) as connection:
        await Statement("SELECT pg_terminate_backend(:pid, 5000)").rows(connection, {"pid": before["pid"]})
    async with borrowed(engine) as connection:
        (after,) = await _PID.rows(connection)
    assert after["pid"] != before["pid"]
    await engine.dispose()
    await other.dispose()


async def test_the_pool_knows_what_is_borrowed_of_it(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url, connections=2)
    for _ in range(3):
        async with borrowed(engine):
            assert pool_use(engine)[0] == 1
            async with borrowed(engine):
                assert pool_use(engine) == (2, 0)
    assert pool_use(engine) == (0, 2)
    waited: list[int] = []

    async def third() -> None:
        async with borrowed(engine) as connection:
            waited.append((await _PID.rows(connection))[0]["pid"])

    async with anyio.create_task_group() as tasks, borrowed(engine), borrowed(engine):
        tasks.start_soon(third)
        await anyio.wait_all_tasks_blocked()
        assert waited == []
    assert len(waited) == 1
    await engine.dispose()


async def test_a_server_that_closes_whatever_connection_is_made_is_away_for_a_while(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    event.listen(engine.sync_engine, "checkout", _cut)
    with pytest.raises(InvalidRequestError) as refused:
        async with borrowed(engine):
            pass
    assert is_transient(refused.value)
    assert not is_transient(InvalidRequestError("no such column"))
    await engine.dispose()


def _cut(*_: object) -> None:
    raise DisconnectionError("the server has closed this connection")
