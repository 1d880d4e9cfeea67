"""A proxy that knows CONNECT alone, and leads everywhere to one port of this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream


@dataclass(slots=True)
class Tunnel:
    target: int
    url: str = ""
    asked: list[str] = field(default_factory=list[str])

    async def serve(self, client: SocketStream) -> None:
        async with client:
            self.asked.append((await client.receive()).decode().splitlines()[0])
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with await anyio.connect_tcp("127.0.0.1", self.target) as server, anyio.create_task_group() as tasks:
                tasks.start_soon(_pass_on, client, server)
                await _pass_on(server, client)
                tasks.cancel_scope.cancel()


async def _pass_on(source: SocketStream, sink: SocketStream) -> None:
    try:
        async for data in source:
            await sink.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


@asynccontextmanager
async def tunnel(target: int) -> AsyncGenerator[Tunnel]:
    proxy = Tunnel(target)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        proxy.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"  # noqa: S610 - not Django's
        tasks.start_soon(listener.serve, proxy.serve)
        yield proxy
        tasks.cancel_scope.cancel()
