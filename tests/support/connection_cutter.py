"""A network between the journal and its database that cuts connections at chosen moments."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress

import anyio
from anyio.abc import ByteStream, SocketAttribute
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import create_engine


class Cutter:
    """A way to the database that can cut a connection while a step is under way: before it arrives, or before its answer does."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        # The connection that says this is cut, once.
        self.cut_at: bytes | None = None
        self.arrives = False
        self.cuts = 0
        # Connections are accepted, and nothing that either side sends arrives any more.
        self.is_silent = False

    async def serve(self, client: ByteStream) -> None:
        # Streams of asyncio, not of anyio: on uvloop, reading from a Unix socket with anyio fails when it is cancelled as data arrives.
        answers, server = await asyncio.open_unix_connection(self._socket_path)
        # Closed also if this is cancelled; what was written is sent first.
        with closing(server):
            async with client, anyio.create_task_group() as tasks:

                async def pass_on_answers() -> None:
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
                        while data := await answers.read(65_536):
                            if not self.is_silent:
                                await client.send(data)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(pass_on_answers)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    async for data in client:
                        if self.cut_at is not None and self.cut_at in data:
                            self.cut_at = None
                            self.cuts += 1
                            if self.arrives:
                                server.write(data)
                            break
                        if not self.is_silent:
                            server.write(data)
                tasks.cancel_scope.cancel()


@asynccontextmanager
async def cutting(url: str) -> AsyncGenerator[tuple[Cutter, AsyncEngine]]:
    parsed = make_url(url)
    cutter = Cutter(f"{parsed.query['host']}/.s.PGSQL.{parsed.query['port']}")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - of anyio, not of a framework
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, cutter.serve)
        engine = create_engine(f"postgresql://tarsy@127.0.0.1:{port}/{parsed.database}?sslmode=disable")
        try:
            yield cutter, engine
        finally:
            await engine.dispose()
            tasks.cancel_scope.cancel()
