"""The schema's history: complete, safe to run from ten replicas at once, and fit for the oldest PostgreSQL."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import anyio
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from anyio.streams.text import TextReceiveStream
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db import migrate
from tarsy.db.connection import create_engine
from tarsy.db.embedded.programs import account_for, program
from tarsy.db.tables import metadata

UPGRADING_PROCESS = Path(__file__).with_name("upgrading_process.py")
# PostgreSQL 15 is the oldest we promise to run on; where it is not installed, the wheel's older server is the oldest at hand.
POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")
POSTGRES_16 = program("postgres").parents[2] / "pginstall" / "bin"


@contextlib.asynccontextmanager
async def engine_on(url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(url)
    try:
        yield engine
    finally:
        await engine.dispose()


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


async def test_an_empty_database_is_brought_to_the_newest_schema_and_then_left_alone(empty_database_url: str) -> None:
    async with engine_on(empty_database_url) as engine:
        assert await migrate.current(engine) is None
        assert await migrate.upgrade(engine) == migrate.head()
        assert await migrate.current(engine) == migrate.head()
        assert await migrate.upgrade(engine) == migrate.head()


# Foreign keys with no index that finds their rows: such as begins with the key, and has every row that names one.
KEYS_WITHOUT_INDEX = """
    SELECT c.conrelid::regclass || ' ' || c.conname FROM pg_constraint c
    WHERE c.contype = 'f' AND NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]
            AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(' || a.attname || ' IS NOT NULL)')
    )
    """


async def test_what_is_erased_finds_what_belongs_to_it_by_an_index(database_url: str) -> None:
    """Without, erasing one session of a million reads all the others."""
    async with engine_on(database_url) as engine, engine.connect() as connection:
        assert (await connection.execute(text(KEYS_WITHOUT_INDEX))).scalars().all() == []


async def test_the_migrations_make_exactly_the_tables_the_code_knows(empty_database_url: str) -> None:
    async with engine_on(empty_database_url) as engine:
        await migrate.upgrade(engine)
        async with engine.connect() as connection:
            assert await connection.run_sync(differences) == []


async def test_ten_replicas_that_start_together_on_an_empty_database_all_find_it_migrated(empty_database_url: str) -> None:
    started, done = 0, [""] * 10
    all_started = anyio.Event()

    async def replica(number: int) -> None:
        nonlocal started
        async with await anyio.open_process([sys.executable, UPGRADING_PROCESS, empty_database_url]) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            await process.stdout.receive()
            started += 1
            if started == len(done):
                all_started.set()
            await all_started.wait()
            await process.stdin.aclose()
            done[number] = "".join([said async for said in TextReceiveStream(process.stdout)])

    with anyio.fail_after(100):
        async with anyio.create_task_group() as replicas:
            for number in range(len(done)):
                replicas.start_soon(replica, number)
    assert [said.splitlines()[-1] for said in done] == [migrate.head()] * 10
    assert sum("database.migrated" in said for said in done) == 1


def test_the_head_read_from_file_names_is_the_one_alembic_finds() -> None:
    script = ScriptDirectory.from_config(migrate.alembic_config())
    assert script.get_heads() == [migrate.head()]


async def test_a_database_of_a_later_version_is_refused_and_not_touched(database_url: str) -> None:
    async with engine_on(database_url) as engine:
        async with engine.begin() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(migrate.SchemaTooNewError, match="9999"):
            await migrate.upgrade(engine)
        assert await migrate.current(engine) == "9999"


@pytest.fixture
def oldest_postgres() -> Iterator[str]:
    """The URL of a server that knows nothing newer than the oldest PostgreSQL at hand."""
    programs = POSTGRES_15 if POSTGRES_15.exists() else POSTGRES_16
    directory = Path(tempfile.mkdtemp(prefix="tarsy-oldest-"))
    account = account_for(directory)
    account.own(directory)

    def run(name: str, *arguments: str) -> None:
        command = [programs / name, "-D", directory / "data", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, **account.process)

    run("initdb", "-U", "tarsy", "--auth=trust", "--no-sync")
    run("pg_ctl", "-w", "-l", str(directory / "log"), "-o", f"-F -c listen_addresses= -k {directory}", "start")
    yield f"postgresql://tarsy@/postgres?host={directory}"
    run("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(directory)


async def test_the_migrations_run_on_the_oldest_postgresql_without_any_extension(oldest_postgres: str) -> None:
    async with engine_on(oldest_postgres) as engine:
        await migrate.upgrade(engine)
        async with engine.connect() as connection:
            assert str(await connection.scalar(text("SHOW server_version"))).startswith(("15.", "16."))
            assert await connection.run_sync(differences) == []
            assert (await connection.scalars(text("SELECT extname FROM pg_extension"))).all() == ["plpgsql"]
