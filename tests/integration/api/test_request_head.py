"""Requests whose head has no end, against a real server."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httpx
import uvicorn
from starlette.responses import Response

from tarsy.api.request_head import MAX_HEAD_BYTES, LimitedHead


@asynccontextmanager
async def _server() -> AsyncGenerator[int]:
    server = uvicorn.Server(uvicorn.Config(Response("well"), http=LimitedHead, log_level="error", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield listening.getsockname()[1]
            server.should_exit = True


async def _last_word(stream: anyio.abc.SocketStream, endless: bytes) -> bytes:
    """What is answered to `endless`; nothing where the system threw it away, because we were still talking when we were hung up on."""
    with anyio.fail_after(10):
        try:
            for _ in range(2 * MAX_HEAD_BYTES // 4096):
                await stream.send(endless * (4096 // len(endless)))
            return await stream.receive()
        except (anyio.BrokenResourceError, anyio.EndOfStream):
            return b""


async def test_a_head_without_end_is_cut_off() -> None:
    async with _server() as port:
        for begun, endless in ((b"", b"X-More: more\r\n"), (b"X-Long: ", b"more")):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + begun)
                assert (await _last_word(stream, endless))[:13] in {b"", b"HTTP/1.1 431 "}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/")).text == "well"


async def test_an_ordinary_request_is_answered_whatever_the_size_of_its_body() -> None:
    async with _server() as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        for body in (b"x" * 10, b"x" * 3_000_000):
            for _ in range(2):
                answer = await client.post("/", content=body, headers={"X-Long": "x" * (MAX_HEAD_BYTES // 2)})
                assert answer.text == "well"
