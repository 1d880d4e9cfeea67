"""HTTP on the way to a tool server: what failed is remembered in full, because the SDK reports only that something did.

Imported on first use only: the HTTP library and the SDK are heavy.
"""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import cache

import anyio
import httpx2

from tarsy.kit.text import clip
from tarsy.tools.failures import HttpFailure

# Enough of an error page to recognise it.
BODY_EXCERPT = 500
# One JSON answer; the same bound as a line of a stdio server.
MAX_BODY_BYTES = 64 * 1024 * 1024

# A server may think for minutes before it says something; the call's own timeout decides, not the socket's.
READ_TIMEOUT = 600.0
CONNECT_TIMEOUT = 30.0
# How much of an error's body is read, and how long it is waited for.
MAX_ERROR_BYTES = 64 * 1024
ERROR_SECONDS = 5.0

# A shared connection carries the calls of all agents at once: how many that are is not decided here.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)

# The SDK sends a request in the context of whoever asked for it, so failures find their call even when several are under way.
failures: ContextVar[list[HttpFailure] | None] = ContextVar("failures", default=None)


def http_client(
    headers: Mapping[str, str], *, verify_ssl: bool, timeout: float | None, on_failure: Callable[[], None] | None = None
) -> httpx2.AsyncClient:
    """A client that remembers failures; `on_failure` is called after each one, for a transport that would wait on for ever."""
    return httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(timeout or CONNECT_TIMEOUT, read=READ_TIMEOUT),
        transport=ObservedTransport(httpx2.AsyncHTTPTransport(verify=_ssl_context(verify_ssl=verify_ssl), limits=_LIMITS), on_failure),
    )


@cache
def _ssl_context(*, verify_ssl: bool) -> ssl.SSLContext:
    """Shared: reading the authorities takes tens of milliseconds and a megabyte each time."""
    return httpx2.create_ssl_context(verify=verify_ssl)


class ObservedTransport(httpx2.AsyncBaseTransport):
    """Notes failed exchanges and bounds the size of answers."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, on_failure: Callable[[], None] | None) -> None:
        self._inner = inner
        self._on_failure = on_failure

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            self._note(request, None, f"{type(error).__name__} {error}".strip(), unsent=unsent)
            raise
        if response.status_code >= 400 and not _is_declined_option(request, response.status_code):
            body = await _beginning(response)
            self._note(request, response.status_code, clip(body.decode(errors="replace").strip(), BODY_EXCERPT))
            kind = {"content-type": response.headers.get("content-type", "text/plain")}
            return httpx2.Response(response.status_code, headers=kind, content=body, request=request)
        if response.headers.get("content-type", "").lower().startswith("application/json") and isinstance(
            response.stream, httpx2.AsyncByteStream
        ):
            response.stream = BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _note(self, request: httpx2.Request, status: int | None, detail: str, *, unsent: bool = False) -> None:
        # Userinfo and query may carry credentials.
        url = str(request.url.copy_with(userinfo=b"", query=None, fragment=None))
        seen = failures.get()
        if seen is not None:
            seen.append(HttpFailure(method=request.method, url=url, status=status, detail=detail, unsent=unsent))
        if self._on_failure is not None:
            self._on_failure()


class BoundedStream(httpx2.AsyncByteStream):
    """An answer's body that ends in an error when it is too large to be one."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise httpx2.ReadError(f"an answer of more than {MAX_BODY_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _beginning(response: httpx2.Response) -> bytes:
    """As much of an error's body as there is soon: some have no end."""
    body = b""
    try:
        with anyio.move_on_after(ERROR_SECONDS), suppress(httpx2.HTTPError):
            async for part in response.aiter_bytes():
                body += part
                if len(body) >= MAX_ERROR_BYTES:
                    break
    finally:
        await response.aclose()
    return body[:MAX_ERROR_BYTES]


def _is_declined_option(request: httpx2.Request, status: int) -> bool:
    """A server may decline the stream of its own messages (GET) and the explicit end of a session (DELETE)."""
    return status == 405 and request.method in {"GET", "DELETE"}
