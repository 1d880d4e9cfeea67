import socket
import ssl
import sys
import traceback
from pathlib import Path

import anyio
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

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
from tarsy.db.retry import retrying


async def test_an_engine_uses_utc_names_itself_and_keeps_json_as_it_is(database_url: str) -> None:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        assert await connection.scalar(text("SHOW timezone")) == "UTC"
        assert await connection.scalar(text("SHOW application_name")) == "tarsy"
        assert await connection.scalar(text("""SELECT '{"ü": [1, 2.5, null]}'::jsonb""")) == {"ü": [1, 2.5, None]}
    await engine.dispose()


async def test_settings_of_the_server_in_a_url_hold_for_the_pool_and_for_raw_connections(database_url: str) -> None:
    url = f"{database_url}&options=-c%20work_mem%3D7MB&lock_timeout=9s"
    engine, asked = create_engine(url), "SELECT current_setting('work_mem') || ' ' || current_setting('lock_timeout')"
    async with engine.connect() as connection, listen_connection(url) as raw:
        assert [await connection.scalar(text(asked)), await raw.fetchval(asked)] == ["7MB 9s", "7MB 9s"]
    await engine.dispose()


async def test_a_pool_whose_connections_were_cut_goes_on_without_an_error(database_url: str) -> None:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        pooled = (await connection.get_raw_connection()).driver_connection
    async with listen_connection(database_url) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    assert pooled is not None
    with anyio.fail_after(60):
        while not pooled.is_closed():  # noqa: ASYNC110 - the driver notifies nobody of the end
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
        assert line is not None
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if sys.platform == "linux":
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENCE_SECONDS * 1000


async def test_a_raw_connection_receives_notifications(database_url: str) -> None:
    received = anyio.Event()

    def receive(*_: object) -> None:
        received.set()

    async with listen_connection(database_url) as listener, listen_connection(database_url) as speaker:
        await listener.add_listener("news", receive)
        await speaker.execute("NOTIFY news")
        with anyio.fail_after(60):
            await received.wait()


@pytest.mark.parametrize("spelling", ["postgresql://", "postgres://", "postgresql+asyncpg://"])
def test_every_usual_spelling_of_a_url_is_understood(spelling: str) -> None:
    url, _ = connect_arguments(f"{spelling}user:pw@db.example:6543/tarsy")
    assert url.render_as_string(hide_password=False) == "postgresql+asyncpg://user:pw@db.example:6543/tarsy"


def test_the_tls_mode_of_a_url_reaches_the_driver_and_leaves_the_url() -> None:
    url, arguments = connect_arguments("postgresql://user@db.example/tarsy?sslmode=require&channel_binding=require&connect_timeout=3")
    assert dict(url.query) == {}
    assert arguments["ssl"] == "require"


@pytest.mark.parametrize(
    "url", ["mysql://root@localhost/tarsy", "not a url", "postgresql://me@host:port/tarsy", "postgresql://me@host:99999/tarsy"]
)
def test_what_is_not_a_postgresql_url_is_refused_with_an_example_of_one(url: str) -> None:
    with pytest.raises(DatabaseUnavailableError, match=r"postgresql://user:password@host:5432/database"):
        connect_arguments(url)


