"""The schema's history: complete, safe to run from ten replicas at once, and fit for the oldest PostgreSQL."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from support.audited import entries_about
from tarsy.db import migrate
from tarsy.db.audit import AuditLog
from tarsy.db.connection import open_engine
from tarsy.db.embedded.programs import account_for, allow_traversal, program
from tarsy.db.outbox import Publisher
from tarsy.db.session.followups import ChatRepository
from tarsy.db.session.repository import SessionRepository
from tarsy.db.tables import metadata
from tarsy.domain.status import SessionStatus

UPGRADING_PROCESSES = Path(__file__).with_name("upgrading_processes.py")
# PostgreSQL 15 is the oldest we promise to run on; where it is not installed, the wheel's older server is the oldest at hand.
POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")
POSTGRES_16 = program("postgres").parents[2] / "pginstall" / "bin"


def differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


async def test_an_empty_database_gets_exactly_the_tables_the_code_knows_and_is_then_left_alone(empty_database_url: str) -> None:
    async with open_engine(empty_database_url) as engine:
        assert await migrate.current(engine) is None
        assert await migrate.upgrade(engine) == migrate.head()
        assert await migrate.current(engine) == migrate.head()
        assert await migrate.upgrade(engine) == migrate.head()
        async with engine.connect() as connection:
            assert await connection.run_sync(differences) == []


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
    async with open_engine(database_url) as engine, engine.connect() as connection:
        assert (await connection.execute(text(KEYS_WITHOUT_INDEX))).scalars().all() == []


def test_ten_replicas_that_start_together_on_an_empty_database_all_find_it_migrated(empty_database_url: str, tmp_path: Path) -> None:
    command = [sys.executable, UPGRADING_PROCESSES, empty_database_url, tmp_path, "10"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as processes:
        assert processes.stdout is not None
        assert processes.stdout.readline() == b"ready\n"
        # Closes what all of them wait for.
        processes.communicate(timeout=100)
    done = [file.read_text() for file in tmp_path.iterdir()]
    assert [output.splitlines()[-1] for output in done] == [migrate.head()] * 10
    assert sum("database.migrated" in output for output in done) == 1


def test_the_head_read_from_file_names_is_the_one_alembic_finds() -> None:
    script = ScriptDirectory.from_config(migrate.alembic_config())
    assert script.get_heads() == [migrate.head()]


# The schema that the 22 migrations of commit 3909e02 make step by step: `pg_dump -s --no-owner --no-privileges` without comments, settings and
# empty lines, which differ between versions of PostgreSQL.
STEP_BY_STEP = Path(__file__).with_name("schema_0022.sql")


def upgrade_to_first(connection: Connection) -> None:
    config = migrate.alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, migrate.FIRST_REVISION)


async def test_the_first_migration_makes_the_schema_that_older_databases_were_migrated_to(empty_database_url: str) -> None:
    async with open_engine(empty_database_url) as engine, engine.begin() as connection:
        await connection.run_sync(upgrade_to_first)
    dump = await anyio.run_process([program("pg_dump"), "--schema-only", "--no-owner", "--no-privileges", empty_database_url])
    lines = [line.rstrip() for line in dump.stdout.decode().splitlines()]
    schema = [line for line in lines if line and not line.startswith(("--", "SET ", "SELECT pg_catalog", "\\"))]
    assert schema == STEP_BY_STEP.read_text().splitlines()


# A session that has ended, with a question that was answered, as the version of commit 3909e02 stores them.
STORED_ROWS = (
    (
        "INSERT INTO alert_sessions (id, alert_data, alert_type, chain_id, chain_snapshot, author, nonce, status, final_analysis, created_at, "
        "started_at, completed_at) VALUES (:session, 'disk full', 'DiskFull', 'disk', '{\"chat\": {}}', 'ann', 'n', 'completed', 'Delete the logs.', "
        "now(), now(), now())"
    ),
    "INSERT INTO chats (id, session_id, created_by, created_at, questions) VALUES (:chat, :session, 'ann', now(), 1)",
    (
        "INSERT INTO chat_user_messages (id, chat_id, session_id, content, author, status, created_at, completed_at) "
        "VALUES (:question, :chat, :session, 'Which logs?', 'ann', 'completed', now(), now())"
    ),
    "INSERT INTO audit_log (actor, action, session_id) VALUES ('ann', 'chat.asked', :session)",
    "INSERT INTO alembic_version VALUES ('0022')",
)


async def test_a_database_that_was_migrated_step_by_step_is_migrated_further_and_keeps_its_rows(empty_database_url: str) -> None:
    session, chat, question = (str(uuid4()) for _ in range(3))
    async with open_engine(empty_database_url) as engine:
        async with engine.begin() as connection:
            for statement in filter(str.strip, STEP_BY_STEP.read_text().split(";\n")):
                await connection.exec_driver_sql(statement)
            for statement in STORED_ROWS:
                await connection.execute(text(statement), {"session": session, "chat": chat, "question": question})
        assert await migrate.upgrade(engine) == migrate.head()
        async with engine.connect() as connection:
            assert await connection.run_sync(differences) == []
        stored = await SessionRepository(Publisher(engine)).get(session)
        assert (stored.alert_data, stored.status, stored.final_analysis) == ("disk full", SessionStatus.COMPLETED, "Delete the logs.")
        chats = ChatRepository(Publisher(engine))
        asked = await chats.ask(session, "All of them?", author="bob")
        assert [(one.id, one.chat_id, one.content) for one in await chats.list(session)] == [
            (question, chat, "Which logs?"),
            (asked.id, chat, "All of them?"),
        ]
        assert [entry.actor for entry in await entries_about(AuditLog(engine), session)] == ["ann", "bob"]


async def test_a_database_older_than_the_first_migration_is_refused_with_the_commit_that_upgrades_it(database_url: str) -> None:
    async with open_engine(database_url) as engine:
        async with engine.begin() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '0021'"))
        with pytest.raises(migrate.SchemaTooOldError, match="0021") as refused:
            await migrate.upgrade(engine)
        assert "3909e02" in refused.value.remedy
        assert await migrate.current(engine) == "0021"


async def test_a_database_of_a_later_version_is_refused_and_not_touched(database_url: str) -> None:
    async with open_engine(database_url) as engine:
        async with engine.begin() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(migrate.SchemaTooNewError, match="9999"):
            await migrate.upgrade(engine)
        assert await migrate.current(engine) == "9999"


@pytest.fixture
def oldest_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that knows nothing newer than the oldest PostgreSQL at hand."""
    programs = POSTGRES_15 if POSTGRES_15.exists() else POSTGRES_16
    directory = tmp_path_factory.mktemp("oldest")
    account = account_for(directory)
    account.own(directory)
    allow_traversal(account, directory)

    def run(name: str, *arguments: str) -> None:
        command = [programs / name, "-D", directory / "data", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, **account.process)

    run("initdb", "-U", "tarsy", "--auth=trust", "--no-sync")
    run("pg_ctl", "-w", "-l", str(directory / "log"), "-o", f"-F -c listen_addresses= -k {directory}", "start")
    yield f"postgresql://tarsy@/postgres?host={directory}"
    run("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(directory)


async def test_the_migrations_run_on_the_oldest_postgresql_without_any_extension(oldest_postgres: str) -> None:
    async with open_engine(oldest_postgres) as engine:
        await migrate.upgrade(engine)
        async with engine.connect() as connection:
            assert str(await connection.scalar(text("SHOW server_version"))).startswith(("15.", "16."))
            assert await connection.run_sync(differences) == []
            assert (await connection.scalars(text("SELECT extname FROM pg_extension"))).all() == ["plpgsql"]
