"""The file in the data directory by which commands find the running server."""

import hashlib
import json
import os
from collections.abc import Generator
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
        written = path.with_suffix(f".{server.pid}")
        written.write_text(json.dumps(asdict(server)), encoding="utf-8")
        written.replace(path)
    try:
        yield
    finally:
        # Another server may have replaced it.
        if (found := _read(path)) and found.pid == os.getpid():
            path.unlink(missing_ok=True)


def find_server(data_dir: Path, database_url: str | None) -> RunningServer | None:
    """Return the server of this data directory and database whose process is alive."""
    found = _read(data_dir / SERVER_FILE)
    if found is None or found.database != database_digest(database_url) or not psutil.pid_exists(found.pid):
        return None
    return found


def _read(path: Path) -> RunningServer | None:
    try:
        return RunningServer(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        return None
