"""Authentication: who sent a request, by its headers and the address of its peer, and which hosts and origins are allowed."""

import ipaddress
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import Scope

from tarsy.api.tokens import COOKIE_NAME, ApiTokens
from tarsy.config.schema.oidc import OidcConfig
from tarsy.config.schema.system import SystemConfig
from tarsy.db.api_tokens import TOKEN_PREFIX, TokenRepository
from tarsy.db.sign_ins import SIGN_IN_COOKIE, SignInRepository
from tarsy.domain.access_role import AccessRole, highest

# The author of a request without a name.
ANONYMOUS = "api-client"
FORWARDED_IDENTITY = ("x-forwarded-user", "x-forwarded-email")
# Comma-separated, as oauth2-proxy sends them.
FORWARDED_GROUPS = "x-forwarded-groups"
MAX_AUTHOR_CHARACTERS = 200
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class IdentityKind(StrEnum):
    BEARER = "token"
    COOKIE = "cookie"
    PROXY = "proxy"
    OIDC = "oidc"
    # No login is required.
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Identity:
    author: str
    kind: IdentityKind
    # None: the caller is known, and may do nothing.
    role: AccessRole | None
    # A token of TARSY_API_TOKENS that names no role: a responder who may still do what such tokens could do before there were roles.
    legacy: bool = False
    # Of a token in the database.
    token_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    tokens: ApiTokens = field(default_factory=ApiTokens)
    trusted_proxies: tuple[Network, ...] = ()
    # The roles of the groups that a trusted proxy forwards; empty: everybody behind the proxy is a responder.
    proxy_roles: Mapping[str, AccessRole] = field(default_factory=dict[str, AccessRole])
    oidc: OidcConfig | None = None
    # The public address of the dashboard.
    dashboard_url: str | None = None
    # Origins, in addition to the server's own, whose pages may write or subscribe; `*` is a wildcard.
    allowed_origins: tuple[str, ...] = ()
    # Allowed values of the Host header, in addition to localhost, if there is no login or a trusted proxy.
    allowed_hosts: tuple[str, ...] = ()
    login_required: bool = False
    # Without a login, a foreign page could reach a loopback server under a name that it made resolve to it.
    check_host: bool = True


def auth_settings(
    *,
    host: str,
    tokens: ApiTokens,
    trusted_proxies: Sequence[str] = (),
    proxy_roles: Mapping[str, AccessRole] | None = None,
    oidc: OidcConfig | None = None,
    insecure: bool = False,
    allowed_origins: Sequence[str] = (),
    dashboard_url: str | None = None,
) -> AuthSettings:
    """Return the settings of a server that is bound to `host`.

    Raises:
        ValueError: a trusted proxy is not an address or a network.
    """
    login_required = not insecure and (bool(tokens) or oidc is not None or not is_loopback(host))
    named = urlsplit(dashboard_url) if dashboard_url else None
    origin = (f"{named.scheme}://{named.netloc}",) if named and named.netloc else ()
    return AuthSettings(
        tokens=tokens,
        trusted_proxies=tuple(ipaddress.ip_network(proxy, strict=False) for proxy in trusted_proxies),
        proxy_roles=proxy_roles or {},
        oidc=oidc,
        dashboard_url=dashboard_url,
        allowed_origins=(*allowed_origins, *origin),
        allowed_hosts=(named.hostname,) if named and named.hostname else (),
        login_required=login_required,
        check_host=is_loopback(host) and not login_required,
    )


def check_bind(host: str, tokens: ApiTokens, system: SystemConfig, *, insecure: bool) -> str | None:
    """Return why a server must not be bound to `host`, with the remedies; None if it may."""
    if is_loopback(host) or tokens or system.trusted_proxies or system.oidc or insecure:
        return None
    return (
        f"Refusing to listen on {host}: anyone who can reach it could read investigations and start new ones. Do one of these:\n"
        "  - set TARSY_API_TOKENS to name:role=token pairs (or a file of them), so that callers must log in\n"
        "  - set system.oidc in tarsy.yaml, so that people sign in with your identity provider\n"
        "  - set system.trusted_proxies in tarsy.yaml to the proxy that authenticates your users\n"
        "  - listen on 127.0.0.1\n"
        "  - pass --insecure if the network itself keeps strangers out"
    )


def is_loopback(host: str) -> bool:
    address = _address(host)
    return address.is_loopback if address else host == "localhost"


