"""What a connection asks of a session with a tool server, whether we speak the protocol ourselves or the SDK does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tarsy.tools.answers import CallResult, ToolPage

# JSON-RPC's numbers for errors, and MCP's.
METHOD_NOT_FOUND = -32601
CONNECTION_CLOSED = -32000
UNSUPPORTED_PROTOCOL_VERSION = -32022

# How far a call has come, of how much, and in which words.
OnProgress = Callable[[float, float | None, str | None], None]


class SessionError(Exception):
    """The server answered with an error, or will not answer: then the session is `over`."""

    def __init__(self, code: int, message: str, *, over: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.over = over


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told what a server says without being asked, and that it has left."""

    on_log: Callable[[str, object], None]
    on_tools_changed: Callable[[], None]
    on_end: Callable[[], None]


class Session(Protocol):
    """An established session. Whatever it is asked raises `SessionError`, or pydantic's `ValidationError` for an answer of the wrong shape."""

    @property
    def is_stateless(self) -> bool:
        """Whether the server speaks a revision of the protocol in which no request depends on an earlier one, nor on the connection."""
        ...

    async def list_page(self, cursor: str | None) -> ToolPage: ...

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> CallResult: ...

    async def ping(self) -> None: ...
