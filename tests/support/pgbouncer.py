"""A real PgBouncer in front of the tests' PostgreSQL, with its own defaults besides addresses and the pool mode."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

from tarsy.db.embedded.programs import account_for

# Debian installs it where only root looks.
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SETTINGS = """
[databases]
* = host={server} port={port} user={user}
[pgbouncer]
pool_mode = {mode}
auth_type = any
unix_socket_dir = {directory}
listen_port = 6432
"""


@contextmanager
def pgbouncer(url: str, mode: str) -> Generator[str]:
    """Run PgBouncer in front of the database at `url`, on a socket of its own; yields the URL that leads through it."""
    assert PROGRAM
    parsed = make_url(url)
    server = str(parsed.query["host"])
    # It refuses to run as root, and the server's directory is open only to the server's account.
    account = account_for(Path(server))
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        settings = directory / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server, port=parsed.query["port"], user=parsed.username, mode=mode, directory=directory))
        with (
            (directory / "log").open("w") as log,
            subprocess.Popen([PROGRAM, str(settings)], stdout=log, stderr=log, **account.process) as process,
        ):
            try:
                deadline = time.monotonic() + 20
                while not (directory / ".s.PGSQL.6432").exists():
                    assert process.poll() is None, (directory / "log").read_text()
                    assert time.monotonic() < deadline, "PgBouncer did not open its socket"
                    time.sleep(0.01)
                yield parsed.set(query={"host": str(directory), "port": "6432"}).render_as_string(hide_password=False)
            finally:
                process.terminate()
