import socket
import sys
from pathlib import Path

import anyio
import pytest
from sqlalchemy import make_url, text

from support.connection_cutter import cutting
from tarsy.db.connection import (
    SILENCE_SECONDS,
    DatabaseUnavailableError,
    connect_arguments,
    create_engine,
    listen_connection,
    ping,
    socket_of,
)


async def test_an_engine_speaks_utc_names_itself_and_keeps_json_as_it_is(database_url: str) -> None:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        assert await connection.scalar(text("SHOW timezone")) == "UTC"
        assert await connection.scalar(text("SHOW application_name")) == "tarsy"
        assert await connection.scalar(text("""SELECT '{"ü": [1, 2.5, null]}'::jsonb""")) == {"ü": [1, 2.5, None]}
    await engine.dispose()


async def test_a_pool_whose_connections_were_cut_goes_on_without_an_error(database_url: str) -> None:
    engine = create_engine(database_url)
    await ping(engine)
    async with listen_connection(database_url) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        others = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        with anyio.fail_after(10):
            while await connection.fetchval(others):  # noqa: ASYNC110 - the server tells nobody when a backend has gone
                await anyio.sleep(0.02)
        await ping(engine)
    await engine.dispose()


async def test_who_is_cancelled_in_the_middle_of_a_query_leaves_no_traceback(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    engine = create_engine(database_url)
    with anyio.move_on_after(0.3) as scope:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT pg_sleep(60)"))
    assert scope.cancelled_caught
    await ping(engine)
    await engine.dispose()
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_a_connection_whose_other_end_vanishes_is_given_up_by_the_system(database_url: str) -> None:
    async with cutting(database_url) as (_, engine), engine.connect() as connection:
        line = socket_of(await connection.get_raw_connection())
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if sys.platform == "linux":
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENCE_SECONDS * 1000


async def test_a_raw_connection_hears_notifications(database_url: str) -> None:
    heard = anyio.Event()

    def hear(*_: object) -> None:
        heard.set()

    async with listen_connection(database_url) as listener, listen_connection(database_url) as speaker:
        await listener.add_listener("news", hear)
        await speaker.execute("NOTIFY news")
        with anyio.fail_after(5):
            await heard.wait()


@pytest.mark.parametrize("spelling", ["postgresql://", "postgres://", "postgresql+asyncpg://"])
def test_every_usual_spelling_of_a_url_is_understood(spelling: str) -> None:
    url, _ = connect_arguments(f"{spelling}user:pw@db.example:6543/tarsy")
    assert url.render_as_string(hide_password=False) == "postgresql+asyncpg://user:pw@db.example:6543/tarsy"


def test_the_tls_mode_of_a_url_reaches_the_driver_and_leaves_the_url() -> None:
    url, arguments = connect_arguments("postgresql://user@db.example/tarsy?sslmode=require&channel_binding=require&connect_timeout=3")
    assert dict(url.query) == {}
    assert arguments["ssl"] == "require"


@pytest.mark.parametrize("url", ["mysql://root@localhost/tarsy", "not a url"])
def test_what_is_not_a_postgresql_url_is_refused_with_an_example_of_one(url: str) -> None:
    with pytest.raises(DatabaseUnavailableError, match=r"postgresql://user:password@host:5432/database"):
        connect_arguments(url)


async def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    engine = create_engine(f"postgresql://user:top-secret@/tarsy?host={tmp_path}")
    with pytest.raises(DatabaseUnavailableError, match="does not answer") as caught:
        await ping(engine)
    assert "top-secret" not in str(caught.value)
    assert "DATABASE_URL" in caught.value.cure
    await engine.dispose()


async def test_a_wrong_database_name_is_reported_in_the_servers_words(database_url: str) -> None:
    absent = make_url(database_url).set(database="absent").render_as_string(hide_password=False)
    with pytest.raises(DatabaseUnavailableError, match='database "absent" does not exist'):
        async with listen_connection(absent):
            pass
