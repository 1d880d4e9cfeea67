"""The middleware that all requests and responses pass. Plain ASGI: nothing is buffered."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarsy.api.auth import IdentityKind, client_address, host_allowed, origin_allowed, peer_of
from tarsy.api.problems import Problem, ProblemKind, RequestRefusedError, problem_of, respond
from tarsy.api.schemas.view import MAX_NAME
from tarsy.api.services import Services, identity_in
from tarsy.db.audit import request_origin
from tarsy.db.incident.refusals import RefusedDelivery
from tarsy.domain.followup import MAX_CHAT_CHARACTERS
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.intake.adapters.registry import UNKNOWN_SOURCE
from tarsy.kit.text import clip, storable

log = structlog.get_logger(__name__)

# Room for the fields of an alert except `data`: hundreds of tool names, and still parsed in a millisecond.
MAX_REST_CHARACTERS = 64 * 1024
# No JSON escape is longer than six bytes for a byte of text.
MAX_BODY_BYTES = 6 * MAX_ALERT_BYTES + MAX_REST_CHARACTERS
# Bodies of these routes are alerts, or contain one; every other body is a question or a token.
WEBHOOK = "/api/v1/webhook"
ALERTS = "/api/v1/alerts"
MCP = "/mcp"
# Longer than any text of ours; it may quote the request.
MAX_DETAIL = 500
# A character outside the basic plane is twelve bytes long when it is escaped.
MAX_SMALL_BODY_BYTES = 12 * MAX_CHAT_CHARACTERS + 1024

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Exceptions from GUARDED_PREFIXES: these need no login.
OPEN_PATHS = frozenset({"/api/v1/login", "/api/v1/logout", "/api/v1/me", "/api/v1/sign-in", "/api/v1/sign-in/callback", "/api/v1/slack"})
PROBES = frozenset({"/live", "/ready"})
GUARDED_PREFIXES = ("/api/", MCP, "/metrics", "/docs", "/openapi.json")

_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def content_security_policy(nonce: str) -> str:
    """Allow nothing from other origins and no inline script; style elements only with the response's nonce."""
    return (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


class HttpMiddleware(ABC):
    """Middleware for requests. WebSockets pass through it: their route refuses them by closing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handle = self._handle if scope["type"] == "http" else self._app
        await handle(scope, receive, send)

    @abstractmethod
    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class SecurityHeaders(HttpMiddleware):
    """Sets the security headers on every response, errors included. The nonce is at `scope["state"]["csp_nonce"]`."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["csp_nonce"] = nonce

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers["Content-Security-Policy"] = content_security_policy(nonce)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class RefusedDeliveries(HttpMiddleware):
    """Records every webhook request that gets an error response, whichever part of the program refused it or failed."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_webhook(scope["path"]) or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        seen = status = 0

        async def counted_receive() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= HTTPStatus.BAD_REQUEST:
                await record(Problem.model_validate_json(message.get("body", b"")))
            await send(message)

        async def record(problem: Problem) -> None:
            services: Services = scope["app"].state.services
            service = services.incidents.service
            declared = Headers(scope=scope).get("content-length", "")
            named = scope["path"].removeprefix(WEBHOOK).strip("/")
            await service.refusals.record(
                RefusedDelivery(
                    at=service.clock.now(),
                    source=storable(clip(problem.sender or named or UNKNOWN_SOURCE, MAX_NAME)),
                    peer=client_address(HTTPConnection(scope), services.auth),
                    reason=problem.reason or problem.type.rpartition(":")[2],
                    status=problem.status,
                    size=max(seen, int(declared) if declared.isdecimal() else 0),
                    detail=storable(clip(problem.detail, MAX_DETAIL)),
                )
            )

        await self._app(scope, counted_receive, watched_send)
        if not status:
            await record(problem_of(ProblemKind.ABANDONED, "The sender closed the connection before its request was complete."))


class BodyLimit(HttpMiddleware):
    """Answers 413 to a request whose body is larger than any request may be, without reading the rest of it."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_webhook(scope["path"]):
            # The route reads it, within the configured limit.
            await self._app(scope, receive, send)
            return
        limit = MAX_BODY_BYTES if scope["path"].startswith((ALERTS, MCP)) else MAX_SMALL_BODY_BYTES
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


class AccessControl(HttpMiddleware):
    """Refuses requests from wrong hosts and origins or without a login; stores the caller's identity at `scope["state"]["identity"]`."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["app"].state.services
        settings, connection = services.auth, HTTPConnection(scope)
        headers = connection.headers
        # Not for the probes and the dashboard's files: they must not depend on the database.
        identity = await identity_in(connection) if scope["path"].startswith(GUARDED_PREFIXES) else None
        scope.setdefault("state", {})["identity"] = identity
        refusal: RequestRefusedError | None = None
        # Kubernetes and Prometheus name a pod by its address. A page that has led a browser here by DNS rebinding has no token.
        by_token = identity is not None and identity.kind is IdentityKind.BEARER
        if not (scope["path"] in PROBES or by_token or host_allowed(connection, settings)):
            detail = f"This server does not accept requests for the host {headers.get('host', '')!r}. Use localhost, or set system.dashboard_url."
            refusal = RequestRefusedError(ProblemKind.MISDIRECTED, detail)
        elif scope["method"] not in SAFE_METHODS and not origin_allowed(
            headers.get("origin"), headers.get("host"), settings.allowed_origins
        ):
            refusal = RequestRefusedError(ProblemKind.FORBIDDEN, "Pages of other origins may not change anything here.")
        elif identity is None and needs_login(scope["path"]):
            refusal = RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "Log in, or send `Authorization: Bearer` with an API token.")
        token = request_origin.set(client_address(connection, settings))
        try:
            await (respond(refusal) if refusal else self._app)(scope, receive, send)
        finally:
            request_origin.reset(token)


def is_webhook(path: str) -> bool:
    return path == WEBHOOK or path.startswith(f"{WEBHOOK}/")


def needs_login(path: str) -> bool:
    # Senders of webhooks authenticate in other ways, such as a signature of the body; the route checks them.
    return path.startswith(GUARDED_PREFIXES) and path not in OPEN_PATHS and not is_webhook(path)


class UnexpectedErrors(HttpMiddleware):
    """Turns an unexpected error into a response, and logs a client that left before its response."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = gone = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        async def watched_receive() -> Message:
            nonlocal gone
            message = await receive()
            if message["type"] == "http.disconnect" and not started and not gone:
                gone = True
                log.info("request.abandoned", method=scope["method"], path=scope["path"], peer=peer_of(scope))
            return message

        try:
            await self._app(scope, watched_receive, watched_send)
        except ClientDisconnect:
            # Logged by `watched_receive`.
            return
        except Exception as error:
            if started:
                raise
            await respond(error)(scope, receive, send)
