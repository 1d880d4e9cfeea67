"""Which proxy stands before a service, and what is said to it: gRPC's variables and rules. Pure."""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from tarsy.llm.http2.target import Host

# The first that is set counts, also if it is empty: then there is none.
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy")
_USUAL_PORT = 80
# Far more than a proxy has to say about a connection.
LONGEST_REPLY = 16 * 1024
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Proxy:
    host: Host
    credentials: str | None = None

    def request(self, to: Host) -> bytes:
        """What asks it for a connection to a service."""
        where = f"[{to.name}]:{to.port}" if ":" in to.name else f"{to.name}:{to.port}"
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        if self.credentials is not None:
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(self.credentials.encode()).decode()}")
        return "\r\n".join(lines).encode() + _END


def proxy_of(host: Host, env: Mapping[str, str]) -> Proxy | None:
    """The proxy by which a host is to be reached; one that is not spelt http://… is none, as to gRPC."""
    url = urlsplit(_first(_PROXIES, env))
    name, port = url.hostname, _port(url)
    if url.scheme != "http" or not name or port is None or any(_matches(host.name, entry) for entry in _first(_EXCEPTIONS, env).split(",")):
        return None
    return Proxy(Host(name, port), _credentials(url))


def after_reply(reply: bytes) -> bytes | None:
    """What follows the reply of a proxy that has made the connection; None while the reply is not whole.

    Raises:
        ConnectionError: it has made none.
    """
    head, end, rest = reply.partition(_END)
    if not end and len(reply) <= LONGEST_REPLY:
        return None
    status = head.split(b"\r\n", maxsplit=1)[0].decode(errors="replace")
    if not end or status.split()[1:2] != ["200"]:
        raise ConnectionError(f"the proxy made no connection: {status[:80]}")
    return rest


def _first(names: tuple[str, ...], env: Mapping[str, str]) -> str:
    return next((env[name] for name in names if name in env), "")


def _port(url: SplitResult) -> int | None:
    try:
        return url.port or _USUAL_PORT
    except ValueError:
        return None


def _credentials(url: SplitResult) -> str | None:
    return None if url.username is None else f"{unquote(url.username)}:{unquote(url.password or '')}"


def _matches(host: str, entry: str) -> bool:
    """A name and all that end with it, or a range of addresses."""
    entry = entry.strip()
    if not entry:
        return False
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return host.lower().endswith(entry.lower())
