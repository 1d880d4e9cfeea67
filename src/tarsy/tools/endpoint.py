"""The address of a tool server, with every template filled in, and the credentials in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tarsy.config.resolve.resolved import ResolvedTransport
from tarsy.config.secret_names import names_secret
from tarsy.config.templates import variables

# Shorter values are ordinary words, whose masking would destroy the text.
MIN_CREDENTIAL = 8

Expand = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class StdioEndpoint:
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client that gets access tokens for a server; `parameters` are further fields of the token request."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A server behind a URL; `sse`: it uses the older protocol with two channels."""

    url: str
    headers: Mapping[str, str]
    verify_ssl: bool
    timeout: float | None
    cleanup_url: str | None
    sse: bool
    oauth: OAuthClient | None = None


Endpoint = StdioEndpoint | HttpEndpoint


def endpoint_of(transport: ResolvedTransport, expand: Expand, expand_for_session: Expand) -> Endpoint:
    """Fill in the templates; `expand_for_session` also knows the session's id.

    Raises:
        ValueError: the transport lacks what its type needs.
    """
    match transport.type:
        case "stdio":
            if not transport.command:
                raise ValueError("transport.command is not set")
            env = {name: expand(value) for name, value in transport.env.items()}
            return StdioEndpoint(expand(transport.command), tuple(expand(arg) for arg in transport.args), env)
        case "http" | "sse":
            if not transport.url:
                raise ValueError("transport.url is not set")
            headers = {name: expand_for_session(value).strip() for name, value in transport.custom_headers.items()}
            if transport.bearer_token:
                headers["Authorization"] = f"Bearer {expand(transport.bearer_token).strip()}"
            for name, value in headers.items():
                # The HTTP library would refuse such a header later, and quote it.
                if not (value.isascii() and value.isprintable()):
                    raise ValueError(f"the header {name} holds a line break or another character that no header can hold")
            oauth = transport.oauth
            client = (
                None
                if oauth is None
                else OAuthClient(
                    token_url=expand(oauth.token_url),
                    client_id=expand(oauth.client_id).strip(),
                    client_secret=expand(oauth.client_secret).strip(),
                    scope=expand(oauth.scope),
                    parameters=tuple((name, expand(value)) for name, value in oauth.parameters.items()),
                )
            )
            return HttpEndpoint(
                url=expand(transport.url),
                headers=headers,
                verify_ssl=transport.verify_ssl,
                timeout=transport.timeout,
                cleanup_url=expand_for_session(transport.session_cleanup_url) if transport.session_cleanup_url else None,
                sse=transport.type == "sse",
                oauth=client,
            )
        case other:
            raise ValueError(f"transport.type '{other}' is not one of stdio, http, sse")


def credentials(transport: ResolvedTransport, endpoint: Endpoint, env: Mapping[str, str]) -> frozenset[str]:
    """Return the secrets that we send to a server, to be masked in all its output. `env` fills in the templates of `transport`."""
    match endpoint:
        case StdioEndpoint():
            found = [value for name, value in endpoint.env.items() if names_secret(name)]
        case HttpEndpoint():
            named = [value for name, value in endpoint.headers.items() if names_secret(name)]
            # With and without a scheme, as in `Bearer x`.
            found = [*named, *(value.partition(" ")[2] for value in named)]
            found += [endpoint.oauth.client_secret] if endpoint.oauth else []
    single = (transport.command, transport.url, transport.bearer_token, transport.session_cleanup_url)
    templates = [text for text in single if text]
    templates += [*transport.args, *transport.env.values(), *transport.custom_headers.values()]
    templates += [transport.oauth.client_secret, *transport.oauth.parameters.values()] if transport.oauth else []
    found += [env[name] for text in templates for name in variables(text) if names_secret(name)]
    return frozenset(value for value in map(str.strip, found) if len(value) >= MIN_CREDENTIAL)


def uses_session_id(transport: ResolvedTransport) -> bool:
    """Return whether the server is given the execution's id, so that its connection must not be shared."""
    return any("SESSION_ID" in value for value in (*transport.custom_headers.values(), transport.session_cleanup_url or ""))
