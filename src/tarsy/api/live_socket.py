"""The WebSocket under live updates: the one that uvicorn has, which can also be written to at once."""

from asyncio import BaseTransport
from collections.abc import Callable, Mapping
from typing import Any, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request

# Where the application finds it among the extensions that the server offers it, as ASGI calls them.
_WRITE_NOW = "tarsy.write_now"


class LiveSocket(WebSocketsSansIOProtocol):
    """Offers the application to write a text without a task that waits for its turn: one turn of the event loop less for each text."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        # uvloop collects what is written in a turn of the event loop and sends it at the end, unless that is more than it may keep.
        self.transport.set_write_buffer_limits(high=0)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        # A request that is no good handshake was answered already, and no application sees it.
        if not self.close_sent:
            scope = cast("dict[str, Any]", self.scope)
            scope["extensions"] = {**scope["extensions"], _WRITE_NOW: self.write_now}

    def write_now(self, text: str) -> bool:
        """Whether `text` is on its way. It is not while the client has much to read, nor when the connection ends."""
        if self.close_sent or self.disconnected or not self.handshake_complete or not self.writable.is_set():
            return False
        try:
            self.conn.send_text(text.encode())
        except InvalidState:
            return False
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True


def write_now_of(scope: Mapping[str, Any]) -> Callable[[str], bool] | None:
    """None where another server than ours runs the application."""
    return scope.get("extensions", {}).get(_WRITE_NOW)