def test_the_certificates_of_the_system_are_named_as_libpq_names_them() -> None:
    _, arguments = connect_arguments("postgresql://user@db.example/tarsy?sslmode=verify-full&sslrootcert=system")
    assert (arguments["ssl"].verify_mode, arguments["ssl"].check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize("file", ["sslrootcert=system", "sslcert=/etc/ssl/client.pem&sslkey=/etc/ssl/client.key"])
def test_a_connection_without_tls_ignores_the_certificates_that_its_url_names(file: str) -> None:
    _, arguments = connect_arguments(f"postgresql://user@db.example/tarsy?sslmode=disable&{file}")
    assert arguments["ssl"] == "disable"


def test_certificates_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for query in (f"sslrootcert={tmp_path}/none.pem", f"sslrootcert={tmp_path}/empty.pem", f"sslcert={tmp_path}/none.pem"):
        with pytest.raises(DatabaseUnavailableError, match="certificates that DATABASE_URL names cannot be used"):
            connect_arguments(f"postgresql://me@db.example/tarsy?{query}")


async def test_a_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    engine = create_engine(f"postgresql://user:top-secret@/tarsy?host={tmp_path}")
    with pytest.raises(DatabaseUnavailableError, match="does not answer") as caught:
        await ping(engine)
    assert "top-secret" not in str(caught.value)
    assert "DATABASE_URL" in caught.value.remedy
    await engine.dispose()


async def test_a_wrong_database_name_is_reported_in_the_servers_words(database_url: str) -> None:
    absent = make_url(database_url).set(database="absent").render_as_string(hide_password=False)
    with pytest.raises(DatabaseUnavailableError, match='database "absent" does not exist'):
        async with listen_connection(absent):
            pass


REFUSALS = {
    "a value of the wrong kind": ("SELECT CAST(:value AS text)::uuid", "the words of a secret"),
    "a row that is not wanted": ("INSERT INTO guarded (kept) VALUES (:value)", "the words of a secret"),
    "a row that is there already": ("INSERT INTO guarded (kept) VALUES (:value)", "the only words"),
    "a function that fails": ("SELECT failing(:value)", "the words of a secret"),
}


@pytest.mark.parametrize("refused", REFUSALS)
async def test_an_error_tells_neither_the_statement_nor_its_values(empty_database_url: str, refused: str) -> None:
    statement, value = REFUSALS[refused]
    engine = create_engine(empty_database_url)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE guarded (kept text UNIQUE CHECK (kept LIKE 'the only%'))"))
        await connection.execute(text("INSERT INTO guarded VALUES ('the only words')"))
        body = "BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100', DETAIL = told; END"
        await connection.execute(text(f"CREATE FUNCTION failing(told text) RETURNS void LANGUAGE plpgsql AS $${body}$$"))
    with pytest.raises(DBAPIError) as caught:
        async with engine.begin() as connection:
            await connection.execute(text(statement), {"value": value})
    await engine.dispose()
    reported = "".join(traceback.format_exception(caught.value)) + str(caught.value)
    for hidden in ("words", "INSERT", "SELECT CAST", "SELECT failing", ":value", "$1"):
        assert hidden not in reported


async def test_a_full_disk_is_waited_for(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    async with engine.begin() as connection:
        body = "BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END"
        await connection.execute(text("CREATE TABLE kept (words text)"))
        await connection.execute(text(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"))
        await connection.execute(text("CREATE TRIGGER full_disk BEFORE INSERT ON kept EXECUTE FUNCTION full_disk()"))

    async def store() -> None:
        async with engine.begin() as connection:
            await connection.execute(text("INSERT INTO kept VALUES ('words')"))

    with capture_logs() as logs, anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(retrying, store)
            while not logs:  # noqa: ASYNC110 - a line of the log is no event
                await anyio.sleep(0.01)
            async with engine.begin() as connection:
                await connection.execute(text("DROP TRIGGER full_disk ON kept"))
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM kept")) == 1
    await engine.dispose()
    assert [line["event"] for line in logs if line["event"].startswith("database.")] == ["database.full"]
    assert "could not extend file" in logs[0]["error"]


async def test_dates_are_written_as_iso_does_whatever_the_habit_of_the_database(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    async with engine.begin() as connection:
        name = (await connection.execute(text("SELECT current_database()"))).scalar_one()
        await connection.execute(text(f"ALTER DATABASE \"{name}\" SET datestyle = 'German, DMY'"))
    await engine.dispose()
    async with engine.connect() as connection:
        written = (await connection.execute(text("SELECT CAST(CAST('2026-03-01' AS date) AS text)"))).scalar_one()
    assert written == "2026-03-01"
    await engine.dispose()
