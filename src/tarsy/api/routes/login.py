"""Login for browsers, which exchange a token for a cookie."""

import time
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import structlog
from fastapi import Cookie, Request, Response

from tarsy.api.auth import Identity, IdentityKind, identify_token, peer_of
from tarsy.api.permissions import REQUIRED_ROLES, missing_role
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.system import Login, Me
from tarsy.api.services import IdentityDep, Services, ServicesDep
from tarsy.api.tokens import COOKIE_NAME, COOKIE_SECONDS
from tarsy.db.sign_ins import SIGN_IN_COOKIE

log = structlog.get_logger(__name__)

router = api_router(tag="login")


@router.post("/login", operation_id="login")
async def login(credentials: Login, request: Request, response: Response, services: ServicesDep) -> Me:
    """Exchange an API token for a login cookie."""
    identity = await identify_token(credentials.token, services.auth, services.tokens)
    if identity is None:
        log.warning("login.refused", peer=peer_of(request.scope))
        raise RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "The server does not know this token.")
    if identity.token_id:
        lifetime = timedelta(seconds=COOKIE_SECONDS)
        name, value = SIGN_IN_COOKIE, await services.sign_ins.with_token(identity.author, identity.token_id, lifetime)
    else:
        name, value = COOKIE_NAME, services.auth.tokens.cookie_for(identity.author, now=time.time())
    # TLS may end at a proxy; a browser sends the origin of its page with every POST.
    secure = request.headers.get("origin", "").startswith("https:")
    response.set_cookie(name, value, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return me_of(replace(identity, kind=IdentityKind.COOKIE), services)


@router.post("/logout", status_code=204, operation_id="logout")
async def logout(
    response: Response, services: ServicesDep, cookie: Annotated[str, Cookie(alias=SIGN_IN_COOKIE, include_in_schema=False)] = ""
) -> None:
    """Forget the login."""
    if cookie:
        await services.sign_ins.end(cookie)
    for name in (COOKIE_NAME, SIGN_IN_COOKIE):
        response.delete_cookie(name, httponly=True, samesite="strict")


@router.get("/me", operation_id="getMe")
async def get_me(services: ServicesDep, identity: IdentityDep) -> Me:
    """Who the caller is, what the caller may do, and whether a login is needed."""
    return me_of(identity, services)


def me_of(identity: Identity | None, services: Services) -> Me:
    required = {operation: missing_role(operation, identity) for operation in REQUIRED_ROLES}
    return Me(
        author=identity.author if identity else None,
        login_required=services.auth.login_required,
        identified_by=identity.kind.value if identity else None,
        role=identity.role if identity else None,
        denied={operation: role for operation, role in required.items() if role},
        single_sign_on=services.auth.oidc.label if services.auth.oidc else None,
    )
