"""An MCP session with a tool server: what a session offers, and our own implementation of it for stdio servers.

`StdioSession` supports the MCP revisions that begin with a handshake. Other sessions use the MCP SDK (`sdk_session`), which is slower: it passes
each message through four in-memory streams and validates it three times.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from opentelemetry.propagate import inject

from tarsy.tools.messages import CallResult, InitializeResult, ToolPage
from tarsy.tools.stdio import JsonMessage, Link

# Error codes of JSON-RPC and of MCP.
METHOD_NOT_FOUND = -32601
CONNECTION_CLOSED = -32000
UNSUPPORTED_PROTOCOL_VERSION = -32022

# The newest is offered; a server that knows only an older one answers with it.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT_INFO = {"name": "tarsy", "version": "1"}
# In `_meta` of every tool call. A TARSy that receives it starts no work for it: two could investigate each other for ever.
AGENT_CALL = "tarsy/agent-call"

# The progress of a call, its total if known, and a message.
OnProgress = Callable[[float, float | None, str | None], None]


class SessionError(Exception):
    """The server answered with an error, or, if `connection_closed`, the session has ended without an answer."""

    def __init__(self, code: int, message: str, *, data: object = None, connection_closed: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.connection_closed = connection_closed


@dataclass(frozen=True, slots=True)
class SessionCallbacks:
    """Called for a server's notifications, and when its session has ended."""

    on_log: Callable[[str, object], None]
    on_tools_changed: Callable[[], None]
    on_end: Callable[[], None]


class Session(Protocol):
    """An established session. Its methods raise `SessionError`, or pydantic's `ValidationError` for an answer of the wrong shape."""

    @property
    def is_stateless(self) -> bool:
        """Whether the server uses a revision of the protocol in which no request depends on an earlier one, nor on the connection."""
        ...

    async def list_page(self, cursor: str | None) -> ToolPage: ...

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> CallResult: ...

    async def ping(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request without an answer yet."""

    answer: asyncio.Future[dict[str, Any] | SessionError]
    on_progress: OnProgress | None


class StdioSession:
    """Sends requests over a `link` and handles the messages that the server sends."""

    def __init__(self, link: Link, callbacks: SessionCallbacks) -> None:
        self._link = link
        self._callbacks = callbacks
        self._pending: dict[int, _Pending] = {}
        self._count = 0
        self._closed = False
        link.attach(self._receive, self._end)

    @property
    def is_stateless(self) -> bool:
        return False

    async def initialise(self) -> None:
        """Shake hands, and subscribe to log messages if the server has them.

        Raises:
            SessionError: the server refuses, or uses a revision that we do not know.
        """
        offer = {"protocolVersion": REVISIONS[0], "capabilities": {}, "clientInfo": CLIENT_INFO}
        result = InitializeResult.model_validate(await self._request("initialize", offer))
        if result.protocol_version not in REVISIONS:
            raise SessionError(CONNECTION_CLOSED, f"it speaks the revision {result.protocol_version} of MCP, which is not known here")
        self._notify("notifications/initialized")
        if result.capabilities.logging is not None:
            try:
                await self._request("logging/setLevel", {"level": "info"})
            except SessionError as error:
                if error.connection_closed:
                    raise

    async def list_page(self, cursor: str | None) -> ToolPage:
        return ToolPage.model_validate(await self._request("tools/list", {} if cursor is None else {"cursor": cursor}))

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> CallResult:
        return CallResult.model_validate(await self._request("tools/call", {"name": tool, "arguments": dict(arguments)}, on_progress))

    async def ping(self) -> None:
        await self._request("ping", {})

    async def _request(self, method: str, params: dict[str, Any], on_progress: OnProgress | None = None) -> dict[str, Any]:
        if self._closed:
            raise _connection_closed()
        self._count += 1
        number = self._count
        pending = self._pending[number] = _Pending(asyncio.get_running_loop().create_future(), on_progress)
        if on_progress is not None:
            meta: dict[str, Any] = {"progressToken": number, AGENT_CALL: True}
            inject(meta)
            params = {**params, "_meta": meta}
        self._link.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            answer = await pending.answer
        finally:
            del self._pending[number]
            if pending.answer.cancelled() and method != "initialize":
                self._notify("notifications/cancelled", requestId=number, reason="no longer waited for")
        if isinstance(answer, SessionError):
            raise answer
        return answer

    def _notify(self, method: str, **params: object) -> None:
        self._link.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def _receive(self, message: JsonMessage) -> None:
        match message:
            case {"method": "ping", "id": request_id}:
                self._link.send({"jsonrpc": "2.0", "id": request_id, "result": {}})
            case {"method": str(), "id": request_id}:
                # We offer servers nothing but pings.
                error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
                self._link.send({"jsonrpc": "2.0", "id": request_id, "error": error})
            case {"method": "notifications/tools/list_changed"}:
                self._callbacks.on_tools_changed()
            case {"method": "notifications/message", "params": {"level": str(level), "data": data}}:
                self._callbacks.on_log(level, data)
            case {
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": int() | float() as progress} as params,
            }:
                pending = self._pending_of(token)
                if pending is not None and pending.on_progress is not None:
                    total, text = params.get("total"), params.get("message")
                    known = total if isinstance(total, int | float) else None
                    pending.on_progress(progress, known, text if isinstance(text, str) else None)
            case {"method": str()}:
                # Other notifications do not concern us.
                pass
            case _:
                pending = self._pending_of(message.get("id"))
                # An answer may come twice, or after its request was given up.
                if pending is not None and not pending.answer.done():
                    error = message.get("error")
                    failure = error and SessionError(error["code"], error["message"], data=error.get("data"))
                    pending.answer.set_result(failure or message["result"])

    def _pending_of(self, request_id: object) -> _Pending | None:
        """Return the request with this id. Ours are numbers, which some servers return as strings."""
        match request_id:
            case bool():
                return None
            case int():
                return self._pending.get(request_id)
            case str() if request_id.isdecimal() and request_id.isascii():
                return self._pending.get(int(request_id))
            case _:
                return None

    def _end(self) -> None:
        self._closed = True
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_result(_connection_closed())
        self._callbacks.on_end()


def _connection_closed() -> SessionError:
    return SessionError(CONNECTION_CLOSED, "Connection closed", connection_closed=True)
