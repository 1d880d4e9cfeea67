"""Opening an HTTP/2 connection: TCP or a Unix domain socket, in the clear or over TLS."""

import asyncio
import ssl
from typing import Any

from tarsy.llm.http2.link import Link
from tarsy.llm.http2.target import Host, Socket, Target


async def dial(target: Target, tls: ssl.SSLContext | None) -> Link:
    """A connection to the first place of `target` that takes one.

    Raises:
        OSError: none does, or what answers there does not speak HTTP/2.
    """
    failure = OSError("the address names no place")
    for place in target.places:
        try:
            return await _dial_one(place, tls, target.server_name if tls else None)
        except OSError as error:
            failure = error
    raise failure


async def _dial_one(place: Host | Socket, tls: ssl.SSLContext | None, server_name: str | None) -> Link:
    loop = asyncio.get_running_loop()
    options: Any = {"ssl": tls, "server_hostname": server_name}
    match place:
        case Host(name, port):
            transport, link = await loop.create_connection(Link, name, port, **options)
        case Socket(path):
            transport, link = await loop.create_unix_connection(Link, path, **options)
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