async def identify(
    connection: HTTPConnection, settings: AuthSettings, tokens: TokenRepository, sign_ins: SignInRepository
) -> Identity | None:
    """Return the caller's identity; None if a login is required and missing, or the credentials are wrong."""
    from_proxy = is_trusted_proxy(peer_of(connection.scope), settings)
    proxied = AccessRole.RESPONDER
    if from_proxy and settings.proxy_roles:
        groups = ",".join(connection.headers.getlist(FORWARDED_GROUPS)).split(",")
        proxied = highest(*(settings.proxy_roles.get(group.strip()) for group in groups))
    for header in FORWARDED_IDENTITY if from_proxy else ():
        author = connection.headers.get(header, "")
        with suppress(UnicodeError):
            # Proxies send names in UTF-8, and headers are decoded as Latin-1.
            author = author.encode("latin-1").decode()
        if (author := author.strip()) and author.isprintable():
            return Identity(author[:MAX_AUTHOR_CHARACTERS], IdentityKind.PROXY, proxied)
    scheme, _, credential = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        identity = await identify_token(credential.strip(), settings, tokens)
        if identity or settings.tokens:
            return identity
    if name := settings.tokens.name_of_cookie(connection.cookies.get(COOKIE_NAME, ""), now=time.time()):
        return _environment_identity(name, IdentityKind.COOKIE, settings)
    if (cookie := connection.cookies.get(SIGN_IN_COOKIE)) and (identity := await _signed_in(cookie, settings, sign_ins)):
        return identity
    if from_proxy and not settings.tokens and not settings.oidc:
        # The proxy has authenticated the caller, even if it does not send a name. If there is another login, it may leave that to the server.
        return Identity(ANONYMOUS, IdentityKind.PROXY, proxied)
    return None if settings.login_required else Identity(ANONYMOUS, IdentityKind.OPEN, AccessRole.ADMIN)


async def identify_token(token: str, settings: AuthSettings, tokens: TokenRepository) -> Identity | None:
    """Return the identity of the owner of a token; None if it is unknown or has expired."""
    if name := settings.tokens.name_of(token):
        return _environment_identity(name, IdentityKind.BEARER, settings)
    stored = await tokens.find(token) if token.startswith(TOKEN_PREFIX) else None
    return Identity(stored.name, IdentityKind.BEARER, stored.role, token_id=stored.id) if stored else None


def _environment_identity(name: str, kind: IdentityKind, settings: AuthSettings) -> Identity:
    role = settings.tokens.roles.get(name)
    return Identity(name, kind, role or AccessRole.RESPONDER, legacy=role is None)


async def _signed_in(cookie: str, settings: AuthSettings, sign_ins: SignInRepository) -> Identity | None:
    idle = settings.oidc.idle_timeout if settings.oidc else None
    found = await sign_ins.find(cookie, idle_seconds=idle)
    if found is None:
        return None
    if found.token_id:
        return Identity(found.author, IdentityKind.COOKIE, found.token_role, token_id=found.token_id)
    # The rules as they are now: a change of the configuration applies to people who are signed in.
    return Identity(found.author, IdentityKind.OIDC, settings.oidc.role_of(found.claims)) if settings.oidc else None


def origin_allowed(origin: str | None, host: str | None, allowed: Sequence[str]) -> bool:
    """Whether a page of `origin` may use the server that it addressed as `host`. Only browsers send an origin."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        ours = urlsplit(f"//{host or ''}")
        default = _DEFAULT_PORTS.get(parts.scheme)
        same = parts.hostname is not None and (ours.hostname, ours.port or default) == (parts.hostname, parts.port or default)
    except ValueError:
        return False
    # Everything except `*` is literal, including the brackets of an IPv6 address.
    patterns = (".*".join(map(re.escape, pattern.lower().rstrip("/").split("*"))) for pattern in allowed)
    return same or any(re.fullmatch(pattern, origin.lower()) for pattern in patterns)


def is_page_secure(request: HTTPConnection) -> bool:
    """Whether the page that sends a POST was loaded over TLS, which may end at a proxy: a browser sends the page's origin."""
    return request.headers.get("origin", "").startswith("https:")


def host_allowed(connection: HTTPConnection, settings: AuthSettings) -> bool:
    """Whether the Host header names this server: a guard against DNS rebinding.

    Checked wherever the peer's address alone grants access. A browser on this machine has the same address as a trusted proxy on it.
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
    """Return the address of the socket's peer, regardless of headers."""
    client = cast("tuple[str, int] | None", scope.get("client"))
    return client[0] if client else None


def client_address(connection: HTTPConnection, settings: AuthSettings) -> str | None:
    """Return the address that a request comes from: the peer's, or what a trusted proxy says about it."""
    peer = peer_of(connection.scope)
    # Some proxies add a line of their own instead of extending the client's.
    forwarded = [part.strip() for part in ",".join(connection.headers.getlist("x-forwarded-for")).split(",")]
    while is_trusted_proxy(peer, settings) and forwarded and _address(forwarded[-1]):
        peer = forwarded.pop()
    return peer


def is_trusted_proxy(peer: str | None, settings: AuthSettings) -> bool:
    address = _address(peer or "")
    return address is not None and any(address in network for network in settings.trusted_proxies)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A dual-stack socket shows IPv4 peers as IPv6 addresses.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
