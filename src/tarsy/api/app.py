"""The web application: all routes, and the middleware around them."""

from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.middleware import Middleware
from starlette.types import Receive, Scope, Send

from tarsy import __version__
from tarsy.api import live, manual_pages, problems
from tarsy.api.dashboard import Dashboard
from tarsy.api.middleware import AccessControl, BodyLimit, RefusedDeliveries, SecurityHeaders, UnexpectedErrors
from tarsy.api.reference import describe_routes, reference_page
from tarsy.api.router import plain_router
from tarsy.api.routes import (
    alerts,
    approvals,
    audit,
    evidence,
    exports,
    followups,
    incidents,
    login,
    notifications,
    reviews,
    sessions,
    setup,
    slack,
    system,
    tokens,
    usage,
)
from tarsy.api.services import Services

# In the order of the OpenAPI document.
ROUTERS = (
    system.health_router,
    live.router,
    manual_pages.router,
    alerts.router,
    incidents.router,
    sessions.router,
    followups.note_router,
    evidence.router,
    exports.session_router,
    sessions.bulk_router,
    exports.router,
    followups.router,
    reviews.router,
    approvals.router,
    evidence.trace_router,
    notifications.router,
    slack.router,
    system.router,
    setup.router,
    usage.router,
    audit.router,
    login.router,
    tokens.router,
)
TITLE = "TARSy"
DESCRIPTION = "Submit alerts, watch LLM agents investigate them, read what they found."
reference = plain_router(include_in_schema=False)


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document. Every application has the same routes."""
    return describe_routes(TITLE, DESCRIPTION, [route for router in ROUTERS for route in router.routes])


@reference.get("/openapi.json")
async def get_openapi_document() -> dict[str, Any]:
    return openapi_document()


@reference.get("/docs", response_class=HTMLResponse)
async def get_reference(request: Request) -> HTMLResponse:
    return HTMLResponse(reference_page(openapi_document(), request.state.csp_nonce))


def create_app(services: Services) -> FastAPI:
    app = describe_app()
    app.state.services = services
    return app


def describe_app() -> FastAPI:
    """Return the application without its services."""
    app = FastAPI(
        title=TITLE,
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        # Served by the routes of `reference`: FastAPI's own pages load scripts from a CDN.
        openapi_url=None,
        redirect_slashes=False,
        # `tarsy.telemetry` reports on requests.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(RefusedDeliveries),
            Middleware(UnexpectedErrors),
            Middleware(BodyLimit),
            Middleware(AccessControl),
        ],
    )
    problems.install(app)
    # Not `include_router`, which makes every route anew for each application.
    app.router.routes.extend(route for router in (*ROUTERS, reference) for route in router.routes)

    # The dashboard handles paths that no route matches; as a route itself it would hide the 405 of a wrong method.
    dashboard, not_found = Dashboard(), app.router.default

    async def fallback(scope: Scope, receive: Receive, send: Send) -> None:
        await (dashboard if scope["type"] == "http" else not_found)(scope, receive, send)

    app.router.default = fallback
    return app
