"""The embedded server under the treatment it gets in real life: shared, killed, left behind."""

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import anyio
import asyncpg
import psutil
import pytest

from support.embedded_user import use_server
from support.replica import CONTEXT, start_process
from tarsy.db.embedded import server as embedded
from tarsy.db.embedded.programs import EmbeddedPostgresError, error_line, remedy_for, running_postmaster
from tarsy.db.embedded.server import DATABASE, EmbeddedServer, FileLock, embedded_postgres

# With the tests of chaos, which fork processes from one that has imported the program, too.
pytestmark = pytest.mark.xdist_group("chaos")

GIVE_UP_SECONDS = 60


@pytest.fixture
def empty_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("embedded")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def stopped_server_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory as a server leaves it, to copy: that takes a tenth of the time of making one."""
    directory = tmp_path_factory.mktemp("embedded")
    server = EmbeddedServer(directory)
    server.open()
    server.close()
    yield directory / "postgres"
    shutil.rmtree(directory)


@pytest.fixture
def data_dir(empty_dir: Path, stopped_server_data: Path) -> Path:
    # Not shutil: the owner, which is not us if we are root, is part of the data.
    subprocess.run(["cp", "-a", stopped_server_data, empty_dir], check=True)
    return empty_dir


@dataclass(frozen=True, slots=True)
class User:
    """Another process that uses the server, and the URL it was given."""

    process: ForkServerProcess
    connection: "Connection[None, str]"
    url: str

    async def leave(self) -> None:
        self.connection.close()
        await anyio.to_thread.run_sync(self.process.join, GIVE_UP_SECONDS)
        assert self.process.exitcode == 0

    async def kill(self) -> None:
        self.process.kill()
        await anyio.to_thread.run_sync(self.process.join, GIVE_UP_SECONDS)


@asynccontextmanager
async def user(data_dir: Path) -> AsyncGenerator[User]:
    ours, theirs = CONTEXT.Pipe()
    process = start_process(use_server, data_dir, theirs)
    theirs.close()
    with ours:
        assert await anyio.to_thread.run_sync(ours.poll, GIVE_UP_SECONDS)
        try:
            yield User(process, ours, ours.recv())
        finally:
            process.kill()


async def query(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        await anyio.sleep(0.02)
    pytest.fail("it did not happen within 20 seconds")


def server_runs(data_dir: Path) -> bool:
    return running_postmaster(data_dir / "postgres") is not None


def guards(data_dir: Path) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline"]):
        words: list[str] = process.info["cmdline"] or []
        if str(data_dir / "postgres") in words and any(word.endswith("guard.py") for word in words):
            found.append(process)
    return found


async def test_a_server_is_made_on_first_use_and_no_process_is_left_when_its_last_user_leaves(empty_dir: Path) -> None:
    async with embedded_postgres(empty_dir) as url:
        assert await query(url, "SELECT current_database()") == DATABASE
        assert await query(url, "SHOW fsync") == "on"
        assert await query(url, "SHOW listen_addresses") == ""
        assert server_runs(empty_dir)
        assert len(guards(empty_dir)) == 1
    assert not server_runs(empty_dir)
    await eventually(lambda: not guards(empty_dir))


@pytest.mark.parametrize(("beside", "mode"), [((), 0o700), (("notes.txt",), 0o755)])
def test_a_data_directory_is_closed_to_other_users_unless_it_is_not_ours_alone(data_dir: Path, beside: tuple[str, ...], mode: int) -> None:
    data_dir.chmod(0o755)
    for name in beside:
        (data_dir / name).touch()
    server = EmbeddedServer(data_dir)
    server.open()
    try:
        assert stat.S_IMODE(data_dir.stat().st_mode) == mode
    finally:
        server.close()


async def test_what_was_written_is_there_after_a_restart(data_dir: Path) -> None:
    async with embedded_postgres(data_dir) as url:
        await query(url, "CREATE TABLE kept AS SELECT 42 AS answer")
    async with embedded_postgres(data_dir) as url:
        assert await query(url, "SELECT answer FROM kept") == 42


async def test_users_that_start_together_on_an_empty_directory_end_up_with_one_server(empty_dir: Path) -> None:
    servers = [EmbeddedServer(empty_dir) for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(anyio.to_thread.run_sync, server.open)
    assert len({server.url for server in servers}) == 1
    assert len(guards(empty_dir)) == 1
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(anyio.to_thread.run_sync, server.close)
    await eventually(lambda: not server_runs(empty_dir) and not guards(empty_dir))


async def test_after_its_only_user_was_killed_the_server_stops_and_keeps_its_data(data_dir: Path) -> None:
    async with user(data_dir) as other:
        await query(other.url, "CREATE TABLE kept AS SELECT 42 AS answer")
        await other.kill()
    await eventually(lambda: not server_runs(data_dir) and not guards(data_dir))
    async with embedded_postgres(data_dir) as url:
        assert await query(url, "SELECT answer FROM kept") == 42


async def test_a_killed_user_does_not_take_the_server_from_the_others(data_dir: Path) -> None:
    """Nor does the first one, when it leaves."""
    async with user(data_dir) as first, user(data_dir) as killed, user(data_dir) as other:
        assert first.url == other.url
        await first.leave()
        assert await query(other.url, "SELECT 1") == 1
        await killed.kill()
        assert await query(other.url, "SELECT 1") == 1
        await other.leave()
    assert not server_runs(data_dir)


async def test_a_guard_that_is_killed_is_replaced_by_one_that_stops_the_server_when_its_user_is_killed_too(data_dir: Path) -> None:
    async with user(data_dir) as other:
        [killed] = guards(data_dir)
        killed.kill()
        await eventually(lambda: bool(guards(data_dir)) and killed not in guards(data_dir))
        await other.kill()
    await eventually(lambda: not server_runs(data_dir) and not guards(data_dir))


async def test_a_server_whose_user_and_guard_were_killed_is_adopted_and_stopped_by_the_next_user(data_dir: Path) -> None:
    async with user(data_dir) as other:
        # It would start another guard.
        os.kill(other.process.pid or 0, signal.SIGSTOP)
        for guard in guards(data_dir):
            guard.kill()
        # A killed process keeps its locks until the kernel gets to end it, and the next user would take it for a living guard.
        guard_lock = FileLock(data_dir / "postgres.guard")
        assert await anyio.to_thread.run_sync(guard_lock.exclusive_within, GIVE_UP_SECONDS)
        guard_lock.close()
        await other.kill()
    left_behind = running_postmaster(data_dir / "postgres")
    async with embedded_postgres(data_dir) as adopted_url:
        assert adopted_url == other.url
        assert running_postmaster(data_dir / "postgres") == left_behind
        await eventually(lambda: len(guards(data_dir)) == 1)
    assert not server_runs(data_dir)


async def test_a_server_that_was_killed_too_is_started_again_with_its_data(data_dir: Path) -> None:
    async with user(data_dir) as other:
        await query(other.url, "CREATE TABLE kept AS SELECT 42 AS answer")
        postmaster = running_postmaster(data_dir / "postgres")
        assert postmaster is not None
        os.kill(postmaster.pid, signal.SIGKILL)
        await other.kill()
    await eventually(lambda: not server_runs(data_dir))
    async with embedded_postgres(data_dir) as url:
        assert await query(url, "SELECT answer FROM kept") == 42


async def test_a_server_that_dies_under_its_users_is_restarted_once_and_each_of_them_notices(data_dir: Path) -> None:
    restarts: list[datetime] = []
    async with user(data_dir), embedded_postgres(data_dir, on_restart=restarts.append) as url:
        await query(url, "CREATE TABLE kept (n) AS SELECT 7")
        died = running_postmaster(data_dir / "postgres")
        assert died is not None
        os.kill(died.pid, signal.SIGKILL)
        await eventually(lambda: bool(restarts))
        assert await query(url, "SELECT n FROM kept") == 7
    assert len(restarts) == 1
    # The guard stops it for the other user, which was killed.
    await eventually(lambda: running_postmaster(data_dir / "postgres") is None)


async def test_a_stale_pid_file_that_names_a_living_stranger_is_no_obstacle(data_dir: Path) -> None:
    async with embedded_postgres(data_dir):
        content = (data_dir / "postgres" / "postmaster.pid").read_text().splitlines()
    stale = "\n".join([str(os.getpid()), *content[1:]])
    (data_dir / "postgres" / "postmaster.pid").write_text(stale)
    async with embedded_postgres(data_dir) as url:
        assert await query(url, "SELECT 1") == 1


async def test_a_path_too_long_for_a_socket_is_served_through_a_shorter_one(data_dir: Path) -> None:
    deep = data_dir / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    (data_dir / "postgres").rename(deep / "postgres")
    async with embedded_postgres(deep) as url:
        assert await query(url, "SELECT 1") == 1


async def test_a_directory_half_made_by_a_killed_process_is_made_anew_also_in_a_path_with_spaces_and_percent_signs(empty_dir: Path) -> None:
    home = empty_dir / "on call's 100% data"
    (home / "postgres.new").mkdir(parents=True)
    (home / "postgres.new" / "PG_VERSION").write_text("18\n")
    async with embedded_postgres(home) as url:
        assert await query(url, "SELECT 1") == 1


async def test_another_user_whose_server_is_out_of_sight_is_reported_instead_of_started_over(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As seen by a second container on the same volume: the locks are held, the process is not there."""
    # Before the user misses its server, too, and tries for a quarter of a minute to start another.
    monkeypatch.setattr(embedded, "GUARD_SECONDS", 0.1)
    async with user(data_dir) as other:
        pid_file = data_dir / "postgres" / "postmaster.pid"
        kept = pid_file.read_text()
        pid_file.write_text("\n".join(["999999999", *kept.splitlines()[1:]]))
        with pytest.raises(EmbeddedPostgresError, match="Another TARSy uses") as caught:
            EmbeddedServer(data_dir).open()
        assert "DATABASE_URL" in caught.value.remedy
        pid_file.write_text(kept)
        await other.leave()


