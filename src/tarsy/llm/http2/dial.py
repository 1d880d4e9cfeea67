"""Opening an HTTP/2 connection: TCP, a proxy or a Unix domain socket, in the clear or over TLS."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, cast

from tarsy.llm.http2.link import Link
from tarsy.llm.http2.proxy import Proxy, after_reply, proxy_of
from tarsy.llm.http2.target import Host, Socket, Target


async def dial(target: Target, tls: ssl.SSLContext | None, env: Mapping[str, str]) -> Link:
    """A connection to the first place of `target` that takes one.

    Raises:
        OSError: none does, or what answers there does not speak HTTP/2.
    """
    failure = OSError("the address names no place")
    for place in target.places:
        try:
            return await _dial_one(place, tls, target.server_name if tls else None, env)
        except OSError as error:
            failure = error
    raise failure


async def _dial_one(place: Host | Socket, tls: ssl.SSLContext | None, server_name: str | None, env: Mapping[str, str]) -> Link:
    loop = asyncio.get_running_loop()
    options: Any = {"ssl": tls, "server_hostname": server_name}
    if isinstance(place, Socket):
        transport, link = await loop.create_unix_connection(Link, place.path, **options)
    elif (proxy := proxy_of(place, env)) is not None:
        transport, link = await _through(proxy, place, tls, server_name)
    else:
        transport, link = await loop.create_connection(Link, place.name, place.port, **options)
    try:
        _expect_http2(transport)
        await link.ready()
    except BaseException:
        link.abort()
        raise
    return link


def _expect_http2(transport: asyncio.BaseTransport) -> None:
    """Over TLS both sides say what they will speak before they speak it."""
    connection = transport.get_extra_info("ssl_object")
    if connection is not None and connection.selected_alpn_protocol() != "h2":
        raise ConnectionError("it does not offer HTTP/2 over TLS (ALPN h2), which gRPC needs")


async def _through(proxy: Proxy, to: Host, tls: ssl.SSLContext | None, server_name: str | None) -> tuple[asyncio.BaseTransport, Link]:
    loop = asyncio.get_running_loop()
    request = proxy.request(to)
    plain, hearing = await loop.create_connection(lambda: _Hearing(request), proxy.host.name, proxy.host.port)
    transport: asyncio.Transport = plain
    link = Link()
    try:
        await hearing.reply
        if tls is not None:
            transport = cast("asyncio.Transport", await loop.start_tls(plain, link, tls, server_hostname=server_name))
        else:
            plain.set_protocol(link)
    except BaseException:
        plain.abort()
        raise
    link.connection_made(transport)
    # A service in the clear may have begun to speak.
    if rest := after_reply(hearing.heard):
        link.data_received(rest)
    return transport, link


class _Hearing(asyncio.Protocol):
    """Asks a proxy for a connection, and hears its reply."""

    def __init__(self, request: bytes) -> None:
        self.reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.heard = b""
        self._request = request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self.heard += data
        if self.reply.done():
            return
        try:
            if after_reply(self.heard) is not None:
                self.reply.set_result(None)
        except ConnectionError as error:
            self.reply.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.reply.done():
            self.reply.set_exception(ConnectionError(f"the proxy closed the connection{f': {exc}' if exc else ''}"))
