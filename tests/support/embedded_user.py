"""A process that uses the embedded server of a data directory. It is here because a forked process can import it."""

from multiprocessing.connection import Connection
from pathlib import Path

import anyio

from tarsy.db.embedded.server import embedded_postgres


def use_server(data_dir: Path, parent: "Connection[str, None]") -> None:
    """Send the URL of the server to the parent, and use the server until the parent closes the connection."""

    async def use() -> None:
        async with embedded_postgres(data_dir) as url:
            parent.send(url)
            # Nothing is ever sent: it becomes readable when the other end is closed.
            await anyio.to_thread.run_sync(parent.poll, None)

    anyio.run(use)
