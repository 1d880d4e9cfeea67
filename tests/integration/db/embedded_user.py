"""A process that uses the embedded server of a data directory until its standard input ends."""

import sys
from pathlib import Path

import anyio

from tarsy.db.embedded.server import embedded_postgres


async def main() -> None:
    async with embedded_postgres(Path(sys.argv[1])) as url:
        sys.stdout.write(url + "\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.read)


anyio.run(main)
