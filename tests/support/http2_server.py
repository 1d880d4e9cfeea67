"""Servers that a gRPC client may meet in place of a service that works: scripted ones over the `h2` library, and some that speak no HTTP/2."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, PingReceived, RequestReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes, Settings

HEAD = ((":status", "200"), ("content-type", "application/grpc"))
WELL = (("grpc-status", "0"),)


class Peer(asyncio.Protocol):
    """One connection: hears requests and answers each as the `script` says."""

    def __init__(self, script: "Script", settings: Mapping[SettingCodes, int]) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.local_settings = Settings(client=False, initial_values=dict(settings))
        self.headers: dict[int, dict[str, str]] = {}
        self.resets: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
        self.pinged = asyncio.Event()
        self.lost = asyncio.Event()
        self._script = script
        self._answered: set[int] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            match event:
                case RequestReceived(stream_id=int(number)):
                    self.headers[number] = {str(name): str(value) for name, value in event.headers}
                case DataReceived(stream_id=int(number)):
                    self.h2.acknowledge_received_data(event.flow_controlled_length or 0, number)
                case StreamEnded(stream_id=int(number)):
                    self._script(self, number)
                case StreamReset(stream_id=int(number)):
                    self.resets.put_nowait((number, int(event.error_code or 0)))
                case PingReceived():
                    self.pinged.set()
                case _:
                    pass
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's own name
        self.lost.set()

    def flush(self) -> None:
        self.transport.write(self.h2.data_to_send())

    def say(self, number: int, *messages: bytes) -> None:
        """Begin an answer, or go on with it."""
        if number not in self._answered:
            self._answered.add(number)
            self.h2.send_headers(number, HEAD)
        for message in messages:
            self.h2.send_data(number, b"\0" + len(message).to_bytes(4, "big") + message)
        self.flush()

    def end(self, number: int, *trailers: tuple[str, str]) -> None:
        self.h2.send_headers(number, trailers or WELL, end_stream=True)
        self.flush()

    def leave(self, last: int) -> None:
        """Close the connection, without having looked at the streams after `last`."""
        self.transport.write(
            self.h2.data_to_send()
            + bytes.fromhex("000008070000000000")
            + last.to_bytes(4, "big")
            + int(ErrorCodes.NO_ERROR).to_bytes(4, "big")
        )


Script = Callable[[Peer, int], None]


@asynccontextmanager
async def http2_server(script: Script, settings: Mapping[SettingCodes, int] | None = None) -> AsyncGenerator[tuple[str, list[Peer]]]:
    """A server on a free port: its address, and the connections that it has had."""
    peers: list[Peer] = []

    def peer() -> Peer:
        peers.append(Peer(script, settings or {}))
        return peers[-1]

    async with _listening(peer) as address:
        try:
            yield address, peers
        finally:
            for connection in peers:
                connection.transport.abort()


class _Saying(asyncio.Protocol):
    def __init__(self, greeting: bytes | None, open_ones: list[asyncio.Transport]) -> None:
        self._greeting = greeting
        self._open_ones = open_ones

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connection = cast("asyncio.Transport", transport)
        self._open_ones.append(connection)
        if self._greeting is None:
            connection.close()
        else:
            connection.write(self._greeting)


@asynccontextmanager
async def saying(greeting: bytes | None) -> AsyncGenerator[str]:
    """A server that says these bytes to all that connect, whatever they say; None: it hangs up."""
    open_ones: list[asyncio.Transport] = []
    async with _listening(lambda: _Saying(greeting, open_ones)) as address:
        try:
            yield address
        finally:
            for transport in open_ones:
                transport.abort()


@asynccontextmanager
async def _listening(protocol: Callable[[], asyncio.Protocol]) -> AsyncGenerator[str]:
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
