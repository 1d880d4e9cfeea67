"""The embedded server: started by the first process that uses it, shared by all, restarted when it dies, stopped by the last.

File locks, which the kernel releases when a process dies, count the processes that use it.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shlex import quote
from urllib.parse import urlencode

import anyio
import structlog
from anyio.to_thread import run_sync

from tarsy.db.connection import check_sessions
from tarsy.db.embedded import guard
from tarsy.db.embedded.programs import (
    VERSION,
    EmbeddedPostgresError,
    NoServerAccountError,
    Postmaster,
    ServerAccount,
    account_for,
    allow_traversal,
    clear_stale_pid,
    program,
    program_environment,
    remedy_for,
    run,
    running_postmaster,
)
from tarsy.kit.data_directory import SERVER_FILE, default_data_dir
from tarsy.kit.groups import single_errors

# Short enough not to be noticed at a start, long enough not to be felt by the processor.
POLL_SECONDS = 0.02


class FileLock:
    """A handle on a lock file; two handles in one process compete like two processes."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_exclusive(self) -> bool:
        """Take the lock exclusively, releasing a shared hold if necessary; return False if another handle holds it."""
        return self._try(fcntl.LOCK_EX)

    def exclusive_within(self, seconds: float) -> bool:
        return self._within(fcntl.LOCK_EX, seconds)

    def shared_within(self, seconds: float) -> bool:
        return self._within(fcntl.LOCK_SH, seconds)

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _within(self, kind: int, seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while not self._try(kind):
            if time.monotonic() > give_up:
                return False
            time.sleep(POLL_SECONDS)
        return True


log = structlog.get_logger(__name__)

ROLE = DATABASE = "tarsy"
PORT = 5432
# A server that was killed replays its log first; a minute of it is far more than our checkpoints leave behind.
START_SECONDS = 60
# How long the last user waits for the server to end. The guard waits for one that needs longer.
STOP_SECONDS = 15
# The longest time another process may take to start or stop the server (the guard takes up to a minute), with a little to spare.
MUTEX_SECONDS = START_SECONDS + 60 + 10
# How long the children of a killed server may take to notice that it is gone; PostgreSQL checks this every few seconds.
ORPHANED_CHILDREN_SECONDS = 15
# A server that died is noticed within this time. One that dies again and again is left alone for longer.
CHECK_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# How long a restart may keep this process from ending. A server that needs longer goes on starting by itself.
RESTART_SECONDS = 10
# How long the guard may take to notice something; it does nothing but wait, so this is generous.
GUARD_SECONDS = 5
# The room for a socket's address in the kernel (Linux 108, macOS 104) without its final zero.
SOCKET_PATH_BYTES = 103
# Called with the time of each restart.
OnRestart = Callable[[datetime], None]
SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # Neither statements nor the rows that they could not store: those hold what people sent.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    # The queries are small: workers and just-in-time compilation cost them more than they save.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "io_method": "sync",
    "unix_socket_permissions": "0700",
}
# For data that will not be missed: waiting for the disk would only cost time.
THROWAWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@asynccontextmanager
async def embedded_postgres(data_dir: Path, *, throwaway: bool = False, on_restart: OnRestart | None = None) -> AsyncGenerator[str]:
    """Run (or share) the server under `data_dir` and yield the URL of its database; restart it whenever it dies.

    `throwaway` data need not survive the machine.

    Raises:
        EmbeddedPostgresError: the server cannot be started; the text names the cause and a remedy.
    """
    server = EmbeddedServer(data_dir, throwaway=throwaway)
    await run_sync(server.open)
    try:
        with single_errors():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_supervise, server, on_restart, name="embedded database")
                yield server.url
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(server.close)


async def _supervise(server: "EmbeddedServer", on_restart: OnRestart | None) -> None:
    pause = CHECK_SECONDS
    while True:
        await anyio.sleep(pause)
        try:
            restarted = await run_sync(server.restart_if_ended)
        except (EmbeddedPostgresError, OSError) as error:
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            log.error("database.not_restarted", error=str(error), again_in_seconds=pause)  # noqa: TRY400 - the operator needs no traceback
            continue
        # After a restart the next check waits longer, and the pauses shrink again while the server lives.
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS) if restarted else max(pause / 2, CHECK_SECONDS)
        if restarted and on_restart:
            on_restart(datetime.now(UTC))


