"""HTTP to a tool server: failures are recorded in full, because the SDK reports only that there was one, and answers are bounded in size."""

import re
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import anyio
import httpx2
from anyio.abc import TaskGroup

from tarsy.kit.json_limits import has_more_values
from tarsy.kit.text import clip
from tarsy.tools.endpoint import HttpEndpoint
from tarsy.tools.failures import HttpFailure, current_http_failures
from tarsy.tools.oauth import AuthorizedTransport, NoTokenError
from tarsy.tools.stdio import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES

# Enough of an error page to recognise it.
BODY_EXCERPT = 500
# One answer, decompressed; the same limit as for a message of a stdio server.
MAX_BODY_BYTES = MAX_MESSAGE_BYTES
# An empty line ends a server-sent event; a line ends with CRLF, LF or CR.
_LINE_END = rb"(?:\r\n|\n|\r(?!\n))"
# Not `{2}`: with a repetition the search is four times slower.
_EVENT_END = re.compile(_LINE_END + _LINE_END)
_LONGEST_EVENT_END = 4
# Half of a surrogate pair in JSON, from a server that has cut a text as JavaScript does.
_HALF_CHARACTER = re.compile(rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|[c-fC-F]..(?<!\\u[dD][89abAB]..\\u[dD]...))")
# The header of a request that resumes the answer to an earlier one.
_LAST_EVENT_ID = "last-event-id"
# A server of the older protocol acknowledges a message at once, and answers on its other channel.
ACKNOWLEDGE_SECONDS = 5.0

# A server may work for minutes before it sends anything: the call's own timeout decides, not the socket's.
READ_TIMEOUT = 600.0
CONNECT_TIMEOUT = 30.0
# How much of an error's body is read, and for how long.
MAX_ERROR_BYTES = 64 * 1024
ERROR_SECONDS = 5.0

# A shared connection carries the calls of all agents at once; their number is limited in other places.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}

# Shared, because loading the authorities takes tens of milliseconds and a megabyte each time.
_ssl_context = cache(httpx2.create_ssl_context)

Wrap = Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport]


def http_client(
    endpoint: HttpEndpoint,
    *,
    url: str | None = None,
    on_failure: Callable[[], None] | None = None,
    wrap: Wrap = lambda transport: transport,
) -> httpx2.AsyncClient:
    """Return a client for `url`, by default that of `endpoint`, which records failures.

    `on_failure` is called after each failure, for a transport that would otherwise wait for ever. `wrap` adds a transport around ours.
    """
    context = _ssl_context(verify=endpoint.verify_ssl)
    transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(verify=context, limits=_LIMITS, proxy=proxy_for(url or endpoint.url))
    if endpoint.oauth is not None:
        new_client = partial(http_client, replace(endpoint, headers={}, oauth=None), url=endpoint.oauth.token_url)
        transport = AuthorizedTransport(transport, endpoint.oauth, new_client)
    return httpx2.AsyncClient(
        headers=dict(endpoint.headers),
        timeout=httpx2.Timeout(endpoint.timeout or CONNECT_TIMEOUT, read=READ_TIMEOUT),
        transport=wrap(ObservedTransport(transport, on_failure)),
    )


