"""A small HTTP server that plays a model vendor: it answers from a script, byte by byte if need be, and writes down what it was asked."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    504: "Gateway Timeout",
}


class Act(Enum):
    """What a reply may do besides sending bytes."""

    # Say nothing more until the caller gives up.
    HANG = "hang"
    # Drop the connection in the middle of the answer.
    CUT = "cut"
    # Go on when the test opens the gate.
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer. `HANG` as the first step means that not even the headers are sent."""

    steps: tuple[bytes | Act, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class SeenRequest:
    path: str
    headers: dict[str, str]
    body: Any


class VendorServer:
    """Answers requests with the scripted replies, in order."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Begin a new script."""
        self.replies: deque[Reply] = deque()
        self.seen: list[SeenRequest] = []
        # Set when a caller goes away from a reply that hangs.
        self.abandoned = asyncio.Event()
        self.asked = asyncio.Event()
        self.answered = asyncio.Event()
        # Released once for every request.
        self.arrivals = asyncio.Semaphore(0)
        self.gate = asyncio.Event()

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.seen]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader)) is not None:
                self.seen.append(request)
                self.asked.set()
                self.arrivals.release()
                reply = self.replies.popleft() if self.replies else _unscripted(request)
                if not await self._send(reply, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _send(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Play `reply`; say whether the connection can be used again."""
        try:
            return await self._play(reply, reader, writer)
        except ConnectionError:
            # A caller that is quick to go leaves a reset behind, or is gone before the last piece is out.
            if Act.HANG in reply.steps:
                self.abandoned.set()
            raise

    async def _play(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if reply.steps[:1] != (Act.HANG,):
            writer.write(_head(reply))
        for step in reply.steps:
            match step:
                case Act.HANG:
                    await writer.drain()
                    await reader.read()
                    self.abandoned.set()
                    return False
                case Act.CUT:
                    await writer.drain()
                    return False
                case Act.WAIT:
                    await writer.drain()
                    await self.gate.wait()
                case bytes():
                    writer.write(b"%x\r\n%s\r\n" % (len(step), step))
                    await writer.drain()
                    # Let the reader see this piece before the next one is written.
                    await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        self.answered.set()
        return True


def _head(reply: Reply) -> bytes:
    headers = {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked", **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} {REASONS[reply.status]}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _unscripted(request: SeenRequest) -> Reply:
    return json_reply(400, {"error": {"message": f"the test expected no request to {request.path}"}})


def json_reply(status: int, body: Any, headers: dict[str, str] | None = None) -> Reply:
    return Reply((json.dumps(body).encode(),), status, headers or {}, "application/json")


async def _read_request(reader: asyncio.StreamReader) -> SeenRequest | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return SeenRequest(head[0].split(" ")[1], headers, json.loads(body) if body else None)


@asynccontextmanager
async def vendor_server() -> AsyncGenerator[VendorServer]:
    """Run a vendor on a free port."""
    vendor = VendorServer()
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(vendor.handle(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    vendor.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield vendor
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
