"""The engine's pool: which connections it hands out, and how errors of the driver are raised."""

import traceback
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import asyncpg
import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from support.connection_cutter import cutting
from tarsy.db.connection import DriverConnection, autocommit, create_engine, driver_error, pool_use, snapshot
from tarsy.db.retry import is_transient


@pytest.fixture
async def engine(empty_database_url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(empty_database_url, connections=2)
    yield engine
    await engine.dispose()


async def pid(connection: AsyncConnection) -> int:
    return (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()


async def test_statements_of_all_kinds_share_the_connections_of_one_pool(engine: AsyncEngine) -> None:
    pids: set[int] = set()
    for one in (autocommit(engine), engine, snapshot(engine), autocommit(engine)):
        async with one.connect() as connection:
            pids.add(await pid(connection))
    assert len(pids) == 1


async def test_a_statement_is_prepared_once_for_each_connection(engine: AsyncEngine) -> None:
    async with autocommit(engine).connect() as connection:
        for number in range(3):
            await connection.execute(text("SELECT CAST(:number AS integer) AS prepared"), {"number": number})
        prepared = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%AS prepared'"
        assert (await connection.execute(text(prepared))).scalar_one() == 1


async def test_each_statement_commits_by_itself_without_a_transaction(engine: AsyncEngine) -> None:
    async with autocommit(engine).connect() as connection, engine.connect() as other:
        await connection.execute(text("CREATE TABLE kept (words text)"))
        await connection.execute(text("INSERT INTO kept VALUES ('at once')"))
        assert (await other.execute(text("SELECT words FROM kept"))).scalars().all() == ["at once"]


async def test_all_statements_of_a_snapshot_see_the_same_moment(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE kept (words text)"))
    async with snapshot(engine).connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM kept"))).scalar_one() == 0
        async with engine.begin() as other:
            await other.execute(text("INSERT INTO kept VALUES ('later')"))
        assert (await connection.execute(text("SELECT count(*) FROM kept"))).scalar_one() == 0


@pytest.mark.parametrize("kind", [autocommit, snapshot])
async def test_a_connection_whose_statement_was_cancelled_is_not_handed_out_again(
    engine: AsyncEngine, kind: Callable[[AsyncEngine], AsyncEngine]
) -> None:
    async with kind(engine).connect() as connection:
        before = await pid(connection)
    with anyio.move_on_after(0.2) as scope:
        async with kind(engine).connect() as connection:
            await connection.execute(text("SELECT pg_sleep(60)"))
    assert scope.cancelled_caught
    async with kind(engine).connect() as connection:
        assert await pid(connection) != before


async def test_a_transaction_that_fails_leaves_nothing_behind_and_its_connection_is_used_again(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE kept (words text UNIQUE)"))
        before = await pid(connection)

    secret = {"words": "of a secret"}

    async def insert_twice() -> None:
        async with engine.begin() as connection:
            await connection.execute(text("INSERT INTO kept VALUES (:words)"), secret)
            await connection.execute(text("INSERT INTO kept VALUES (:words)"), secret)

    with pytest.raises(DBAPIError) as refused:
        await insert_twice()
    assert not is_transient(refused.value)
    assert "of a secret" not in "".join(traceback.format_exception(refused.value))
    async with engine.connect() as connection:
        assert (await connection.execute(text("SELECT words FROM kept"))).scalars().all() == []
        assert await pid(connection) == before


async def test_a_connection_that_the_server_closes_in_the_middle_of_a_statement_is_a_transient_error(engine: AsyncEngine) -> None:
    async with autocommit(engine).connect() as connection:
        with pytest.raises(DBAPIError) as lost:
            await connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert is_transient(lost.value)
    async with autocommit(engine).connect() as connection:
        assert await pid(connection)


async def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_handed_out(
    engine: AsyncEngine, empty_database_url: str
) -> None:
    other = create_engine(empty_database_url)
    async with engine.connect() as connection:
        before = await pid(connection)
    async with other.connect() as connection:
        await connection.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": before})
    async with engine.connect() as connection:
        assert await pid(connection) != before
    await other.dispose()


async def connect(engine: AsyncEngine) -> None:
    async with engine.connect():
        pass


async def test_a_server_that_refuses_a_connection_is_an_error_like_any_other(empty_database_url: str) -> None:
    engine = create_engine(make_url(empty_database_url).set(database="missing").render_as_string(hide_password=False))
    with pytest.raises(DBAPIError) as refused:
        await connect(engine)
    assert isinstance(driver_error(refused.value), asyncpg.InvalidCatalogNameError)
    assert not is_transient(refused.value)
    await engine.dispose()


async def test_a_server_that_cannot_be_reached_is_an_error_like_any_other(tmp_path: Path) -> None:
    engine = create_engine(f"postgresql://tarsy@/tarsy?host={tmp_path}")
    with pytest.raises(DBAPIError) as away:
        await connect(engine)
    assert isinstance(driver_error(away.value), OSError)
    assert is_transient(away.value)
    await engine.dispose()


async def test_a_server_that_stops_while_a_connection_is_being_set_up_is_an_error_like_any_other(engine: AsyncEngine) -> None:
    def stop(*_: object) -> None:
        # As the driver raises it, from the statements that the dialect runs on a new connection.
        raise asyncpg.AdminShutdownError("terminating connection due to administrator command")

    event.listen(engine.sync_engine, "connect", stop)
    with pytest.raises(DBAPIError) as stopped:
        await connect(engine)
    assert isinstance(driver_error(stopped.value), asyncpg.AdminShutdownError)
    assert is_transient(stopped.value)


@pytest.mark.parametrize("use_uvloop", [False, True])
def test_a_server_that_closes_a_connection_before_its_socket_is_configured_is_a_transient_error(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch, *, use_uvloop: bool
) -> None:
    execute = asyncpg.Connection.execute

    async def execute_and_lose_the_connection(self: DriverConnection, query: str, *arguments: Any, **options: Any) -> str:
        status = await execute(self, query, *arguments, **options)
        # The last statement before the options of the socket are set.
        if "transaction_timeout" in query:
            self.terminate()
            await anyio.lowlevel.checkpoint()
        return status

    async def connect_once() -> None:
        # Over TCP: the sockets of the test server have no options to set.
        async with cutting(empty_database_url) as (_, engine):
            with pytest.raises(DBAPIError) as closed:
                await connect(engine)
        assert is_transient(closed.value)

    monkeypatch.setattr(asyncpg.Connection, "execute", execute_and_lose_the_connection)
    anyio.run(connect_once, backend_options={"use_uvloop": use_uvloop})


async def test_a_network_that_breaks_during_a_statement_is_an_error_like_any_other(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with autocommit(engine).connect() as connection:
        before = await pid(connection)

        def break_off(*_: object, **__: object) -> None:
            raise ConnectionResetError("Connection reset by peer")

        with monkeypatch.context() as patch:
            patch.setattr(asyncpg.Connection, "prepare", break_off)
            with pytest.raises(DBAPIError) as broken:
                await connection.execute(text("SELECT 'not prepared yet'"))
    assert is_transient(broken.value)
    async with autocommit(engine).connect() as connection:
        assert await pid(connection) != before


async def test_a_server_that_closes_every_connection_is_a_transient_error(engine: AsyncEngine) -> None:
    def cut(*_: object) -> None:
        raise DisconnectionError("the server has closed this connection")

    event.listen(engine.sync_engine, "checkout", cut)
    with pytest.raises(DBAPIError) as refused:
        await connect(engine)
    assert is_transient(refused.value)


async def test_the_pool_counts_its_connections_and_lets_others_wait(engine: AsyncEngine) -> None:
    for _ in range(3):
        async with engine.connect():
            assert pool_use(engine)[0] == 1
            async with autocommit(engine).connect():
                assert pool_use(engine) == (2, 0)
    assert pool_use(engine) == (0, 2)
    pids: list[int] = []

    async def third() -> None:
        async with engine.connect() as connection:
            pids.append(await pid(connection))

    async with anyio.create_task_group() as tasks, engine.connect(), engine.connect():
        tasks.start_soon(third)
        await anyio.wait_all_tasks_blocked()
        assert pids == []
    assert len(pids) == 1
