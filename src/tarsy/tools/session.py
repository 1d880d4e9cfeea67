"""A session with a tool server: the protocol both implementations fulfil, and our own implementation for stdio servers."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from opentelemetry.propagate import inject

from tarsy.tools.messages import CallResult, Greeting, ToolPage
from tarsy.tools.stdio import Link, Listener, Message

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


# The newest is offered; a server that knows only an older one says so.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
CLIENT_INFO = {"name": "tarsy", "version": "1"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request on its way."""

    answer: asyncio.Future[dict[str, Any] | SessionError]
    on_progress: OnProgress | None


class StdioSession:
    """Asks over a `link` and hears what the server says of its own accord."""

    def __init__(self, link: Link, ears: Ears) -> None:
        self._link = link
        self._ears = ears
        self._asked: dict[int, _Asked] = {}
        self._count = 0
        self._is_over = False
        link.attach(Listener(self._take, self._end))

    @property
    def is_stateless(self) -> bool:
        """What begins with a handshake depends on it."""
        return False

    async def initialise(self) -> None:
        """Shake hands, and ask for log messages if the server has them.

        Raises:
            SessionError: the server refuses, or speaks a revision that we do not know.
        """
        offer = {"protocolVersion": REVISIONS[0], "capabilities": {}, "clientInfo": CLIENT_INFO}
        greeting = Greeting.model_validate(await self._request("initialize", offer))
        if greeting.protocol_version not in REVISIONS:
            raise SessionError(CONNECTION_CLOSED, f"it speaks the revision {greeting.protocol_version} of MCP, which is not known here")
        self._post("notifications/initialized")
        if greeting.capabilities.logging is not None:
            await self._ask_for_logs()

    async def _ask_for_logs(self) -> None:
        try:
            await self._request("logging/setLevel", {"level": "info"})
        except SessionError as error:
            if error.over:
                raise

    async def list_page(self, cursor: str | None) -> ToolPage:
        return ToolPage.model_validate(await self._request("tools/list", {} if cursor is None else {"cursor": cursor}))

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> CallResult:
        return CallResult.model_validate(await self._request("tools/call", {"name": tool, "arguments": dict(arguments)}, on_progress))

    async def ping(self) -> None:
        await self._request("ping", {})

    async def _request(self, method: str, params: dict[str, Any], on_progress: OnProgress | None = None) -> dict[str, Any]:
        if self._is_over:
            raise _closed()
        self._count += 1
        number = self._count
        asked = self._asked[number] = _Asked(asyncio.get_running_loop().create_future(), on_progress)
        if on_progress is not None:
            meta: dict[str, Any] = {"progressToken": number}
            inject(meta)
            params = {**params, "_meta": meta}
        self._link.post({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            answer = await asked.answer
        finally:
            del self._asked[number]
            if asked.answer.cancelled() and method != "initialize":
                self._post("notifications/cancelled", requestId=number, reason="no longer waited for")
        if isinstance(answer, SessionError):
            raise answer
        return answer

    def _post(self, method: str, **params: object) -> None:
        self._link.post({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def _take(self, message: Message) -> None:
        match message:
            case {"method": str(method), "id": request_id}:
                self._answer(method, request_id)
            case {"method": str(method)}:
                self._notice(method, message.get("params") or {})
            case _:
                self._settle(message)

    def _answer(self, method: str, request_id: object) -> None:
        """A server may ask whether we are there; we offer it nothing else."""
        answer: Message = {"result": {}}
        if method != "ping":
            answer = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        self._link.post({"jsonrpc": "2.0", "id": request_id, **answer})

    def _notice(self, method: str, params: Message) -> None:
        match method, params:
            case "notifications/tools/list_changed", _:
                self._ears.on_tools_changed()
            case "notifications/message", {"level": str(level), "data": data}:
                self._ears.on_log(level, data)
            case "notifications/progress", {"progressToken": token, "progress": int() | float() as progress}:
                self._pass_on(_number(token), progress, params.get("total"), params.get("message"))
            case _:
                pass

    def _pass_on(self, number: int | None, progress: float, total: object, message: object) -> None:
        asked = self._asked.get(number) if number is not None else None
        if asked is not None and asked.on_progress is not None:
            asked.on_progress(progress, total if isinstance(total, int | float) else None, message if isinstance(message, str) else None)

    def _settle(self, message: Message) -> None:
        number = _number(message.get("id"))
        asked = self._asked.get(number) if number is not None else None
        # An answer may come twice, or when it is no longer waited for.
        if asked is None or asked.answer.done():
            return
        error = message.get("error")
        asked.answer.set_result(message["result"] if error is None else SessionError(error["code"], error["message"]))

    def _end(self) -> None:
        self._is_over = True
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_result(_closed())
        self._ears.on_end()


def _closed() -> SessionError:
    return SessionError(CONNECTION_CLOSED, "Connection closed", over=True)


def _number(request_id: object) -> int | None:
    """Ours are numbers; some servers give them back as texts."""
    match request_id:
        case bool():
            return None
        case int():
            return request_id
        case str() if request_id.isdecimal() and request_id.isascii():
            return int(request_id)
        case _:
            return None
