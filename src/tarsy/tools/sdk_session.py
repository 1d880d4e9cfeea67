"""A session held by the MCP SDK: with servers behind a URL, and with stdio servers of revisions without a handshake."""

import logging
import math
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import structlog
from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry.propagate import inject

from tarsy.tools.endpoint import HttpEndpoint
from tarsy.tools.http import MAX_BODY_BYTES, AcknowledgedPosts, http_client
from tarsy.tools.messages import CallResult, ToolPage, readable_blocks
from tarsy.tools.session import (
    AGENT_CALL,
    CONNECTION_CLOSED,
    UNSUPPORTED_PROTOCOL_VERSION,
    OnProgress,
    Session,
    SessionCallbacks,
    SessionError,
)
from tarsy.tools.stdio import MAX_UNANSWERED, JsonMessage, Link

log = structlog.get_logger(__name__)

# The SDK's loggers write message contents, which are not masked.
for _name in ("mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class SdkSession:
    def __init__(self, session: ClientSession) -> None:
        self._session = session

    @property
    def is_stateless(self) -> bool:
        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def list_page(self, cursor: str | None) -> ToolPage:
        params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        return ToolPage.model_validate(await self._request(types.ListToolsRequest(params=params), types.ListToolsResult))

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> CallResult:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            on_progress(progress, total, message)

        meta: dict[str, Any] = {AGENT_CALL: True}
        inject(meta)
        params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
        request = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))
        return CallResult.model_validate(await self._request(request, types.CallToolResult, progress))

    async def ping(self) -> None:
        await self._request(types.PingRequest(), types.EmptyResult)

    async def _request(self, request: Any, result: type[Any], progress: Any = None) -> dict[str, Any]:
        try:
            answer = await self._session.send_request(request, result, progress_callback=progress)
        except MCPError as error:
            # The SDK makes up these messages when the connection ended; servers use the same code for errors of their own.
            is_synthetic = error.message == "Connection closed" or error.message.startswith("SSE stream")
            closed = error.code == CONNECTION_CLOSED and is_synthetic
            raise SessionError(error.code, error.message, data=error.data, connection_closed=closed) from error
        return answer.model_dump(by_alias=True)


@asynccontextmanager
async def http_session(endpoint: HttpEndpoint, callbacks: SessionCallbacks, on_failure: Callable[[], None]) -> AsyncGenerator[Session]:
    """Open a session with a server behind a URL.

    `on_failure` has to end a session of the older protocol: the SDK's writer swallows failures there.
    """
    transport = _sse_streams(endpoint, on_failure) if endpoint.sse else _http_streams(endpoint)
    async with _session(transport, callbacks) as session:
        try:
            await session.initialize()
        except MCPError as error:
            if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            await session.discover()
        capabilities = session.server_capabilities
        if capabilities is not None and capabilities.logging is not None and session.initialize_result is not None:
            try:
                await session.send_request(types.SetLevelRequest(params=types.SetLevelRequestParams(level="info")), types.EmptyResult)
            except MCPError as error:
                log.debug("tool_server.no_log_level", code=error.code)
        yield SdkSession(session)


@asynccontextmanager
async def session_without_handshake(link: Link, callbacks: SessionCallbacks) -> AsyncGenerator[Session]:
    async with _session(_stdio_streams(link), callbacks) as session:
        await session.discover()
        yield SdkSession(session)


@asynccontextmanager
async def _session(transport: Transport, callbacks: SessionCallbacks) -> AsyncGenerator[ClientSession]:
    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        callbacks.on_log(params.level, params.data)

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            callbacks.on_tools_changed()

    async with (
        transport as (read, write),
        ClientSession(
            WatchedStream(read, callbacks.on_end),
            write,
            client_info=types.Implementation(name="tarsy", version="1"),
            logging_callback=on_log,
            message_handler=on_message,
        ) as session,
    ):
        yield session


# ---- transports


@asynccontextmanager
async def _http_streams(endpoint: HttpEndpoint) -> AsyncGenerator[Any]:
    """Open the streams of Streamable HTTP."""
    async with (
        http_client(endpoint) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_BODY_BYTES) as streams,
    ):
        yield streams


@asynccontextmanager
async def _sse_streams(endpoint: HttpEndpoint, on_failure: Callable[[], None]) -> AsyncGenerator[Any]:
    """Open the streams of the older protocol with two channels."""
    async with anyio.create_task_group() as posts:

        def client(
            headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
        ) -> httpx2.AsyncClient:
            # The SDK passes its own defaults; ours are in the endpoint.
            del headers, timeout, auth
            return http_client(endpoint, on_failure=on_failure, wrap=lambda transport: AcknowledgedPosts(transport, posts))

        async with sse_client(endpoint.url, httpx_client_factory=client) as streams:
            yield streams
        posts.cancel_scope.cancel()


@asynccontextmanager
async def _stdio_streams(link: Link) -> AsyncGenerator[Any]:
    """Give the messages of a stdio server to the SDK."""
    # Unbounded, because each message has already been read from the pipe.
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    def receive(message: JsonMessage) -> None:
        incoming.send_nowait(SessionMessage(types.jsonrpc_message_adapter.validate_python(message, by_name=False)))

    async def send() -> None:
        async with outgoing:
            async for message in outgoing:
                link.send(message.message.model_dump(by_alias=True, exclude_unset=True, mode="json"))

    link.attach(receive, incoming.close)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        try:
            yield read, write
        finally:
            link.detach()
            incoming.close()
            tasks.cancel_scope.cancel()


class WatchedStream(ObjectReceiveStream[SessionMessage | Exception]):
    """A read stream of the SDK that calls `on_end` when it ends, or when the server sends too many messages without an answer.

    The SDK rejects an answer with a content block that it does not know: it gets a text in its place.
    """

    def __init__(self, inner: Any, on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end
        self._unanswered = 0

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent; the SDK reads it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            received = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end()
            raise
        message = received.message if isinstance(received, SessionMessage) else None
        self._unanswered = 0 if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else self._unanswered + 1
        if self._unanswered > MAX_UNANSWERED:
            self._on_end()
            raise anyio.EndOfStream
        if isinstance(message, types.JSONRPCResponse) and "content" in message.result:
            message.result["content"] = readable_blocks(message.result["content"])
        return received

    async def aclose(self) -> None:
        await self._inner.aclose()
