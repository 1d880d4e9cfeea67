"""An MCP server over HTTP that misbehaves on demand, run inside the test."""

import json
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.config import Config
from uvicorn.server import Server

TOOLS = [
    "echo",
    "hang",
    "status_401",
    "status_403",
    "status_500",
    "close",
    "garbage",
    "flood",
    "forget_session",
    "wrong_type",
    "half_stream",
    "resumable",
    "large_error",
    "stalled_error",
    "packed",
    "bomb",
    "bomb_event",
    "dense",
    "dense_event",
    "dense_lines",
    "null_result",
    "broken_utf8",
    "cut_character",
    "unknown_block",
    "rpc_error",
]
READ_ONLY = {"echo", "forget_session"}


@dataclass(slots=True)
class HttpFault:
    """What the server was asked, and what it should do wrong before any tool is called."""

    refuse_all_with: int | None = None
    # Whether a request with this `Authorization` header is admitted; None: all are.
    admits: Callable[[str], Awaitable[bool]] | None = None
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list[tuple[str, str, dict[str, str]]])
    queries: list[str] = field(default_factory=list[str])
    sessions: set[str] = field(default_factory=set[str])
    calls: list[str] = field(default_factory=list[str])
    # The `_meta` of each call.
    metas: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    more_tools: list[str] = field(default_factory=list[str])
    # Listed as they are.
    odd_tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refuses_to_list: bool = False
    # So many have to shake hands at the same time before anybody gets an answer.
    expected_guests: int = 1
    guests: int = 0
    ignores_farewells: bool = False
    # The status with which a request is refused that resumes a broken stream.
    refuses_to_resume_with: int = 404
    # The answer to a session that the server does not know.
    stranger: tuple[int, str] = (404, "no such session")
    everybody: anyio.Event = field(default_factory=anyio.Event)
    url: str = ""
    port: int = 0

    async def handle(self, request: Request) -> Response:
        self.requests.append((request.method, request.url.path, dict(request.headers)))
        self.queries.append(request.url.query)
        if request.url.path == "/cleanup":
            return Response(status_code=204)
        if self.admits is not None and not await self.admits(request.headers.get("authorization", "")):
            return Response("who are you?", status_code=401)
        if self.refuse_all_with is not None:
            return Response("who are you? password=hunter2", status_code=self.refuse_all_with)
        if request.method == "DELETE" and self.ignores_farewells:
            await anyio.sleep_forever()
        if request.method != "POST":
            return Response("no such session", status_code=self.refuses_to_resume_with if "last-event-id" in request.headers else 405)
        message = json.loads(await request.body())
        session = request.headers.get("mcp-session-id")
        if message["method"] != "initialize" and session not in self.sessions:
            return JSONResponse({"error": self.stranger[1]}, status_code=self.stranger[0])
        return await self._answer(message)

    async def _answer(self, message: dict[str, Any]) -> Response:
        match message["method"]:
            case "initialize":
                self.guests += 1
                if self.guests >= self.expected_guests:
                    self.everybody.set()
                await self.everybody.wait()
                session = f"session-{len(self.requests)}"
                self.sessions.add(session)
                info = {"name": "fault", "version": "1"}
                result: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
                return _result(message, result, {"mcp-session-id": session})
            case "tools/list" if self.refuses_to_list:
                return Response("out of order", status_code=500)
            case "tools/list":
                schema = {"type": "object", "properties": {"text": {"type": "string"}}}
                names = (*TOOLS, *self.more_tools)
                listed = [{"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": name in READ_ONLY}} for name in names]
                return _result(message, {"tools": [*listed, *self.odd_tools]})
            case "tools/call":
                self.calls.append(message["params"]["name"])
                self.metas.append(message["params"].get("_meta", {}))
                return await self._call(message)
            case "ping":
                return _result(message, {})
            case _:
                return Response(status_code=202)

    async def _call(self, message: dict[str, Any]) -> Response:  # noqa: C901, PLR0911, PLR0912 - one per fault
        name = message["params"]["name"]
        if name.startswith("status_"):
            return Response("upstream says no, password=hunter2", status_code=int(name.removeprefix("status_")))
        if name == "forget_session" and self.calls.count(name) == 1:
            self.sessions.clear()
            return JSONResponse({"error": self.stranger[1]}, status_code=self.stranger[0])
        match name:
            case "hang":
                await anyio.sleep(30)
            case "close":
                return StreamingResponse(_broken(), media_type="application/json", headers={"content-length": "1000"})
            case "half_stream":
                return StreamingResponse(_half_an_event(), media_type="text/event-stream")
            case "resumable":
                # The beginning of a stream, which says where to resume it and after how many milliseconds.
                return Response("id: 1\nretry: 1\ndata: \n\n", media_type="text/event-stream")
            case "large_error" | "stalled_error":
                return StreamingResponse(_error(large=name == "large_error"), status_code=502, media_type="text/html")
            case "garbage":
                return Response("<html>not JSON</html>", media_type="application/json")
            case "wrong_type":
                return Response("<html>password=hunter2</html>", media_type="text/html")
            case "flood":
                return _result(message, {"content": [{"type": "text", "text": "x" * 10 * 1024 * 1024}]})
            case "dense":
                return _result(message, {"content": [], "structuredContent": {"rows": [[]] * 150_000}})
            case "dense_event":
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{}] * 150_000}})
                return Response(f"event: message\ndata: {body}\n\n", media_type="text/event-stream")
            case "dense_lines":
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{}] * 150_000}})
                lines = body.replace("}, {", "},\ndata: {")
                return Response(f"event: message\ndata: {lines}\n\n", media_type="text/event-stream")
            case "null_result":
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": None})
            case "broken_utf8":
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "caf@"}]}})
                return Response(body.encode().replace(b"@", b"\xe9"), media_type="application/json")
            case "cut_character":
                content = [{"type": "text", "text": "cut off \ud83d"}]
                return Response(
                    json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}), media_type="application/json"
                )
            case "unknown_block":
                return _result(message, {"content": [{"type": "hologram", "data": 1}, {"type": "text", "text": "seen"}]})
            case "rpc_error":
                error = {"code": -32000, "message": "no", "data": {"backend": "db-1"}}
                return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "error": error})
            case "packed" | "bomb" | "bomb_event":
                return _packed(message, large=name != "packed", as_event=name == "bomb_event")
            case _:
                pass
        return _result(message, {"content": [{"type": "text", "text": message["params"].get("arguments", {}).get("text", "done")}]})


