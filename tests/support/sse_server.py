"""An MCP server of the older protocol: answers come on a stream of events, and a message may never be acknowledged."""

import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from uvicorn.config import Config
from uvicorn.server import Server

INFO: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "older", "version": "1"}}


@dataclass(slots=True)
class OlderServer:
    """`unacknowledged` are the methods whose POST is not answered."""

    unacknowledged: frozenset[str]
    url: str = ""
    calls: list[str] = field(default_factory=list[str])
    answers: tuple[MemoryObjectSendStream[str], MemoryObjectReceiveStream[str]] = field(
        default_factory=lambda: anyio.create_memory_object_stream[str](100)
    )

    async def events(self, _: Request) -> Response:
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        yield "event: endpoint\ndata: /messages\n\n"
        async for answer in self.answers[1]:
            yield f"event: message\ndata: {answer}\n\n"

    async def take(self, request: Request) -> Response:
        message = json.loads(await request.body())
        self.calls.append(message["method"])
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": _result(message)}
            await self.answers[0].send(json.dumps(answer))
        if message["method"] in self.unacknowledged:
            await anyio.sleep_forever()
        return Response(status_code=202)


def _result(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return INFO
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "echoed"}]}
        case _:
            return {}


@asynccontextmanager
async def older_server(*unacknowledged: str) -> AsyncGenerator[OlderServer]:
    older = OlderServer(frozenset(unacknowledged))
    app = Starlette(routes=[Route("/sse", older.events), Route("/messages", older.take, methods=["POST"])])
    server = Server(Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        older.url = f"http://127.0.0.1:{listening.getsockname()[1]}/sse"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            try:
                yield older
            finally:
                server.should_exit = True
                for stream in older.answers:
                    stream.close()