def proxy_for(url: str) -> str | None:
    """Return the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY for `url`, unless NO_PROXY names its host or it is this machine."""
    target = httpx2.URL(url)
    # A client with a transport of its own does not read the environment.
    if target.host in _THIS_MACHINE or urllib.request.proxy_bypass(f"{target.host}:{target.port}" if target.port else target.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


class ObservedTransport(httpx2.AsyncBaseTransport):
    """Records failed exchanges and bounds the size of answers."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, on_failure: Callable[[], None] | None) -> None:
        self._inner = inner
        self._on_failure = on_failure

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Read here: the SDK may read the body in another context.
        http_failures = current_http_failures.get()
        # The failure of a request that resumes an answer is not recorded: it would look as if the call itself had not been sent.
        context = current_http_failures.set(None if _LAST_EVENT_ID in request.headers else http_failures)
        try:
            response = await self._exchange(request)
        finally:
            current_http_failures.reset(context)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")

        def refuse(reason: str) -> httpx2.StreamError:
            self._record(
                request, response.status_code, f"{reason}. Ask for less, e.g. with a filter or a limit", http_failures=http_failures
            )
            # The SDK takes other errors for the end of the connection, which would end the other calls too.
            return httpx2.StreamError(reason)

        body_stream = DecompressedBody(response, refuse, by_event=events)
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in {"content-encoding", "content-length"}]
        return httpx2.Response(response.status_code, headers=headers, stream=body_stream, request=request, extensions=response.extensions)

    async def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer to a request, without the rest of an error's body, and record a failure."""
        try:
            response = await self._inner.handle_async_request(request)
        except NoTokenError:
            if self._on_failure is not None:
                self._on_failure()
            raise
        except httpx2.TransportError as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
            self._record(request, None, f"{type(error).__name__} {error}".strip(), unsent=unsent, http_failures=current_http_failures.get())
            raise
        response.request = request
        # A server may decline the stream of its own messages (GET) and the explicit end of a session (DELETE).
        declined = response.status_code == 405 and request.method in {"GET", "DELETE"}
        if response.status_code < 400 or declined:
            return response
        # As much of the body as arrives soon: some have no end.
        body = b""
        try:
            with anyio.move_on_after(ERROR_SECONDS), suppress(httpx2.HTTPError):
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) >= MAX_ERROR_BYTES:
                        break
        finally:
            await response.aclose()
        body = body[:MAX_ERROR_BYTES]
        self._record(
            request,
            response.status_code,
            clip(body.decode(errors="replace").strip(), BODY_EXCERPT),
            http_failures=current_http_failures.get(),
        )
        kind = {"content-type": response.headers.get("content-type", "text/plain")}
        return httpx2.Response(response.status_code, headers=kind, content=body, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _record(
        self, request: httpx2.Request, status: int | None, detail: str, *, http_failures: list[HttpFailure] | None, unsent: bool = False
    ) -> None:
        # Userinfo and query may hold credentials.
        url = str(request.url.copy_with(userinfo=b"", query=None, fragment=None))
        if http_failures is not None:
            http_failures.append(HttpFailure(method=request.method, url=url, status=status, detail=detail, unsent=unsent))
        if self._on_failure is not None:
            self._on_failure()


class DecompressedBody(httpx2.AsyncByteStream):
    """An answer's body without its compression. More than the SDK can parse quickly is an error.

    A message is the whole body or, in a stream of events (`by_event`), which has no end, an event: the SDK joins its lines before it parses
    them. `refuse` makes the error from the reason.
    """

    def __init__(self, compressed: httpx2.Response, refuse: Callable[[str], httpx2.StreamError], *, by_event: bool) -> None:
        self._compressed = compressed
        self._refuse = refuse
        self._by_event = by_event

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = bytearray()
        # Piece by piece, so that nothing beyond the limit is decompressed.
        async for piece in self._compressed.aiter_bytes():
            # The end of an event may lie across two pieces.
            searched = max(0, len(held) - _LONGEST_EVENT_END)
            held += piece
            ends = [found.end() for found in _EVENT_END.finditer(held, searched)] if self._by_event else []
            if (ends[0] if ends else len(held)) > MAX_BODY_BYTES:
                raise self._refuse(f"an answer of more than {MAX_BODY_BYTES >> 20} MiB")
            for start, end in pairwise([0, *ends]):
                yield self._checked(bytes(held[start:end]))
            del held[: ends[-1] if ends else 0]
        yield self._checked(bytes(held))

    def _checked(self, message: bytes) -> bytes:
        if has_more_values(message, MAX_MESSAGE_VALUES):
            raise self._refuse(f"an answer of more than {MAX_MESSAGE_VALUES} values")
        # The SDK's parser refuses them. An escaped backslash does not begin one; JSON has no NUL.
        return _HALF_CHARACTER.sub(rb"\\ufffd", message.replace(rb"\\", b"\0")).replace(b"\0", rb"\\")

    async def aclose(self) -> None:
        await self._compressed.aclose()


class AcknowledgedPosts(httpx2.AsyncBaseTransport):
    """Stops waiting for a server that does not acknowledge a message: the SDK sends the next one only after it.

    The owner of `tasks` ends the requests that are left.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, tasks: TaskGroup) -> None:
        self._inner = inner
        self._tasks = tasks

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            return await self._inner.handle_async_request(request)
        answers: list[httpx2.Response | httpx2.TransportError] = []
        answered, timeout = anyio.Event(), anyio.CancelScope(deadline=anyio.current_time() + ACKNOWLEDGE_SECONDS)

        async def post() -> None:
            # However late the answer comes, the message has been sent.
            request.extensions["timeout"] = {**request.extensions.get("timeout", {}), "read": None}
            try:
                response = await self._inner.handle_async_request(request)
            except httpx2.TransportError as error:
                answers.append(error)
            else:
                answers.append(response)
                if timeout.cancelled_caught:
                    await response.aclose()
            answered.set()

        self._tasks.start_soon(post, name="post to a tool server")
        with timeout:
            await answered.wait()
        answer = answers[0] if answers else httpx2.Response(202, request=request)
        if isinstance(answer, httpx2.TransportError):
            raise answer
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


async def send_cleanup(endpoint: HttpEndpoint, url: str, http_failures: list[HttpFailure]) -> None:
    """Tell the server with a DELETE that the execution is over; a failure is added to `http_failures`."""
    try:
        async with http_client(endpoint, url=url) as client:
            await client.delete(url)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        http_failures.append(HttpFailure(method="DELETE", url=url.partition("?")[0], status=None, detail=str(error)))