def _result(message: dict[str, Any], result: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)


def _packed(message: dict[str, Any], *, large: bool, as_event: bool) -> Response:
    """Some 100 kB on the wire that are 100 MB when they are unpacked."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    begin = f'{{"jsonrpc": "2.0", "id": {json.dumps(message["id"])}, "result": {{"content": [{{"type": "text", "text": "unpacked'
    body = [packer.compress(f"event: message\ndata: {begin}".encode() if as_event else begin.encode())]
    body += [packer.compress(b"x" * 1024 * 1024) for _ in range(100 if large else 0)]
    body += [packer.compress(b'"}]}}\n\n'), packer.flush()]
    kind = "text/event-stream" if as_event else "application/json"
    return Response(b"".join(body), media_type=kind, headers={"content-encoding": "gzip"})


async def _broken() -> AsyncIterator[bytes]:
    yield b'{"jsonrpc"'
    raise ConnectionResetError


async def _error(*, large: bool) -> AsyncIterator[bytes]:
    yield b"bad gateway"
    if large:
        yield b" bad gateway" * 10_000
    await anyio.sleep_forever()


async def _half_an_event() -> AsyncIterator[bytes]:
    yield b"event: message\ndata: {"


@asynccontextmanager
async def http_fault_server(certificate: Path | None = None) -> AsyncGenerator[HttpFault]:
    """Run the server on a free port, over TLS with the given certificate and key."""
    fault = HttpFault()
    app = Starlette(routes=[Route("/{path:path}", fault.handle, methods=["GET", "POST", "DELETE"])])
    server = Server(Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ssl_certfile=certificate))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        fault.port = listener.getsockname()[1]
        fault.url = f"{'https' if certificate else 'http'}://127.0.0.1:{fault.port}/mcp"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            with anyio.fail_after(60):
                while not server.started:
                    await anyio.lowlevel.checkpoint()
            try:
                yield fault
            finally:
                server.should_exit = True