def test_data_of_another_postgresql_version_is_left_alone_with_a_clear_message(data_dir: Path) -> None:
    (data_dir / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 17; this TARSy includes PostgreSQL 18"):
        EmbeddedServer(data_dir).open()


def test_a_broken_configuration_is_reported_in_postgresqls_words(data_dir: Path) -> None:
    with (data_dir / "postgres" / "postgresql.conf").open("a") as configuration:
        configuration.write("\nshared_bufers = 1GB\n")
    with pytest.raises(EmbeddedPostgresError, match="contains errors"):
        EmbeddedServer(data_dir).open()


def test_a_place_that_cannot_be_a_directory_is_an_operators_error_not_a_traceback(empty_dir: Path) -> None:
    (empty_dir / "taken").write_text("a file")
    with pytest.raises(EmbeddedPostgresError, match="taken") as caught:
        EmbeddedServer(empty_dir / "taken").open()
    assert "TARSY_DATA_DIR" in caught.value.remedy


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ('FATAL:  could not write lock file "postmaster.pid": No space left on device', "Free some disk space"),
        ("initdb: error: could not create directory: Permission denied", "write access"),
        ("initdb: error: could not create directory: Read-only file system", "write access"),
        ("something else", "DATABASE_URL"),
    ],
)
def test_the_cure_fits_what_postgresql_complains_about(output: str, advice: str) -> None:
    assert advice in remedy_for(output)


def test_the_cause_is_picked_from_all_that_postgresql_says_when_the_disk_is_full() -> None:
    output = "running bootstrap script ...\nFATAL:  could not write to file: No space left on device\nPANIC:  cannot abort transaction 1\nchild process was terminated"
    assert error_line(output) == "FATAL:  could not write to file: No space left on device"
