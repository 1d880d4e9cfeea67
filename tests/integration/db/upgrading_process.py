"""A process that brings the database of a URL to the newest schema, as every starting replica does, when its standard input ends."""

import sys

import anyio

from tarsy.db import migrate
from tarsy.db.connection import create_engine


async def main() -> None:
    engine = create_engine(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await anyio.to_thread.run_sync(sys.stdin.read)
    sys.stdout.write(await migrate.upgrade(engine))
    await engine.dispose()


anyio.run(main)
