"""Login for browsers: with a token, which is exchanged for a cookie, or with an OpenID Connect provider."""

import time
from dataclasses import replace
from datetime import timedelta
from html import escape
from typing import Annotated

import structlog
from fastapi import Cookie, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from tarsy.api.auth import MAX_AUTHOR_CHARACTERS, Identity, IdentityKind, identify_token, is_page_secure
from tarsy.api.oidc import PendingSignIn, SignInRefusedError
from tarsy.api.permissions import REQUIRED_ROLES, missing_role
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.system import Login, Me, SignedOut
from tarsy.api.services import IdentityDep, Services, ServicesDep
from tarsy.api.tokens import COOKIE_NAME, COOKIE_SECONDS
from tarsy.db.audit import request_origin
from tarsy.db.errors import ConflictError
from tarsy.db.sign_ins import SIGN_IN_COOKIE

log = structlog.get_logger(__name__)

router = api_router(tag="login")

PENDING_COOKIE = "tarsy_sign_in"
SIGN_IN_PATH = "/api/v1/sign-in"
# As long as a person needs for a password and a second factor.
PENDING_SECONDS = 600


@router.post("/login", operation_id="login")
async def login(credentials: Login, request: Request, response: Response, services: ServicesDep) -> Me:
    """Exchange an API token for a login cookie."""
    identity = await identify_token(credentials.token, services.auth, services.tokens)
    if identity is None:
        log.warning("login.refused", peer=request_origin.get())
        raise RequestRefusedError(ProblemKind.LOGIN_REQUIRED, "The server does not know this token.")
    if identity.token_id:
        lifetime = timedelta(seconds=COOKIE_SECONDS)
        name, value = SIGN_IN_COOKIE, await services.sign_ins.with_token(identity.author, identity.token_id, lifetime)
    else:
        name, value = COOKIE_NAME, services.auth.tokens.cookie_for(identity.author, now=time.time())
    secure = is_page_secure(request)
    response.set_cookie(name, value, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
    return me_of(replace(identity, kind=IdentityKind.COOKIE), services)


@router.post(
    "/logout", operation_id="logout", response_model=SignedOut, responses={204: {"description": "The browser has nothing else to do."}}
)
async def logout(services: ServicesDep, cookie: Annotated[str, Cookie(alias=SIGN_IN_COOKIE, include_in_schema=False)] = "") -> Response:
    """Forget the login. 200 tells the browser where it signs out of the OpenID Connect provider, too."""
    ended = await services.sign_ins.end(cookie) if cookie else None
    address = await services.oidc.sign_out_url(ended.id_token) if ended and ended.id_token and services.oidc else None
    response = JSONResponse({"continue_at": address}) if address else Response(status_code=204)
    for name in (COOKIE_NAME, SIGN_IN_COOKIE):
        response.delete_cookie(name, httponly=True, samesite="strict")
    return response


@router.get("/me", operation_id="getMe")
async def get_me(services: ServicesDep, identity: IdentityDep) -> Me:
    """Who the caller is, what the caller may do, and whether a login is needed."""
    return me_of(identity, services)


def me_of(identity: Identity | None, services: Services) -> Me:
    # Without a login nothing is denied yet: a page whose login has expired asks for it when the person goes on, and loses no input.
    required = {operation: missing_role(operation, identity) for operation in REQUIRED_ROLES} if identity else {}
    return Me(
        author=identity.author if identity else None,
        login_required=services.auth.login_required,
        identified_by=identity.kind.value if identity else None,
        role=identity.role if identity else None,
        denied={operation: role for operation, role in required.items() if role},
        single_sign_on=services.auth.oidc.label if services.auth.oidc else None,
    )


@router.get("/sign-in", operation_id="startSignIn", include_in_schema=False)
async def start_sign_in(services: ServicesDep, return_to: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """Send the browser to the OpenID Connect provider."""
    if services.oidc is None:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, "This server has no sign-in provider (system.oidc).")
    pending = PendingSignIn.start(return_to)
    try:
        response = RedirectResponse(await services.oidc.authorization_url(pending), 303)
    except SignInRefusedError as error:
        return _refusal(error)
    _set_cookie(response, services, PENDING_COOKIE, pending.to_cookie(), max_age=PENDING_SECONDS, path=SIGN_IN_PATH)
    return response


@router.get("/sign-in/callback", operation_id="completeSignIn", include_in_schema=False)
async def complete_sign_in(
    request: Request, services: ServicesDep, cookie: Annotated[str, Cookie(alias=PENDING_COOKIE, include_in_schema=False)] = ""
) -> Response:
    """Receive the browser from the provider, and sign the person in."""
    oidc, settings = services.oidc, services.auth.oidc
    if oidc is None or settings is None:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, "This server has no sign-in provider (system.oidc).")
    try:
        pending = PendingSignIn.from_cookie(cookie)
        proven = await oidc.complete(request.query_params, pending)
        author = settings.name_of(proven.claims)[:MAX_AUTHOR_CHARACTERS]
        lifetime = timedelta(seconds=settings.max_duration)
        value = await services.sign_ins.with_claims(author, proven.claims, id_token=proven.id_token, state=pending.state, lifetime=lifetime)
    except ConflictError as error:
        return _refusal(SignInRefusedError(f"{error} Please start again.", "the state was used before"))
    except SignInRefusedError as error:
        return _refusal(error)
    log.info("sign_in.completed", author=author)
    response = RedirectResponse(pending.return_to, 303)
    response.delete_cookie(PENDING_COOKIE, path=SIGN_IN_PATH)
    # Not `strict`: the browser comes from the provider's page, and would not send the cookie with this redirect.
    _set_cookie(response, services, SIGN_IN_COOKIE, value, max_age=int(settings.max_duration))
    return response


def _set_cookie(response: Response, services: Services, name: str, value: str, *, max_age: int, path: str = "/") -> None:
    secure = (services.auth.dashboard_url or "").startswith("https:")
    response.set_cookie(name, value, max_age=max_age, path=path, httponly=True, samesite="lax", secure=secure)


def _refusal(error: SignInRefusedError) -> Response:
    log.warning("sign_in.refused", reason=error.reason)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Not signed in to TARSy</title></head>
<body><h1>Not signed in</h1><p>{escape(str(error))}</p><p><a href="{SIGN_IN_PATH}">Sign in again</a> · <a href="/">Back to TARSy</a></p></body></html>
"""
    response = HTMLResponse(page, error.status)
    response.delete_cookie(PENDING_COOKIE, path=SIGN_IN_PATH)
    return response
