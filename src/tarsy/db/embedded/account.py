"""The account the embedded server runs under. PostgreSQL refuses to run as root; a container often has no other account."""

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import structlog

log = structlog.get_logger(__name__)

# Taken if they exist, in this order; the last one is created if none does.
ACCOUNTS = ("postgres", "pgserver")


class NoServerAccountError(Exception):
    """Running as root, and there is no other account to run the server under."""


class ProcessAccount(TypedDict, total=False):
    """The arguments of `subprocess` that name the account."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """Who the server runs as: ourselves, unless we are root."""

    uid: int
    gid: int

    @property
    def process(self) -> ProcessAccount:
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give `path` to the server, closed to all other accounts."""
        path.chmod(0o700)
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.gid)


def account_for(pgdata: Path) -> ServerAccount:
    """The account for a data directory: its owner if it exists already.

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


def open_the_way(account: ServerAccount, *paths: Path) -> None:
    """Let the server's account pass through the directories above `paths`: pass, not list."""
    if account.uid == os.geteuid():
        return
    for directory in {parent for path in paths for parent in path.parents}:
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH and directory.stat().st_uid != account.uid:
            log.warning("database.directory_opened", directory=str(directory), reason="the server's account must pass through it")
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
