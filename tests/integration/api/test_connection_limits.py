"""Requests without an end, too long or too slow, against a real server."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import Server

from tarsy.api import http_server
from tarsy.api.http_server import MAX_HEAD_BYTES, LimitedHttp, body_seconds

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"


async def _count(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the size of the body; `/at-once` without having read it."""
    request = Request(scope, receive)
    size = "unread" if scope["path"] == "/at-once" else len(await request.body())
    await Response(f"{size}")(scope, receive, send)


@asynccontextmanager
async def _server() -> AsyncGenerator[int]:
    server = Server(Config(_count, http=LimitedHttp, log_level="critical", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield listening.getsockname()[1]
            server.should_exit = True


async def _last_word(stream: anyio.abc.SocketStream, endless: bytes) -> bytes:
    """What is answered to `endless`; nothing where the system threw it away, because we were still talking when we were hung up on."""
    with anyio.fail_after(60):
        try:
            for _ in range(2 * MAX_HEAD_BYTES // 4096):
                await stream.send(endless * (4096 // len(endless)))
            return await stream.receive()
        except (anyio.BrokenResourceError, anyio.EndOfStream):
            return b""


async def _until_closed(port: int, *sent: bytes) -> bytes:
    """Everything the server says to a client that sends this and then waits."""
    texts = b""
    with anyio.fail_after(60):
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            for part in sent:
                await stream.send(part)
            try:
                while True:
                    texts += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return texts


async def test_a_head_without_end_is_cut_off() -> None:
    async with _server() as port:
        for begun, endless in ((b"", b"X-More: more\r\n"), (b"X-Long: ", b"more")):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + begun)
                assert (await _last_word(stream, endless))[:13] in {b"", b"HTTP/1.1 431 "}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.get("/")).text == "0"


async def test_an_ordinary_request_is_answered_whatever_the_size_of_its_body() -> None:
    async with _server() as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        for body in (b"x" * 10, b"x" * 3_000_000):
            for _ in range(2):
                answer = await client.post("/", content=body, headers={"X-Long": "x" * (MAX_HEAD_BYTES // 2)})
                assert answer.text == str(len(body))


@pytest.mark.parametrize(
    ("sent", "texts"),
    [
        pytest.param((), b"", id="a client that says nothing"),
        pytest.param((b"GET / HTTP/1.1\r\nHost: ",), b"HTTP/1.1 408 ", id="half a head"),
        pytest.param((b"\r\n", b"\r\n"), b"HTTP/1.1 408 ", id="empty lines before a head"),
        pytest.param((HEAD + b"some",), b"HTTP/1.1 408 ", id="half a body"),
        pytest.param((HEAD.replace(b"/ ", b"/at-once ", 1) + b"some",), b"HTTP/1.1 200 ", id="half a body that is not wanted"),
        pytest.param((b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /"), b"HTTP/1.1 200 ", id="half a second head"),
    ],
)
async def test_a_request_that_does_not_go_on_ends_its_connection(
    sent: tuple[bytes, ...], texts: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (http_server.HEAD_SECONDS, http_server.BODY_SECONDS) == (30.0, 30.0)
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http_server, "BODY_SECONDS", 0.2)
    async with _server() as port:
        assert (await _until_closed(port, *sent))[:13] == texts


async def test_an_upload_that_is_slow_but_goes_on_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "BODY_SECONDS", 0.2)
    monkeypatch.setattr(http_server, "BODY_BYTES_PER_SECOND", 10)
    async with _server() as port, await anyio.connect_tcp("127.0.0.1", port) as honest:
        # 900 bytes are worth 90 seconds; the other client, which has sent four, is given up first, though it came later.
        await honest.send(HEAD + b"x" * 900)
        assert (await _until_closed(port, HEAD + b"some"))[:13] == b"HTTP/1.1 408 "
        await honest.send(b"x" * 100)
        with anyio.fail_after(60):
            answer = await honest.receive()
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert answer.endswith(b"1000")


def test_the_largest_alert_may_take_half_an_hour() -> None:
    assert body_seconds(0) == 30
    assert 1800 < body_seconds(2**20) < 3600
