"""The message streams to a server, whichever way it is reached. Imported on first use only: the SDK is heavy."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from tarsy.tools.endpoint import HttpEndpoint
from tarsy.tools.http import MAX_BODY_BYTES, AcknowledgedPosts, http_client


@asynccontextmanager
async def http_streams(endpoint: HttpEndpoint) -> AsyncGenerator[TransportStreams]:
    """Streamable HTTP."""
    async with (
        http_client(endpoint) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_BODY_BYTES) as streams,
    ):
        yield streams


@asynccontextmanager
async def sse_streams(endpoint: HttpEndpoint, on_failure: Callable[[], None]) -> AsyncGenerator[TransportStreams]:
    """The older protocol with two channels. Its writer swallows failures, so `on_failure` has to end the connection."""
    async with anyio.create_task_group() as posts:

        def client(
            headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
        ) -> httpx2.AsyncClient:
            # What the SDK would pass is its own defaults: ours are in the endpoint.
            del headers, timeout, auth
            return http_client(endpoint, on_failure=on_failure, wrap=lambda transport: AcknowledgedPosts(transport, posts))

        async with sse_client(endpoint.url, httpx_client_factory=client) as streams:
            yield streams
        posts.cancel_scope.cancel()


class WatchedStream:
    """A read stream that tells when it has ended."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def last_context(self) -> Any:
        """The context a message was sent in; the dispatcher asks for it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._on_end()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None
