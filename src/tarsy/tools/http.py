"""HTTP on the way to a tool server: what failed is remembered in full, because the SDK reports only that something did.

Imported on first use only: the HTTP library and the SDK are heavy.
"""

import math
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import cache

import anyio
import httpx2
from anyio.abc import TaskGroup
from httpx2._utils import get_environment_proxies

from tarsy.kit.text import clip
from tarsy.tools.endpoint import HttpEndpoint
from tarsy.tools.failures import HttpFailure, failures

# Enough of an error page to recognise it.
BODY_EXCERPT = 500
# One answer, unpacked; the same bound as a line of a stdio server.
MAX_BODY_BYTES = 64 * 1024 * 1024
# A server of the older protocol acknowledges a message at once, and answers on its other channel.
ACKNOWLEDGE_SECONDS = 5.0

# A server may think for minutes before it says something; the call's own timeout decides, not the socket's.
READ_TIMEOUT = 600.0
CONNECT_TIMEOUT = 30.0
# How much of an error's body is read, and how long it is waited for.
MAX_ERROR_BYTES = 64 * 1024
ERROR_SECONDS = 5.0

# A shared connection carries the calls of all agents at once: how many that are is not decided here.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)

_THIS_MACHINE: Mapping[str, str | None] = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))

Wrap = Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport]


def http_client(
    endpoint: HttpEndpoint, *, on_failure: Callable[[], None] | None = None, wrap: Wrap = lambda transport: transport
) -> httpx2.AsyncClient:
    """A client of `endpoint` that remembers failures; `on_failure` is called after each one, for a transport that would wait on for ever.

    HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are obeyed; this machine itself is never reached through a proxy.
    """

    def transport(proxy: str | None = None) -> httpx2.AsyncBaseTransport:
        direct = httpx2.AsyncHTTPTransport(verify=_ssl_context(verify_ssl=endpoint.verify_ssl), limits=_LIMITS, proxy=proxy)
        return wrap(ObservedTransport(direct, on_failure))

    # With a transport of its own a client does not look at the environment.
    proxies = {**get_environment_proxies(), **_THIS_MACHINE}
    return httpx2.AsyncClient(
        headers=dict(endpoint.headers),
        timeout=httpx2.Timeout(endpoint.timeout or CONNECT_TIMEOUT, read=READ_TIMEOUT),
        transport=transport(),
        mounts={pattern: transport(proxy) if proxy else None for pattern, proxy in proxies.items()},
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
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
            self._note(request, None, f"{type(error).__name__} {error}".strip(), unsent=unsent)
            raise
        if response.status_code >= 400 and not _is_declined_option(request, response.status_code):
            body = await _beginning(response)
            self._note(request, response.status_code, clip(body.decode(errors="replace").strip(), BODY_EXCERPT))
            kind = {"content-type": response.headers.get("content-type", "text/plain")}
            return httpx2.Response(response.status_code, headers=kind, content=body, request=request)
        return _unpacked(response, request)

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


class AcknowledgedPosts(httpx2.AsyncBaseTransport):
    """Does not wait for ever until a message is acknowledged: the SDK sends the next one only then. The owner of `tasks` ends what is left."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, tasks: TaskGroup) -> None:
        self._inner = inner
        self._tasks = tasks

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return await self._inner.handle_async_request(request)
        answers: list[httpx2.Response | httpx2.TransportError] = []
        answered, patience = anyio.Event(), anyio.CancelScope(deadline=anyio.current_time() + ACKNOWLEDGE_SECONDS)

        async def post() -> None:
            # However late the answer comes, its message has been sent.
            request.extensions["timeout"] = {**request.extensions.get("timeout", {}), "read": None}
            try:
                response = await self._inner.handle_async_request(request)
            except httpx2.TransportError as error:
                answers.append(error)
            else:
                answers.append(response)
                if patience.cancelled_caught:
                    await response.aclose()
            answered.set()

        self._tasks.start_soon(post, name="post to a tool server")
        with patience:
            await answered.wait()
        answer = answers[0] if answers else httpx2.Response(202, request=request)
        if isinstance(answer, httpx2.TransportError):
            raise answer
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class UnpackedBody(httpx2.AsyncByteStream):
    """An answer's body without its compression, which ends in an error when it is too large to be an answer."""

    def __init__(self, packed: httpx2.Response, limit: float) -> None:
        self._packed = packed
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        # Unpacked piece by piece: what lies beyond the limit never comes into being.
        async for piece in self._packed.aiter_bytes():
            size += len(piece)
            if size > self._limit:
                raise httpx2.ReadError(f"an answer of more than {MAX_BODY_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._packed.aclose()


def _unpacked(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """The answer with a bounded body. A stream of events has no end; the SDK bounds each event."""
    response.request = request
    events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in {"content-encoding", "content-length"}]
    body = UnpackedBody(response, math.inf if events else MAX_BODY_BYTES)
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=request, extensions=response.extensions)


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


async def say_goodbye(endpoint: HttpEndpoint, url: str, seen: list[HttpFailure]) -> None:
    """Tell the server that the execution is over; why it could not be told is in `seen`."""
    try:
        async with http_client(endpoint) as client:
            await client.delete(url)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        seen.append(HttpFailure(method="DELETE", url=url.partition("?")[0], status=None, detail=str(error)))
