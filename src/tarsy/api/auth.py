"""Who is asking, and whether they may. Pure decisions over a request's headers and its socket's peer address."""

import ipaddress
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tarsy.api.tokens import COOKIE_NAME, ApiTokens

# The author of what came without a name.
ANONYMOUS = "api-client"
FORWARDED_IDENTITY = ("x-forwarded-user", "x-forwarded-email")
MAX_AUTHOR_CHARACTERS = 200
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class IdentityKind(StrEnum):
    BEARER = "token"
    COOKIE = "cookie"
    PROXY = "proxy"
    # Callers need not say who they are.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Identity:
    author: str
    kind: IdentityKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    tokens: ApiTokens = field(default_factory=ApiTokens)
    trusted_proxies: tuple[Network, ...] = ()
    # Origins beside our own from which a browser may write or listen; `*` is a wildcard.
    allowed_origins: tuple[str, ...] = ()
    # Host names beside localhost under which a server without login, or behind a trusted proxy, may be addressed.
    allowed_hosts: tuple[str, ...] = ()
    login_required: bool = False
    # Without a login, a foreign page could reach a loopback server under a name that it made resolve to it.
    check_host: bool = True


def auth_settings(
    *,
    host: str,
    tokens: ApiTokens,
    trusted_proxies: Sequence[str] = (),
    insecure: bool = False,
    allowed_origins: Sequence[str] = (),
    dashboard_url: str | None = None,
) -> AuthSettings:
    """What a server bound to `host` asks of its callers.

    Raises:
        ValueError: a trusted proxy is not an address or a network.
    """
    login_required = not insecure and (bool(tokens) or not is_loopback(host))
    named = urlsplit(dashboard_url) if dashboard_url else None
    origin = (f"{named.scheme}://{named.netloc}",) if named and named.netloc else ()
    return AuthSettings(
        tokens=tokens,
        trusted_proxies=tuple(ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies),
        allowed_origins=(*allowed_origins, *origin),
        allowed_hosts=(named.hostname,) if named and named.hostname else (),
        login_required=login_required,
        check_host=is_loopback(host) and not login_required,
    )


def check_bind(host: str, tokens: ApiTokens, trusted_proxies: Sequence[str], *, insecure: bool) -> str | None:
    """Why a server must not be bound to `host`, with the cures; None when it may."""
    if is_loopback(host) or tokens or trusted_proxies or insecure:
        return None
    return (
        f"Refusing to listen on {host}: anyone who can reach it could read investigations and start new ones. Do one of these:\n"
        "  - set TARSY_API_TOKENS to name=token pairs (or a file of them), so that callers must log in\n"
        "  - set system.trusted_proxies in tarsy.yaml to the proxy that authenticates your users\n"
        "  - listen on 127.0.0.1\n"
        "  - pass --insecure if the network itself keeps strangers out"
    )


def is_loopback(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host == "localhost"


def identify(connection: HTTPConnection, settings: AuthSettings) -> Identity | None:
    """Who is asking; None when they have to say and did not, or said something untrue."""
    from_proxy = is_trusted_proxy(peer_of(connection.scope), settings)
    if from_proxy and (forwarded := _forwarded_author(connection)):
        return Identity(forwarded, IdentityKind.PROXY)
    scheme, _, credential = connection.headers.get("authorization", "").partition(" ")
    if settings.tokens and scheme.lower() == "bearer":
        name = settings.tokens.name_of(credential.strip())
        return Identity(name, IdentityKind.BEARER) if name else None
    if settings.tokens and (name := settings.tokens.name_of_cookie(connection.cookies.get(COOKIE_NAME, ""), now=time.time())):
        return Identity(name, IdentityKind.COOKIE)
    if from_proxy and not settings.tokens:
        # The proxy keeps the door, even if it does not say for whom it opened. With tokens, it may let callers through to be asked here.
        return Identity(ANONYMOUS, IdentityKind.PROXY)
    return None if settings.login_required else Identity(ANONYMOUS, IdentityKind.OPEN)


def origin_allowed(origin: str | None, host: str | None, allowed: Sequence[str]) -> bool:
    """Whether a page of `origin` may talk to the server it addressed as `host`. No origin: not a browser's page."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        same = parts.hostname is not None and host is not None and _host_and_port(host, parts.scheme) == (parts.hostname, port)
    except ValueError:
        return False
    return same or any(_origin_pattern(pattern).fullmatch(origin.lower()) for pattern in allowed)


def _origin_pattern(pattern: str) -> re.Pattern[str]:
    """`*` stands for anything; all else, an IPv6 address's brackets too, for itself."""
    return re.compile(".*".join(map(re.escape, pattern.lower().rstrip("/").split("*"))))


def host_allowed(connection: HTTPConnection, settings: AuthSettings) -> bool:
    """Whether the name under which we were addressed is one of ours: a guard against DNS rebinding.

    It is asked wherever an address alone opens the door. To a trusted proxy on this machine, a browser on it looks the same.
    """
    peer = peer_of(connection.scope)
    by_address = is_trusted_proxy(peer, settings) and (is_loopback(peer or "") or bool(settings.allowed_hosts))
    if not (settings.check_host or by_address):
        return True
    try:
        name = urlsplit("//" + connection.headers.get("host", "")).hostname or ""
    except ValueError:
        return False
    return name in LOCAL_HOSTS or name in settings.allowed_hosts


def peer_of(scope: Scope) -> str | None:
    """The address at the other end of the socket, whatever headers say."""
    client = cast("tuple[str, int] | None", scope.get("client"))
    return client[0] if client else None


def is_trusted_proxy(peer: str | None, settings: AuthSettings) -> bool:
    # Most installations trust none, and an address takes longer to read than all else that is asked here.
    address = _address(peer or "") if settings.trusted_proxies else None
    return address is not None and any(address in network for network in settings.trusted_proxies)


def _forwarded_author(connection: HTTPConnection) -> str | None:
    for header in FORWARDED_IDENTITY:
        author = _text(connection.headers.get(header, "")).strip()
        if author and author.isprintable():
            return author[:MAX_AUTHOR_CHARACTERS]
    return None


def _text(header: str) -> str:
    """A header's value as it was meant: proxies send names in UTF-8, and headers are read as Latin-1."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _host_and_port(host: str, scheme: str) -> tuple[str | None, int | None]:
    parts = urlsplit("//" + host)
    return parts.hostname, parts.port or _DEFAULT_PORTS.get(scheme)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A socket that speaks both families shows IPv4 peers in this disguise.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
