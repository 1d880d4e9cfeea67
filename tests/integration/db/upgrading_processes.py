"""Processes that bring the database of a URL to the newest schema, as every starting replica does, when their standard input ends.

They are forks of one that has everything imported: ten imports would take longer than the migrations. Each writes to a file of its own.
"""

import os
import sys
from pathlib import Path

import anyio

from tarsy.db import migrate
from tarsy.db.connection import create_engine


async def upgrade(url: str) -> None:
    engine = create_engine(url)
    await anyio.to_thread.run_sync(sys.stdin.read)
    sys.stdout.write(await migrate.upgrade(engine))
    await engine.dispose()


def main(url: str, directory: Path, count: int) -> None:
    for number in range(count):
        if os.fork() == 0:
            with (directory / f"{number}").open("w") as output:
                os.dup2(output.fileno(), 1)
            anyio.run(upgrade, url)
            sys.stdout.flush()
            # To take the modules apart, ten times, would take longer than the migrations as well.
            os._exit(0)
    os.write(1, b"ready\n")
    for _ in range(count):
        os.wait()


main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
