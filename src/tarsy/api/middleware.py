"""What every request passes on its way in and every answer on its way out. Plain ASGI: nothing is buffered."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarsy.api.alert_body import MAX_REST_BYTES
from tarsy.api.auth import AuthSettings, host_allowed, identify, origin_allowed, peer_of
from tarsy.api.problems import ProblemKind, RequestRefusedError, respond
from tarsy.domain.followup import MAX_CHAT_CHARACTERS
from tarsy.domain.session import MAX_ALERT_BYTES

log = structlog.get_logger(__name__)

# No JSON escape is longer than six bytes for a byte of text.
MAX_BODY_BYTES = 6 * MAX_ALERT_BYTES + MAX_REST_BYTES
# Where alerts come in; every other body is a question or a token.
WEBHOOK = "/api/v1/webhook"
ALERT_PATHS = ("/api/v1/alerts", WEBHOOK)
# A character outside the basic plane is twelve bytes long when it is escaped.
MAX_SMALL_BODY_BYTES = 12 * MAX_CHAT_CHARACTERS + 1024

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# What may be asked without a login, among what needs one.
OPEN_PATHS = frozenset({"/api/v1/login", "/api/v1/logout", "/api/v1/me"})
GUARDED_PREFIXES = ("/api/", "/metrics", "/docs", "/openapi.json")

_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# As they are sent: encoded once, not for each answer.
_ENCODED = tuple((name.lower().encode(), value.encode()) for name, value in _HEADERS.items())
_POLICY, _CACHE_CONTROL = b"content-security-policy", b"cache-control"
_OURS = frozenset((_POLICY, *(name for name, _ in _ENCODED)))

RawHeaders = list[tuple[bytes, bytes]]


def content_security_policy(nonce: str) -> str:
    """Nothing from elsewhere, no inline script; style elements only with this answer's nonce."""
    return (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


class HttpMiddleware(ABC):
    """Stands between the server and `app` for requests. Live connections pass: only they know how to refuse."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # What is awaited is handed on: a coroutine around it would be one more for each layer of each request.
        return (self._handle if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class SecurityHeaders(HttpMiddleware):
    """Puts the security headers on every answer, errors included. The nonce is at `scope["state"]["csp_nonce"]`."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["csp_nonce"] = nonce

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _secured(message.get("headers", ()), nonce)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _secured(headers: Iterable[tuple[bytes, bytes]], nonce: str) -> RawHeaders:
    """The headers of an answer with ours, which take the place of those of the same name."""
    own = [header for header in headers if header[0] not in _OURS]
    kept = () if any(name == _CACHE_CONTROL for name, _ in own) else ((_CACHE_CONTROL, b"no-store"),)
    return [*own, *_ENCODED, (_POLICY, content_security_policy(nonce).encode()), *kept]


class BodyLimit(HttpMiddleware):
    """Stops reading a body that is larger than any request may be."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = MAX_BODY_BYTES if scope["path"].startswith(ALERT_PATHS) else MAX_SMALL_BODY_BYTES
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            await respond(_too_large(limit))(scope, receive, send)
            return
        seen = 0

        async def receive_within_limit() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > limit:
                    raise _too_large(limit)
            return message

        await self._app(scope, receive_within_limit, send)


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The request is larger than {limit} bytes.")


class Gate(HttpMiddleware):
    """Lets in who may come in, and notes who it is at `scope["state"]["identity"]`."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope, scope["app"].state.services.auth)
        answer = respond(refusal) if refusal else self._app
        await answer(scope, receive, send)


def _refusal(scope: Scope, settings: AuthSettings) -> RequestRefusedError | None:
    connection = HTTPConnection(scope)
    headers = connection.headers
    if not host_allowed(connection, settings):
        detail = f"This server does not answer to the name {headers.get('host', '')!r}. Use localhost, or set system.dashboard_url."
        return RequestRefusedError(ProblemKind.MISDIRECTED, detail)
    foreign = not origin_allowed(headers.get("origin"), headers.get("host"), settings.allowed_origins)
    if foreign and scope["method"] not in SAFE_METHODS:
        return RequestRefusedError(ProblemKind.FORBIDDEN, "Pages of other origins may not change anything here.")
    identity = identify(connection, settings)
    scope.setdefault("state", {})["identity"] = identity
    if identity is None and needs_login(scope["path"]):
        return RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "Log in, or send `Authorization: Bearer` with an API token.")
    return None


def needs_login(path: str) -> bool:
    return path.startswith(GUARDED_PREFIXES) and path not in OPEN_PATHS and not _is_webhook(path)


def _is_webhook(path: str) -> bool:
    """Senders prove who they are in ways of their own: by a signature of the body, which is not read here."""
    return path == WEBHOOK or path.startswith(f"{WEBHOOK}/")


class LastResort(HttpMiddleware):
    """Turns an error that no handler expected into an answer, and a client that left before its answer into one line of the log."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = gone = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        async def receive_and_note() -> Message:
            nonlocal gone
            message = await receive()
            if message["type"] == "http.disconnect" and not started and not gone:
                gone = True
                log.info("request.abandoned", method=scope["method"], path=scope["path"], peer=peer_of(scope))
            return message

        try:
            await self._app(scope, receive_and_note, send_and_note)
        except ClientDisconnect:
            # It is logged already, and the client is not there to read an answer.
            return
        except Exception as error:
            if started:
                raise
            await respond(error)(scope, receive, send)
