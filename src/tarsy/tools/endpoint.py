"""Where a tool server is, with every template filled in. Pure module."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tarsy.config.resolve.resolved import ResolvedTransport
from tarsy.config.templates import variables

# Values under such names are credentials, whatever they look like.
_CREDENTIAL_NAME = re.compile(r"token|secret|passw|credential|(?:api|access|auth|private)[_-]?key|authorization|cookie", re.IGNORECASE)

# Shorter values are words, and masking words would eat the text.
_MIN_CREDENTIAL = 8

Expand = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class StdioEndpoint:
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A server behind a URL; `sse` speaks the older two-channel protocol."""

    url: str
    headers: Mapping[str, str]
    verify_ssl: bool
    timeout: float | None
    cleanup_url: str | None
    sse: bool


Endpoint = StdioEndpoint | HttpEndpoint


def endpoint_of(transport: ResolvedTransport, expand: Expand, expand_for_session: Expand) -> Endpoint:
    """Fill in the templates; `expand_for_session` also knows the session's id.

    Raises:
        ValueError: the transport lacks what its type needs.
    """
    match transport.type:
        case "stdio":
            return _stdio(transport, expand)
        case "http" | "sse":
            return _http(transport, expand, expand_for_session)
        case other:
            raise ValueError(f"transport.type '{other}' is not one of stdio, http, sse")


def _stdio(transport: ResolvedTransport, expand: Expand) -> StdioEndpoint:
    if not transport.command:
        raise ValueError("transport.command is not set")
    env = {name: expand(value) for name, value in transport.env.items()}
    return StdioEndpoint(expand(transport.command), tuple(expand(arg) for arg in transport.args), env)


def _http(transport: ResolvedTransport, expand: Expand, expand_for_session: Expand) -> HttpEndpoint:
    if not transport.url:
        raise ValueError("transport.url is not set")
    headers = {name: expand_for_session(value).strip() for name, value in transport.custom_headers.items()}
    if transport.bearer_token:
        headers["Authorization"] = f"Bearer {expand(transport.bearer_token).strip()}"
    return HttpEndpoint(
        url=expand(transport.url),
        headers=_sendable(headers),
        verify_ssl=transport.verify_ssl,
        timeout=transport.timeout,
        cleanup_url=expand_for_session(transport.session_cleanup_url) if transport.session_cleanup_url else None,
        sse=transport.type == "sse",
    )


def _sendable(headers: Mapping[str, str]) -> Mapping[str, str]:
    """What cannot be sent is refused here: the HTTP library, which would refuse it later, quotes it."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"the header {name} holds a line break or another character that no header can hold")
    return headers


def credentials(transport: ResolvedTransport, endpoint: Endpoint, env: Mapping[str, str]) -> frozenset[str]:
    """The secrets we hand to a server: whatever it says, it must not say these. `env` has filled in the templates of `transport`."""
    match endpoint:
        case StdioEndpoint():
            found = [value for name, value in endpoint.env.items() if _CREDENTIAL_NAME.search(name)]
        case HttpEndpoint():
            named = [value for name, value in endpoint.headers.items() if _CREDENTIAL_NAME.search(name)]
            # With and without what comes before it, as in `Bearer x`.
            found = [*named, *(value.partition(" ")[2] for value in named)]
    found += [env[name] for text in _templates(transport) for name in variables(text) if _CREDENTIAL_NAME.search(name)]
    return frozenset(value for value in map(str.strip, found) if len(value) >= _MIN_CREDENTIAL)


def _templates(transport: ResolvedTransport) -> Iterator[str]:
    yield from (text for text in (transport.command, transport.url, transport.bearer_token, transport.session_cleanup_url) if text)
    yield from (*transport.args, *transport.env.values(), *transport.custom_headers.values())


def uses_session_id(transport: ResolvedTransport) -> bool:
    """Whether the server can tell our executions apart, so that a connection must not be shared."""
    return any("SESSION_ID" in value for value in (*transport.custom_headers.values(), transport.session_cleanup_url or ""))
