"""Login for browsers, which exchange a token for a cookie."""

import time

import structlog
from fastapi import Request, Response

from tarsy.api.auth import Identity, peer_of
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.system import Login, Me
from tarsy.api.services import ServicesDep
from tarsy.api.tokens import COOKIE_NAME, COOKIE_SECONDS

log = structlog.get_logger(__name__)

router = api_router(tag="login")


@router.post("/login", operation_id="login")
async def login(credentials: Login, request: Request, response: Response, services: ServicesDep) -> Me:
    """Exchange an API token for a login cookie."""
    tokens = services.auth.tokens
    name = tokens.name_of(credentials.token)
    if name is None:
        log.warning("login.refused", peer=peer_of(request.scope))
        raise RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "The server does not know this token.")
    # TLS may end at a proxy; a browser sends the origin of its page with every POST.
    secure = request.headers.get("origin", "").startswith("https:")
    cookie = tokens.cookie_for(name, now=time.time())
    response.set_cookie(COOKIE_NAME, cookie, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return Me(author=name, login_required=services.auth.login_required, identified_by="cookie")


@router.post("/logout", status_code=204, operation_id="logout")
async def logout(response: Response) -> None:
    """Forget the login cookie."""
    response.delete_cookie(COOKIE_NAME, httponly=True, samesite="strict")


@router.get("/me", operation_id="getMe")
async def get_me(request: Request, services: ServicesDep) -> Me:
    """Who the caller is, and whether a login is needed."""
    identity: Identity | None = request.state.identity
    return Me(
        author=identity.author if identity else None,
        login_required=services.auth.login_required,
        identified_by=identity.kind.value if identity else None,
    )
