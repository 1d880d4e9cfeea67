"""What `postmaster.pid` says about a running server, checked against the process table."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
    """The live server of `pgdata`; None if there is none, whatever a file left behind may say."""
    try:
        lines = [line.strip() for line in pid_file(pgdata).read_text().splitlines()]
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if not _is_server_of(pid, pgdata):
        return None
    padded = lines + [""] * (_STATUS_LINE + 1 - len(lines))
    return Postmaster(pid, padded[_SOCKET_DIRECTORY_LINE], padded[_STATUS_LINE] == "ready")


def forget_dead_server(pgdata: Path, socket_lock: Path) -> None:
    """Take a dead server's process number out of the files it left: it may be a stranger's by now, and PostgreSQL would believe it.

    The rest of `postmaster.pid` stays, because PostgreSQL looks there for children of the dead server that still live.
    """
    socket_lock.unlink(missing_ok=True)
    path = pid_file(pgdata)
    with suppress(FileNotFoundError):
        rest = path.read_text().splitlines()[1:]
        path.write_text("\n".join([str(_NO_PROCESS), *rest]) + "\n")


def _is_server_of(pid: int, pgdata: Path) -> bool:
    """Process numbers are given out again, in a restarted container at once: the number alone proves nothing."""
    import psutil  # noqa: PLC0415 - heavy, imported on first use

    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and process.name() == "postgres" and str(pgdata) in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
