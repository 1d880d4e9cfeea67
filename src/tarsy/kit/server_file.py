"""The file in the data directory by which commands find the running server. Servers that share a directory have a file each."""

import hashlib
import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tarsy.kit.data_directory import SERVER_FILE


@dataclass(frozen=True, slots=True)
class RunningServer:
    url: str
    pid: int
    # Whether requests need a token.
    login_required: bool
    # A digest of the database's address, which may contain a password.
    database: str


def database_digest(database_url: str | None) -> str:
    """Return what identifies a database in the file; None is the embedded one."""
    return hashlib.sha256((database_url or "embedded").encode()).hexdigest()[:16]


@contextmanager
def server_file(data_dir: Path, server: RunningServer) -> Generator[None]:
    """Keep the file for the time of the block. Without a writable directory there is none, and commands need --url."""
    path = data_dir / SERVER_FILE
    with suppress(OSError):
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = {file: found for file in _files(data_dir) if (found := _read(file)) and found.pid != server.pid}
        # Servers may share the directory, on several ports or with databases of their own: each has a file.
        if path in others and psutil.pid_exists(others[path].pid):
            path = data_dir / f"{SERVER_FILE}.{server.pid}"
        for file, other in others.items():
            if not psutil.pid_exists(other.pid):
                file.unlink(missing_ok=True)
        written = data_dir / f"{SERVER_FILE}.{server.pid}.new"
        written.write_text(json.dumps(asdict(server)), encoding="utf-8")
        written.replace(path)
    try:
        yield
    finally:
        # A server that started at the same moment may have replaced it.
        if (found := _read(path)) and found.pid == os.getpid():
            path.unlink(missing_ok=True)


def find_servers(data_dir: Path, database_url: str | None) -> Iterator[RunningServer]:
    """Yield the servers of this data directory and database whose processes are alive."""
    for file in _files(data_dir):
        found = _read(file)
        if found is not None and found.database == database_digest(database_url) and psutil.pid_exists(found.pid):
            yield found


def _files(data_dir: Path) -> list[Path]:
    return sorted(data_dir.glob(f"{SERVER_FILE}*"))


def _read(path: Path) -> RunningServer | None:
    try:
        return RunningServer(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None