@asynccontextmanager
async def temporary_postgres() -> AsyncGenerator[tuple[Path, str]]:
    """Run a server in a temporary directory; yield the directory and the URL of the database."""
    with tempfile.TemporaryDirectory(prefix="tarsy-") as name:
        directory = Path(name)
        # The account of the database must be able to enter its own directory below, which is closed to all other accounts.
        await run_sync(directory.chmod, 0o711)
        async with embedded_postgres(directory, throwaway=True) as url:
            yield directory, url


@asynccontextmanager
async def open_database(url: str | None, data_dir: Path | None, *, on_restart: OnRestart | None = None) -> AsyncGenerator[str]:
    """Yield the URL of the configured database, or of the embedded one if `url` is None.

    Raises:
        DatabaseUnavailableError: it cannot be used; the error says why and what to do.
    """
    if url:
        await check_sessions(url)
        yield url
        return
    async with embedded_postgres(data_dir or default_data_dir(), on_restart=on_restart) as embedded_url:
        yield embedded_url


class EmbeddedServer:
    """One process's share of the server of a data directory. Its methods block."""

    def __init__(self, data_dir: Path, *, throwaway: bool = False) -> None:
        self._home = data_dir.expanduser().resolve()
        self._pgdata = self._home / "postgres"
        self._throwaway = throwaway
        self._pid = 0
        self.url = ""

    def open(self) -> None:
        started = time.monotonic()
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._restrict_permissions()
            self._mutex, self._users, self._guard = (FileLock(self._lock_path(name)) for name in ("mutex", "users", "guard"))
            self._enter()
        except OSError as error:
            raise EmbeddedPostgresError(f"{self._pgdata} cannot be used: {error}", remedy_for(str(error))) from error
        log.info("database.ready", data_dir=str(self._home), seconds=round(time.monotonic() - started, 2))

    def _restrict_permissions(self) -> None:
        """Close the data directory to other accounts, unless it contains files that are not ours."""
        if any(not entry.name.startswith((self._pgdata.name, SERVER_FILE)) for entry in self._home.iterdir()):
            return
        # On a volume that another user owns, the server's own directory inside is closed all the same.
        with suppress(PermissionError, NoServerAccountError):
            account_for(self._pgdata).own(self._home)

    def close(self) -> None:
        """Release the share; the last process stops the server."""
        self._take_mutex()
        try:
            if self._is_last_user():
                self._stop()
        finally:
            self._close_locks()

    def restart_if_ended(self) -> bool:
        """Start the server, or its guard, again if it has died, unless another user does; return whether it is not the same server as before.

        Raises:
            EmbeddedPostgresError: it cannot be started.
        """
        postmaster = running_postmaster(self._pgdata)
        if postmaster is None:
            log.warning("database.died", data_dir=str(self._home), log=str(self._pgdata / "server.log.old"))
        if postmaster is None or not self._has_guard():
            if not self._mutex.exclusive_within(RESTART_SECONDS):
                return False
            try:
                # Our share keeps users out that cannot see this server, so it is enough to look again.
                postmaster = running_postmaster(self._pgdata) or self._start(RESTART_SECONDS)
                self._start_guard()
            finally:
                self._mutex.release()
        if postmaster.pid == self._pid:
            return False
        self._pid = postmaster.pid
        log.warning("database.restarted", data_dir=str(self._home))
        return True

    def _enter(self) -> None:
        try:
            postmaster = self._find_server() or self._start(START_SECONDS)
            self._start_guard()
        except BaseException:
            self._close_locks()
            raise
        self._mutex.release()
        self._pid = postmaster.pid
        query = urlencode({"host": postmaster.socket_directory, "port": PORT})
        self.url = f"postgresql://{ROLE}@/{DATABASE}?{query}"

    def _find_server(self) -> Postmaster | None:
        """Take the mutex and a share of the server; None if there is no server and no other user."""
        give_up = time.monotonic() + GUARD_SECONDS
        while True:
            self._take_mutex()
            # The guard holds it alone for an instant at most, and never while it waits for the mutex.
            self._users.shared_within(GUARD_SECONDS)
            postmaster = self._running()
            if postmaster is not None or self._is_alone():
                return postmaster
            if time.monotonic() > give_up:
                raise EmbeddedPostgresError(
                    f"Another TARSy uses {self._home}, but its PostgreSQL server does not run on this machine or in this container.",
                    "Stop the other one first, or choose another TARSY_DATA_DIR, or set DATABASE_URL to a PostgreSQL both can reach.",
                )
            # The guard of a server that has just died needs the mutex to notice and go.
            self._users.release()
            self._mutex.release()
            time.sleep(POLL_SECONDS)

    def _is_alone(self) -> bool:
        """Return whether there is neither another user nor a guard. Two servers on the same data would destroy it, so both are checked."""
        alone = self._is_last_user() and not self._has_guard()
        self._users.shared_within(GUARD_SECONDS)
        return alone

    def _is_last_user(self) -> bool:
        """Make our share exclusive, if no other process has one.

        At this moment the guard wakes up, holds the lock for an instant and then queues for the mutex, which is ours: it
        can be in the way once, so the second answer counts.
        """
        if self._users.try_exclusive():
            return True
        self._users.shared_within(GUARD_SECONDS)
        return self._users.try_exclusive()

    def _running(self) -> Postmaster | None:
        """Return the server that is already running, possibly left by a killed process, once it is ready."""
        give_up = time.monotonic() + START_SECONDS
        while (postmaster := running_postmaster(self._pgdata)) is not None and not postmaster.ready:
            if time.monotonic() > give_up:
                raise EmbeddedPostgresError(f"The PostgreSQL server in {self._pgdata} does not become ready.", self._log_hint())
            time.sleep(POLL_SECONDS)
        return postmaster

    def _start(self, seconds: int) -> Postmaster:
        account = self._account()
        self._check_version()
        if not self._pgdata.exists():
            self._create(account)
        clear_stale_pid(self._pgdata, self._socket_directory(account) / f".s.PGSQL.{PORT}.lock")
        give_up = time.monotonic() + ORPHANED_CHILDREN_SECONDS
        while (postmaster := self._launch(account, seconds, last_try=time.monotonic() > give_up)) is None:
            time.sleep(POLL_SECONDS)
        return postmaster

    def _launch(self, account: ServerAccount, seconds: int, *, last_try: bool) -> Postmaster | None:
        """Start the server; None while children of a killed one are still exiting."""
        server_log = self._pgdata / "server.log"
        with suppress(FileNotFoundError):
            server_log.replace(self._pgdata / "server.log.old")
        # PostgreSQL's own settings stay in postgresql.conf, for the operator to change; only the way in is ours.
        options = f"-c listen_addresses= -c port={PORT} -c unix_socket_directories={quote(_list_element(self._socket_directory(account)))}"
        command = ["-D", str(self._pgdata), "-l", str(server_log), "-o", options, "-w", "-t", str(seconds), "start"]
        try:
            run("pg_ctl", command, account, log=server_log)
        except EmbeddedPostgresError as error:
            if last_try or "shared memory block" not in error.problem:
                raise
            return None
        postmaster = running_postmaster(self._pgdata)
        if postmaster is None:
            raise EmbeddedPostgresError("The PostgreSQL server stopped right after its start.", self._log_hint())
        return postmaster

    def _account(self) -> ServerAccount:
        try:
            account = account_for(self._pgdata)
        except NoServerAccountError as error:
            raise EmbeddedPostgresError(
                "PostgreSQL does not run as root, and there is no other account to run it under.",
                "Run TARSy as an ordinary user, or create an account named postgres, or set DATABASE_URL.",
            ) from error
        allow_traversal(account, self._pgdata, program("postgres"))
        return account

    def _check_version(self) -> None:
        try:
            version = (self._pgdata / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return
        if version != VERSION:
            raise EmbeddedPostgresError(
                f"{self._pgdata} was made by PostgreSQL {version}; this TARSy includes PostgreSQL {VERSION}.",
                "Start the TARSy version that made it, or move the directory away, or set DATABASE_URL to a PostgreSQL "
                f"{version} server that serves it.",
            )

    def _create(self, account: ServerAccount) -> None:
        """Create the data directory under another name first, so that an incomplete one is never used."""
        log.info("database.creating", directory=str(self._pgdata))
        fresh = self._home / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        account.own(fresh)
        chosen = SETTINGS | THROWAWAY_SETTINGS if self._throwaway else SETTINGS
        settings = [argument for name, value in chosen.items() for argument in ("--set", f"{name}={value}")]
        settings += ["--no-sync"] if self._throwaway else []
        locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        try:
            run("initdb", ["-D", str(fresh), "-U", ROLE, "--auth=trust", *locale, *settings], account)
            run("postgres", ["--single", "-D", str(fresh), "template1"], account, stdin=f"CREATE DATABASE {DATABASE}\n")
        except EmbeddedPostgresError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        fresh.rename(self._pgdata)

    def _socket_directory(self, account: ServerAccount) -> Path:
        """Return the directory of the socket: the data directory, or a private one with a shorter name if the address would be too long."""
        if len(os.fsencode(self._pgdata / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_BYTES:
            return self._pgdata
        short = Path(tempfile.gettempdir()) / f"tarsy-{sha256(os.fsencode(self._pgdata)).hexdigest()[:12]}"
        short.mkdir(mode=0o700, exist_ok=True)
        if short.is_symlink() or short.stat().st_uid not in {account.uid, os.geteuid()}:
            raise EmbeddedPostgresError(f"{short} belongs to another account.", "Choose a TARSY_DATA_DIR with a shorter path.")
        account.own(short)
        return short

    def _start_guard(self) -> None:
        """Start a guard, which stops the server if all its users are killed."""
        if self._has_guard():
            return
        locks = [str(self._lock_path(name)) for name in ("mutex", "users", "guard")]
        command = [sys.executable, "-I", "-S", guard.__file__, str(program("pg_ctl")), str(self._pgdata), *locks]
        nowhere = subprocess.DEVNULL
        subprocess.run(command, check=False, env=program_environment(), stdin=nowhere, stdout=nowhere, stderr=nowhere)  # noqa: S603 - ourselves

    def _has_guard(self) -> bool:
        has_guard = not self._guard.try_exclusive()
        self._guard.release()
        return has_guard

    def _stop(self) -> None:
        if running_postmaster(self._pgdata) is None:
            return
        account = account_for(self._pgdata)
        try:
            run("pg_ctl", ["-D", str(self._pgdata), "-m", "fast", "-w", "-t", str(STOP_SECONDS), "stop"], account)
        except EmbeddedPostgresError as error:
            log.warning("database.not_stopped", data_dir=str(self._home), error=error.problem)
        else:
            log.info("database.stopped", data_dir=str(self._home))

    def _take_mutex(self) -> None:
        if not self._mutex.exclusive_within(MUTEX_SECONDS):
            raise EmbeddedPostgresError(
                f"Another process has been starting or stopping the database in {self._home} for over {MUTEX_SECONDS} s.",
                f"End that process; it holds {self._lock_path('mutex')}.",
            )

    def _close_locks(self) -> None:
        for lock in (self._guard, self._users, self._mutex):
            lock.close()

    def _lock_path(self, name: str) -> Path:
        return self._home / f"postgres.{name}"

    def _log_hint(self) -> str:
        return f"See {self._pgdata / 'server.log'}."


def _list_element(directory: Path) -> str:
    """Quote a directory as an element of a PostgreSQL list."""
    return '"' + str(directory).replace('"', '""') + '"'
